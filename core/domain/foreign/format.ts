import { piecesOf } from '../text-pieces.ts';
import { instantOf, LATEST } from '../wall-clock.ts';
import type { ForeignConversation, ForeignSegment, ForeignThing } from './foreign-item.ts';
import {
  MAX_OVERVIEW_CHARS,
  MAX_SEGMENT_TEXT_CHARS,
  MAX_SPEAKER_CHARS,
  MAX_TITLE_CHARS,
} from './foreign-item.ts';
import { type SourceFile, wrong } from './source-files.ts';

/** Reader of the files of one product, or of one kind. */
export interface Format {
  /** Name for people: `Otter`. */
  title: string;
  /** Returns whether this format reads the file, by its path and beginning. */
  claims(path: string, head: string): boolean;
  /** Yields all items. Throws `wrong`, which names the file and the fault. */
  things(file: SourceFile, about: About): AsyncIterable<ForeignThing> | Iterable<ForeignThing>;
  /** Returns the files that this one refers to, with the time at which each was sent (epoch ms). */
  attachments?(file: SourceFile, timeZone: string): AsyncIterable<{ path: string; at: number }>;
}

export interface About {
  /** Time zone of times without one. */
  timeZone: string;
  /** Returns whether its folder contains a file of the same name with one of these endings. */
  isBeside(path: string, endings: readonly string[]): boolean;
  /** Returns when a file was sent, if another file says so (epoch ms). */
  sentAt(path: string): number | undefined;
}

/** Decodes UTF-8 with or without a byte order mark, as all these products write it. */
export async function textOf(file: SourceFile): Promise<string> {
  const bytes = await file.read();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\r\n', '\n');
  } catch {
    throw wrong(`${file.path} is not text in UTF-8`);
  }
}

export async function jsonOf(file: SourceFile): Promise<unknown> {
  try {
    return JSON.parse(await textOf(file));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw wrong(`${file.path} is no whole JSON document`, cause);
    throw cause;
  }
}

/** Removes control characters and lone surrogates, and joins white space. */
function tidy(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

export function clipped(text: string, chars: number): string {
  const tidied = tidy(text);
  return tidied.length <= chars ? tidied : `${tidied.slice(0, chars - 1).toWellFormed()}…`;
}

/** Creates a conversation; missing fields are empty. */
export function conversationOf({
  title = '',
  overview = '',
  segments = [],
  ...given
}: Pick<ForeignConversation, 'key' | 'source' | 'startedAt'> &
  Partial<ForeignConversation>): ForeignConversation {
  const spoken = segments.flatMap(divided);
  return {
    kind: 'conversation',
    category: 'other',
    finishedAt: null,
    language: null,
    starred: false,
    discarded: false,
    tasks: [],
    ...given,
    title: clipped(title, MAX_TITLE_CHARS) || titleOf(spoken),
    overview: clipped(overview, MAX_OVERVIEW_CHARS),
    segments: spoken,
  };
}

/** Splits long texts into several segments with equal times. */
function divided(segment: ForeignSegment): ForeignSegment[] {
  const speaker = segment.speaker === null ? null : clipped(segment.speaker, MAX_SPEAKER_CHARS) || null;
  const pieces = piecesOf(tidy(segment.text), MAX_SEGMENT_TEXT_CHARS);
  const seconds = (segment.end - segment.start) / pieces.length;
  return pieces.map((text, at) => ({
    ...segment,
    text,
    speaker,
    start: segment.start + at * seconds,
    end: segment.start + (at + 1) * seconds,
  }));
}

const TITLE_WORDS = 8;

/** Uses the first words as the title if there is none. */
function titleOf([first]: readonly ForeignSegment[]): string {
  const words = (first?.text ?? '').split(' ');
  const begun = words.slice(0, TITLE_WORDS).join(' ');
  return clipped(words.length > TITLE_WORDS ? `${begun} …` : begun, MAX_TITLE_CHARS);
}

/** Parses a time in ISO 8601, or a number of seconds or milliseconds (epoch ms); null: it is invalid. */
export function instantFrom(value: unknown): number | null {
  const at =
    typeof value === 'number'
      ? value < 1e11
        ? value * 1000
        : value
      : typeof value === 'string'
        ? fromIso(value)
        : Number.NaN;
  return Number.isFinite(at) && at >= 0 && at <= LATEST ? Math.round(at) : null;
}

/** Without a zone, these products mean UTC. */
function fromIso(text: string): number {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(.*))?$/.exec(text.trim());
  if (!match) return Number.NaN;
  const [, day, time = '00:00', zone = ''] = match;
  const offset =
    zone.trim() === '' || zone.trim() === 'UTC' ? 'Z' : zone.trim().replace(/^([+-]\d{2})$/, '$1:00');
  return Date.parse(`${day}T${time}${offset}`);
}

/** Returns the time in the name of a file, such as `2024-05-01 10-30-15`; null: there is none. */
export function instantInName(path: string, timeZone: string): number | null {
  const name = path.split('/').at(-1) ?? '';
  const match =
    /(?<!\d)(20\d{2})[-_.]?(\d{2})[-_.]?(\d{2})(?:[ T_-]*(\d{2})[-_.:h]?(\d{2})(?:[-_.:m]?(\d{2}))?)?(?!\d)/.exec(
      name,
    );
  if (!match) return null;
  const [, year, month, date, hour = '12', minute = '00', second = '00'] = match;
  const day = `${year}-${month}-${date}`;
  if (Number.isNaN(Date.parse(`${day}T${hour}:${minute}:${second}Z`))) return null;
  return instantOf({ day, minute: Number(hour) * 60 + Number(minute) }, timeZone) + Number(second) * 1000;
}

/** Returns the name of a file without folders and its last ending. */
export function nameOf(path: string): string {
  return (path.split('/').at(-1) ?? '').replace(/\.[^.]+$/, '');
}
