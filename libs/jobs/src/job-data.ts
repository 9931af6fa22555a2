/** What BullMQ carries of a job. The rest is in the status hash. */
export interface JobData {
  readonly tenant: string;
  readonly memory: string;
  readonly id: string;
  readonly createdAt: number;
  /** Absent when the payload is kept by reference. */
  readonly payload?: unknown;
}
