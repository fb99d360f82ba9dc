/**
 * Understands the transcript in the named file, and prints the cost. A separate process, so that nothing else
 * counts.
 */
import { readFile } from 'node:fs/promises';
import type { SpokenSegment } from '../../core/contract/plugin.ts';
import { instantOf, wallTime } from '../../core/domain/wall-clock.ts';
import plugin from '../../plugins/understanding/plain-understanding/index.ts';

/** Interval of a timer during the run. Its excess is the delay of everything else. */
const TICK_MS = 5;
const TIME_ZONE = 'Europe/Berlin';
const KIB = 1024;

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('name the file of a transcript');
const transcript = JSON.parse(await readFile(file, 'utf8')) as SpokenSegment[];
const { understanding } = plugin.setup();
let longestWaitMs = 0;
let last = performance.now();
const timer = setInterval(() => {
  longestWaitMs = Math.max(longestWaitMs, performance.now() - last - TICK_MS);
  last = performance.now();
}, TICK_MS);
const before = process.cpuUsage();
const { tasks } = await understanding.understand(
  transcript,
  {
    ...{
      owner: 'Ada',
      people: ['Ben'],
      timeZone: TIME_ZONE,
      languages: [],
      goals: [],
      openTasks: [],
      folders: [],
    },
    ...{ models: [], embedder: null, summaryLanguage: null, template: null, templates: [] },
    memoriesNear: async () => [],
    wallTime: at => wallTime(at, TIME_ZONE),
    instantOf: time => instantOf(time, TIME_ZONE),
  },
  new AbortController().signal,
);
longestWaitMs = Math.max(longestWaitMs, performance.now() - last - TICK_MS);
clearInterval(timer);
const { user, system } = process.cpuUsage(before);
const measured = {
  ...{ cpuMs: (user + system) / 1000, longestWaitMs, tasks: tasks.length },
  memoryMiB: process.resourceUsage().maxRSS / KIB,
};
process.stdout.write(JSON.stringify(measured));
