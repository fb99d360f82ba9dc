import type { Job, JobCount } from '../model.ts';

export interface JobStore {
  /**
   * Adds a job. If an unfinished job of this kind and key exists, it stays, and gets the earlier `runAt` of the two and
   * the new payload. If it is running, it runs once more afterwards.
   */
  enqueue(job: { kind: string; key: string; runAt: number; payload: Record<string, unknown> }): Promise<void>;
  /**
   * Withdraws the unfinished job of this kind and key. Resolves to whether it was still waiting. A running job continues,
   * and is not run again.
   */
  cancel(kind: string, key: string): Promise<boolean>;
  /**
   * Leases at most `limit` due jobs of these kinds for `leaseMs`, oldest `runAt` first.
   * @param holder of the leases, a UUID
   * @param except users whose jobs are left out, by the `userId` in the payload
   */
  claim(
    kinds: string[],
    now: number,
    leaseMs: number,
    limit: number,
    holder?: string,
    except?: readonly string[],
  ): Promise<Job[]>;
  /**
   * Releases the jobs of a holder whose process has ended: they are due now. A job that was started more than twice stays
   * leased until its lease expires, because it may have ended the process. Resolves to the number of released jobs.
   */
  release(holder: string, now: number): Promise<number>;
  /** Extends the lease. Like the next three, it resolves to false if the lease has been lost. */
  extend(job: Job, until: number): Promise<boolean>;
  done(job: Job): Promise<boolean>;
  /** Releases a job until `runAt`. Without an error the run counts as a success: `attempts` starts at 0 again. */
  retryAt(job: Job, runAt: number, error: string | null): Promise<boolean>;
  /** Gives a job up: it is kept for diagnosis, and never leased again. */
  dead(job: Job, error: string): Promise<boolean>;
  /** Returns when the next job is due, without those of some users; null: there is none. */
  nextRunAt(kinds: string[], except?: readonly string[]): Promise<number | null>;
  /** Counts jobs by kind and state; counts of 0 are left out. */
  counts(now: number): Promise<JobCount[]>;
}
