/** Summarises a conversation that does not fit the model's context: notes of each part, which are then joined. */
import {
  type Cited,
  Joined,
  type Part,
  Part as PartSchema,
  PartWithGoals,
  Shortened,
  type Whole,
  Whole as WholeSchema,
  WholeWithGoals,
} from './answers.ts';
import type { Asker } from './asking.ts';
import type { Line } from './transcript.ts';
import { harmless, partsOf } from './transcript.ts';

/** Maximum parts of one conversation: about 10 hours of talk with the default size. */
const MAX_PARTS = 60;

/** Options for conversations that are longer than a model reads at once. */
export interface Limits {
  partCharacters: number;
  /** Whether to ask for progress on goals. */
  hasGoals: boolean;
  tooLong(parts: number, most: number): Error;
}

/** Asks once where the transcript fits, otherwise once for each part, and again to join the notes. */
export async function notesOf(
  lines: readonly Line[],
  asker: Asker,
  { partCharacters, hasGoals, tooLong }: Limits,
): Promise<Whole> {
  const parts = partsOf(lines, partCharacters);
  if (parts.length > MAX_PARTS) throw tooLong(parts.length, MAX_PARTS);
  if (parts.length === 1)
    return asker.ask<Whole>(hasGoals ? WholeWithGoals : WholeSchema, 'conversation', {}, textOf(lines));
  const found: Part[] = [];
  for (const [index, part] of parts.entries()) {
    const place = { part: String(index + 1), parts: String(parts.length) };
    found.push(await asker.ask<Part>(hasGoals ? PartWithGoals : PartSchema, 'part', place, textOf(part)));
  }
  const marked = new Set(lines.filter(({ isMarked }) => isMarked).map(({ number }) => number));
  return join(found, asker, { maxChars: partCharacters, marked });
}

interface Joining {
  maxChars: number;
  /** Numbers of the lines that the owner marked: notes that rest on them are marked as well. */
  marked: ReadonlySet<number>;
}

async function join(found: readonly Part[], asker: Asker, joining: Joining): Promise<Whole> {
  const { maxChars, marked } = joining;
  const tasks = found.flatMap(part => part.tasks);
  const memories = found.flatMap(part => part.memories);
  let notes: Cited[] = found.flatMap(part => part.overview);
  while (sizeOf(notes) > maxChars) {
    const shorter = await shorten(notes, asker, joining);
    if (shorter.length >= notes.length) break; // the model does not shorten: its input is cut below
    notes = shorter;
  }
  const data = [
    numbered(notes, marked).slice(0, maxChars),
    `tasks:\n${numbered(tasks, marked).slice(0, maxChars)}`,
    `memories:\n${numbered(memories, marked).slice(0, maxChars)}`,
  ];
  const joined = await asker.ask(Joined, 'join', {}, data.join('\n\n'));
  const chosen = memories.filter((_, index) => joined.memories.includes(index + 1));
  return {
    discard: false,
    title: resting(joined.title, notes),
    category: joined.category,
    folder: joined.folder,
    overview: joined.overview.map(sentence => resting(sentence, notes)),
    tasks: tasks.filter((_, index) => !joined.done.includes(index + 1)),
    events: found.flatMap(part => part.events),
    memories: chosen.length > 0 ? chosen : memories,
    progress: found.flatMap(({ progress = [] }) => progress),
  };
}

async function shorten(
  notes: readonly Cited[],
  asker: Asker,
  { maxChars, marked }: Joining,
): Promise<Cited[]> {
  const lines = notes.map((note, index) => ({ number: index + 1, text: lineOf(note, index, marked) }));
  const shorter: Cited[] = [];
  for (const part of partsOf(lines, maxChars)) {
    const { overview } = await asker.ask(Shortened, 'shorten', {}, textOf(part));
    shorter.push(...overview.map(sentence => resting(sentence, notes)));
  }
  return shorter;
}

/** Replaces citations of notes by the segments that the notes cite. */
function resting({ text, from }: Cited, notes: readonly Cited[]): Cited {
  const segments = from.flatMap(number => notes[number - 1]?.from ?? []);
  return { text, from: [...new Set(segments)] };
}

function numbered(notes: readonly Cited[], marked: ReadonlySet<number>): string {
  return notes.map((note, index) => lineOf(note, index, marked)).join('\n');
}

function lineOf({ text, from }: Cited, index: number, marked: ReadonlySet<number>): string {
  const worth = from.some(number => marked.has(number)) ? ' (marked)' : '';
  return `${index + 1}${worth} ${harmless(text)}`;
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join('\n');
}

function sizeOf(notes: readonly Cited[]): number {
  return notes.reduce((sum, { text }) => sum + text.length + 6, 0);
}
