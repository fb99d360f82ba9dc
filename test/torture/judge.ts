/** Compares what is stored with what was said. */
import { z } from 'zod';
import type { CoreProcess } from '../helpers/core-process.ts';
import { CODE_MS, FRAME_MS, numberIn, type Run, runsIn } from './code.ts';

/** One device, as its own clock has it. */
export interface Spoken {
  device: number;
  /** In which its conversations are found: no two devices share it. */
  source: string;
  /** Where each number began, in ms. */
  places: readonly number[];
  /** Epoch ms of its clock's zero; null: it never told. */
  startedAt: number | null;
  /** Whether the number at this place was never confirmed, so that it may be missing, or there in part. */
  mayMiss?: (placeMs: number) => boolean;
}

export interface Verdict {
  /** Said; of them those that were never confirmed, by clients that cannot say them again. */
  numbers: number;
  unconfirmed: number;
  /** Said, and not there, or not whole. */
  losses: string[];
  /** There more than once. */
  doubles: string[];
  /** There behind a later one. */
  disorder: string[];
  /** Sound of which nothing can be read, but for what is part of a loss. */
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
  const { device, source, places, startedAt, mayMiss = () => false } = spoken;
  const name = (number: number) => `${source} ${number}`;
  const { found, debris } = numbersOf(stored, source, device);
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
    at >= place - OVERLAP_MS && at < place + CODE_MS + CODEC_MS;
  const unexplained = debris.filter(at => !unconfirmed.some(isPartOf(at - zero)));
  verdict.debris.push(...unexplained.map(at => `${source} at ${at}`));
}

/** Two tones further apart than this are of two numbers; those that overlap by so much are one and the same twice. */
const APART_MS = 150;
const OVERLAP_MS = 40;
/** Opus is late by this, rounded up to a frame: a recording that begins where a number has ended still has its last sound. */
const CODEC_MS = FRAME_MS;

/** A number may be stored in pieces, where its stream was cut in two in the midst of it. */
function numbersOf(stored: Stored, source: string, device: number): { found: Found[]; debris: number[] } {
  const codes: { at: number; endAt: number; runs: Run[] }[] = [];
  for (const { at, runs } of piecesOf(stored, source)) {
    const last = codes.at(-1);
    const endAt = at + runs.reduce((sum, { frames }) => sum + frames * FRAME_MS, 0);
    const goesOn = last && at - last.endAt < APART_MS && at - last.endAt > -OVERLAP_MS;
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

function piecesOf(stored: Stored, source: string): { at: number; runs: Run[] }[] {
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

/** All that was confirmed is there, once, in order, and at its time. */
export function isGood({ losses, doubles, disorder, debris, worstErrorMs }: Verdict): boolean {
  const faults = [losses, doubles, disorder, debris].flat();
  return faults.length === 0 && worstErrorMs <= LONGEST_ERROR_MS;
}
