/** A table of a report: cells are printed as they are. */
export interface ReportTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** A goal and what was measured. */
export interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** What a benchmark found. `figures` is for programs, the rest for people. */
export interface BenchReport {
  readonly tables: readonly ReportTable[];
  readonly goals: readonly Goal[];
  /** How to read the tables, and what this run could not measure. */
  readonly notes: readonly string[];
  /** JSON. */
  readonly figures: unknown;
}

/** The stores that a benchmark runs on: SQLite, or the Neo4j and the Qdrant that the environment names. */
export const PROFILES = ["embedded", "distributed"] as const;

export type Profile = (typeof PROFILES)[number];

/** What a run is given. */
export interface BenchContext {
  /** Largest size, number of questions or repetitions, where a benchmark has such a number; absent is the full run. */
  readonly limit: number | undefined;
  /** Absent: the benchmark's own length. */
  readonly minutes: number | undefined;
  readonly profile: Profile;
  /** One line of progress, to stderr. */
  readonly progress: (line: string) => void;
}

/** A benchmark by name. */
export interface Bench {
  readonly name: string;
  readonly summary: string;
  /** What `--limit` limits; absent: nothing. */
  readonly limit?: string;
  /** Whether `--profile` says on which stores it runs; absent: it has stores of its own. */
  readonly profiles?: true;
  /** What `--minutes` says; absent: it takes as long as it takes. */
  readonly minutes?: string;
  /** `skipped` says why it cannot run here. */
  run(context: BenchContext): Promise<BenchReport | { readonly skipped: string }>;
}
