/** Compares stored with spoken numbers. */
import { z } from 'zod';
import type { CoreProcess } from '../helpers/core-process.ts';
import { CODE_MS, FRAME_MS, numberIn, type Run, runsIn } from './code.ts';

/** Speech of one device, timed by its own clock. */
export interface Spoken {
  device: number;
  /** Source of its conversations, by which they are found; unique to the device. */
  source: string;
  /** Start of each number in ms. */
  places: readonly number[];
  /** Epoch ms of its clock's zero; null: it stated none. */
  startedAt: number | null;
  /** Whether the number at this place was never confirmed, so that it may be missing or incomplete. */
  mayMiss?: (placeMs: number) => boolean;
  /** Tones further apart than this belong to two numbers. */
  apartMs?: number;
  /** Audio within this time after a number that may be missing belongs to it. */
  lateMs?: number;
}

export interface Verdict {
  /** Numbers spoken; `unconfirmed` counts those of clients that cannot send them again. */
  numbers: number;
  unconfirmed: number;
  /** Spoken, but missing or incomplete. */
  losses: string[];
  /** Stored more than once. */
  doubles: string[];
  /** Stored after a later one. */
  disorder: string[];
  /** Unreadable audio that is not part of a loss. */
  debris: string[];
  worstErrorMs: number;
}

export const Stored = z.array(
  z.object({
    id: z.string(),
    source: z.string(),
    started_at: z.string().nullable(),
    transcript_segments: z.array(z.object({ text: z.string(), start: z.number(), end: z.number() })),
  }),
);
export type Stored = z.infer<typeof Stored>;

const PAGE = 25;

export async function readAll(core: Pick<CoreProcess, 'get'>): Promise<Stored> {
  const all: Stored = [];
  for (;;) {
    const query = `include_transcript=true&limit=${PAGE}&offset=${all.length}`;
    const page = Stored.parse(await core.get(`/v1/dev/user/conversations?${query}`));
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

interface Found {
  number: number;
  /** Epoch ms. */
  at: number;
}

export function judge(stored: Stored, spoken: readonly Spoken[]): Verdict {
  const verdict: Verdict = {
    ...{ numbers: 0, unconfirmed: 0, losses: [], doubles: [], disorder: [], debris: [], worstErrorMs: 0 },
  };
  for (const one of spoken) judgeOne(stored, one, verdict);
  return verdict;
}

function judgeOne(stored: Stored, spoken: Spoken, verdict: Verdict) {
  const { source, places, startedAt, mayMiss = () => false, lateMs = CODEC_MS } = spoken;
  const name = (number: number) => `${source} ${number}`;
  const { found, debris } = numbersOf(stored, spoken);
  const times = new Map<number, number>();
  let before = -1;
  for (const { number, at } of found) {
    if (times.has(number)) verdict.doubles.push(name(number));
    else if (number < before) verdict.disorder.push(name(number));
    before = Math.max(before, number);
    times.set(number, at);
  }
  const missing = places.flatMap((_, number) => (times.has(number) ? [] : [number]));
  const unconfirmed = places.filter(mayMiss);
  verdict.numbers += places.length;
  verdict.unconfirmed += unconfirmed.length;
  verdict.losses.push(...missing.filter(number => !mayMiss(places[number] ?? 0)).map(name));
  const errors = [...times].map(([number, at]) => at - (places[number] ?? 0));
  const zero = startedAt ?? errors.toSorted((a, b) => a - b)[Math.floor(errors.length / 2)] ?? 0;
  for (const error of errors) verdict.worstErrorMs = Math.max(verdict.worstErrorMs, Math.abs(error - zero));
  const isPartOf = (at: number) => (place: number) =>
    at >= place - OVERLAP_MS && at < place + CODE_MS + lateMs;
  const unexplained = debris.filter(at => !unconfirmed.some(isPartOf(at - zero)));
  verdict.debris.push(...unexplained.map(at => `${source} at ${at}`));
}

/** Usual distance of two numbers, at least; numbers that overlap by `OVERLAP_MS` are one number twice. */
const APART_MS = 150;
const OVERLAP_MS = 40;
/**
 * Delay of Opus, rounded up to a frame: a recording that starts where a number ended still contains its last
 * sound.
 */
const CODEC_MS = FRAME_MS;

/** A number may be stored in pieces if its stream was cut in the middle of it. */
export function numbersOf(
  stored: Stored,
  { source, device, apartMs = APART_MS }: Pick<Spoken, 'source' | 'device' | 'apartMs'>,
): { found: Found[]; debris: number[] } {
  const codes: { at: number; endAt: number; runs: Run[] }[] = [];
  for (const { at, runs } of piecesOf(stored, source)) {
    const last = codes.at(-1);
    const endAt = at + runs.reduce((sum, { frames }) => sum + frames * FRAME_MS, 0);
    const goesOn = last && at - last.endAt < apartMs && at - last.endAt > -OVERLAP_MS;
    if (goesOn) {
      last.runs.push(...runs);
      last.endAt = endAt;
    } else codes.push({ at, endAt, runs });
  }
  const read = codes.map(code => ({ ...code, said: numberIn(code.runs) }));
  return {
    found: read.flatMap(({ said, at }) => (said?.device === device ? [{ number: said.number, at }] : [])),
    debris: read.flatMap(({ said, at }) => (said?.device === device ? [] : [Math.round(at)])),
  };
}

export function piecesOf(stored: Stored, source: string): { at: number; runs: Run[] }[] {
  return stored
    .filter(conversation => conversation.source === source)
    .flatMap(({ started_at, transcript_segments }) =>
      transcript_segments.map(({ text, start }) => ({
        at: Date.parse(started_at ?? '') + start * 1000,
        runs: runsIn(text),
      })),
    )
    .sort((a, b) => a.at - b.at);
}

export const LONGEST_ERROR_MS = 100;

/** Whether everything confirmed is stored once, in order, and at its time. */
export function isGood({ losses, doubles, disorder, debris, worstErrorMs }: Verdict): boolean {
  const faults = [losses, doubles, disorder, debris].flat();
  return faults.length === 0 && worstErrorMs <= LONGEST_ERROR_MS;
}
