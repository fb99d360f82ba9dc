import { setPriority } from 'node:os';

/** Nice value: live speech goes first. */
const PRIORITY = 10;

/** Gives everything else precedence over a process that was just started, and over the threads that it will start. */
export function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, PRIORITY);
  } catch {
    // it has ended already, or this is not permitted here
  }
}
