/** What BullMQ carries of a job. The rest is in the status hash. */
export interface JobData {
  readonly tenant: string;
  readonly memory: string;
  readonly id: string;
  readonly createdAt: number;
  /** The job whose work this one does again; the effects are the first one's, so that they happen once. */
  readonly origin?: string;
  /** Of the payload (see payload-upgrades.ts); absent: the first. */
  readonly version?: number;
  /** Absent when the payload is kept by reference. */
  readonly payload?: unknown;
}
