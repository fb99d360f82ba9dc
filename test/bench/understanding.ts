/** Measures the processor time and memory for understanding hours of conversation offline. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { SpokenSegment } from '../../core/contract/plugin.ts';
import { readConversations } from '../quality/conversations.ts';
import { type Bench, type Benchmark, type Cell, spread, type Table } from './benchmark.ts';

const HOURS = [1, 4, 16];
const ROUNDS = 3;
const MEASURED = fileURLToPath(new URL('./understanding-process.ts', import.meta.url));
const runFile = promisify(execFile);

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
  const folder = await mkdtemp(join(tmpdir(), 'earshot-understanding-'));
  try {
    return await measured(folder, quick, say);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measured(folder: string, quick: boolean, say: Bench['say']): Promise<Table> {
  const rows: Cell[][] = [];
  for (const hours of quick ? [1] : HOURS) {
    const transcript = hoursOf(hours);
    const words = transcript.reduce((sum, { text }) => sum + text.split(' ').length, 0);
    const file = join(folder, `${hours}.json`);
    await writeFile(file, JSON.stringify(transcript));
    const rounds: Understood[] = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) rounds.push(await understand(file));
    say(`${hours} h`);
    const of = (name: keyof Understood) => spread(rounds.map(each => each[name]));
    rows.push([hours, words, of('cpuMs'), of('longestWaitMs'), of('memoryMiB'), rounds[0]?.tasks ?? 0]);
  }
  return {
    title: 'Understanding without a model',
    columns: ['hours', 'words', 'CPU, ms', 'longest wait, ms', 'most memory of the process, MiB', 'tasks'],
    rows,
    notes: [
      'All conversations of the written corpus, in English, German, French and Spanish, one after the other and again from the start. Each round is a process of its own that reads a finished transcript. Goal: an hour under 2 s and 200 MiB, the process included.',
    ],
  };
}

/** In a process that contains the transcript and the rules, without the corpus. */
async function understand(file: string): Promise<Understood> {
  const { stdout } = await runFile(process.execPath, [MEASURED, file]);
  return JSON.parse(stdout) as Understood;
}

/** The corpus, repeated to this duration at the pace of speech. */
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
