/** Tries one plugin, in a process of its own: whatever it does, only this process goes down with it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../../../config/load.ts';
import type { CheckMessage, CheckRequest } from '../suites/report.ts';
import { reasonOf } from '../suites/reporter.ts';
import { examine } from './check.ts';
import { watchLeftovers } from './leftovers.ts';

const request: CheckRequest = JSON.parse(process.argv[2] ?? '');
const tell = (message: CheckMessage) => void process.send?.(message);

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('uncaughtException', error => {
  const title = 'throws nothing that nobody catches';
  tell({ type: 'finding', finding: { group: 'life', title, verdict: 'failed', detail: reasonOf(error) } });
});
// Opened now, or they would count as the plugin's.
void [process.stdout, process.stderr];

await examine(request, {
  environment,
  clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
  leftovers: watchLeftovers(),
  tell,
});
tell({ type: 'end' });
