/** Measures the processor time and memory for understanding hours of conversation offline. */
import type { SpokenSegment } from '../../core/contract/plugin.ts';
import { instantOf, wallTime } from '../../core/domain/wall-clock.ts';
import plugin from '../../plugins/understanding/plain-understanding/index.ts';
import { readConversations } from '../quality/conversations.ts';
import { type Bench, type Benchmark, type Cell, spread, type Table } from './benchmark.ts';

const HOURS = [1, 4, 16];
const ROUNDS = 3;
/** How often a timer should fire meanwhile. What is above it is how long everything else waits. */
const TICK_MS = 5;
const TIME_ZONE = 'Europe/Berlin';

interface Understood {
  cpuMs: number;
  longestWaitMs: number;
  memoryMiB: number;
  tasks: number;
}

export const UNDERSTANDING: Benchmark[] = [
  {
    name: 'understanding',
    title:
      'hours of conversation understood offline: processor time, memory, and how long the event loop is held',
    run: async bench => [await run(bench)],
  },
];

async function run({ quick, say }: Bench): Promise<Table> {
  const rows: Cell[][] = [];
  for (const hours of quick ? [1] : HOURS) {
    const transcript = hoursOf(hours);
    const words = transcript.reduce((sum, { text }) => sum + text.split(' ').length, 0);
    const rounds: Understood[] = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) rounds.push(await understand(transcript));
    say(`${hours} h`);
    const of = (name: keyof Understood) => spread(rounds.map(each => each[name]));
    rows.push([hours, words, of('cpuMs'), of('longestWaitMs'), of('memoryMiB'), rounds[0]?.tasks ?? 0]);
  }
  return {
    title: 'Understanding without a model',
    columns: ['hours', 'words', 'CPU, ms', 'longest wait, ms', 'memory of the process, MiB', 'tasks'],
    rows,
    notes: [
      'All conversations of the written corpus, in English, German, French and Spanish, one after the other and again from the start. Goal: an hour under 2 s and 200 MiB, the process included.',
    ],
  };
}

/** The corpus, repeated for so long at the pace of speech. */
function hoursOf(hours: number): SpokenSegment[] {
  const said = readConversations()
    .filter(({ segments }) => segments.length < 200)
    .flatMap(({ segments }) => segments.map(({ text, speaker, isUser }) => ({ text, speaker, isUser })));
  const begin = Date.parse('2026-03-12T09:00:00+01:00');
  const transcript: SpokenSegment[] = [];
  for (let at = begin; at < begin + hours * 3_600_000; ) {
    const line = said[transcript.length % said.length];
    if (!line) break;
    const endAt = at + line.text.split(' ').length * 400;
    transcript.push({ id: String(transcript.length), ...line, startAt: at, endAt });
    at = endAt + 400;
  }
  return transcript;
}

async function understand(transcript: readonly SpokenSegment[]): Promise<Understood> {
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
      ...{ owner: 'Ada', people: ['Ben'], timeZone: TIME_ZONE, languages: [], openTasks: [], folders: [] },
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
  return {
    ...{ cpuMs: (user + system) / 1000, longestWaitMs, tasks: tasks.length },
    memoryMiB: process.memoryUsage().rss / 2 ** 20,
  };
}
