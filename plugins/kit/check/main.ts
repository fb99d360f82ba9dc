/** Tests one plugin in a separate process, so that nothing it does can harm another one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../../../config/load.ts';
import { ownerOf, placeOf } from '../../../core/plugin-host/faults.ts';
import type { CheckMessage, CheckRequest } from '../suites/report.ts';
import { reasonOf } from '../suites/reporter.ts';
import { examine, moduleOf } from './check.ts';
import { watchLeftovers } from './leftovers.ts';

const request: CheckRequest = JSON.parse(process.argv[2] ?? '');
const tell = (message: CheckMessage) => void process.send?.(message);

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
const owns = ownerOf({ module: moduleOf(request) });
const placeOfOwn = (thrown: unknown) => placeOf(thrown, owns);
const uncaught = new Set<string>();
process.on('uncaughtException', error => {
  const title = 'leaves no error uncaught';
  const place = placeOfOwn(error);
  const detail = place === null ? reasonOf(error) : `${reasonOf(error)} (at ${place})`;
  if (uncaught.has(detail)) return; // reported already
  uncaught.add(detail);
  tell({ type: 'finding', finding: { group: 'life', title, verdict: 'failed', detail } });
});
// Opened now, otherwise they would count as the plugin's.
void [process.stdout, process.stderr];

await examine(request, {
  environment,
  clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
  leftovers: watchLeftovers(),
  placeOf: placeOfOwn,
  tell,
});
tell({ type: 'end' });
