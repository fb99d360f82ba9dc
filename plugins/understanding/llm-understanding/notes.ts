/** Notes of a conversation that is longer than a model reads at once: made part by part, then joined. */
import {
  type Cited,
  Joined,
  type Part,
  Part as PartSchema,
  Shortened,
  type Whole,
  Whole as WholeSchema,
} from './answers.ts';
import type { Asker } from './asking.ts';
import type { Line } from './transcript.ts';
import { harmless, partsOf } from './transcript.ts';

/** Parts of one conversation: about 10 hours of talk with the default size. */
const MAX_PARTS = 60;

/** How many characters of transcript a model is given at once, and what to do with a conversation that has too many. */
export interface Limits {
  partCharacters: number;
  tooLong(parts: number, most: number): Error;
}

/** One call for what fits into it, else one for each part, and more to join them. */
export async function notesOf(
  lines: readonly Line[],
  asker: Asker,
  { partCharacters, tooLong }: Limits,
): Promise<Whole> {
  const parts = partsOf(lines, partCharacters);
  if (parts.length > MAX_PARTS) throw tooLong(parts.length, MAX_PARTS);
  if (parts.length === 1) return asker.ask(WholeSchema, 'conversation', {}, textOf(lines));
  const found: Part[] = [];
  for (const [index, part] of parts.entries()) {
    const place = { part: String(index + 1), parts: String(parts.length) };
    found.push(await asker.ask(PartSchema, 'part', place, textOf(part)));
  }
  return join(found, asker, partCharacters);
}

async function join(found: readonly Part[], asker: Asker, maxChars: number): Promise<Whole> {
  const tasks = found.flatMap(part => part.tasks);
  const memories = found.flatMap(part => part.memories);
  let notes: Cited[] = found.flatMap(part => part.overview);
  while (sizeOf(notes) > maxChars) {
    const shorter = await shorten(notes, asker, maxChars);
    if (shorter.length >= notes.length) break; // a model that does not shorten: what it is given is cut below
    notes = shorter;
  }
  const data = [
    numbered(notes).slice(0, maxChars),
    `tasks:\n${numbered(tasks).slice(0, maxChars)}`,
    `memories:\n${numbered(memories).slice(0, maxChars)}`,
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
  };
}

async function shorten(notes: readonly Cited[], asker: Asker, maxChars: number): Promise<Cited[]> {
  const lines = notes.map((note, index) => ({ number: index + 1, text: lineOf(note, index) }));
  const shorter: Cited[] = [];
  for (const part of partsOf(lines, maxChars)) {
    const { overview } = await asker.ask(Shortened, 'shorten', {}, textOf(part));
    shorter.push(...overview.map(sentence => resting(sentence, notes)));
  }
  return shorter;
}

/** Replaces citations of notes by the segments that those cite. */
function resting({ text, from }: Cited, notes: readonly Cited[]): Cited {
  const segments = from.flatMap(number => notes[number - 1]?.from ?? []);
  return { text, from: [...new Set(segments)] };
}

function numbered(notes: readonly { text: string }[]): string {
  return notes.map(lineOf).join('\n');
}

function lineOf({ text }: { text: string }, index: number): string {
  return `${index + 1} ${harmless(text)}`;
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join('\n');
}

function sizeOf(notes: readonly Cited[]): number {
  return notes.reduce((sum, { text }) => sum + text.length + 6, 0);
}
