/**
 * Measures the similarity of pieces of one voice, and of two; a speaker model's thresholds follow from it.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SpeakerModel } from '../../core/contract/plugin.ts';
import { likeness } from '../../core/domain/speech/voice-clusters.ts';
import { decodeFile } from '../../core/listen/recordings/decode.ts';
import { percentile, type Table } from '../bench/benchmark.ts';
import { join as joined, rms } from '../helpers/sound.ts';

const SAMPLE_RATE = 16_000;
/** Length of a piece in seconds; a voice is compared with people from 2 s on. */
const PIECE_SECONDS = 3;
/** Quieter pieces count as pauses, in dB of full scale. */
const LEAST_DB = -50;
const MAX_PIECES_OF_ONE = 40;
/** Distance of `namedVoice` from the highest similarity of two people. */
const MARGIN = 0.05;
const PERCENTS = [0, 1, 5, 50, 95, 99, 100];

interface Piece {
  person: string;
  recording: string;
  vector: Float32Array;
}

export interface Thresholds {
  /** Threshold at which as many pairs of one voice are rejected as pairs of two voices are accepted. */
  sameVoice: number;
  /** Share of pairs judged wrongly at that threshold, 0 to 1. */
  equalError: number;
  /** Threshold that no pair of two people reaches. */
  namedVoice: number;
  /** Share of pairs of one person that reach it, 0 to 1. */
  found: number;
}

/**
 * Compares pieces of recordings in `dir`, which has a folder per person.
 * @throws {Error} for fewer than two people, or a person with fewer than two pieces
 */
export async function measureLikeness(model: SpeakerModel, dir: string): Promise<Table[]> {
  const pieces = await piecesIn(model, dir);
  const { same, different } = pairsOf(pieces);
  const { sameVoice, equalError, namedVoice, found } = thresholdsOf(same, different);
  const row = (what: string, values: readonly number[]) => [
    what,
    values.length,
    ...PERCENTS.map(percent => percentile(values, percent).toFixed(3)),
  ];
  const share = (part: number) => `${(100 * part).toFixed(1)} %`;
  return [
    {
      title: `Likenesses of pieces of ${PIECE_SECONDS} s (${model.id})`,
      columns: ['pairs', 'number', 'least', '1 %', '5 %', 'median', '95 %', '99 %', 'most'],
      rows: [row('of one person', same), row('of two', different)],
    },
    {
      title: 'Thresholds that these recordings suggest',
      columns: ['sameVoice', 'pairs judged wrongly', 'namedVoice', 'pairs of one person from it on'],
      rows: [[sameVoice.toFixed(2), share(equalError), namedVoice.toFixed(2), share(found)]],
    },
  ];
}

async function piecesIn(model: SpeakerModel, dir: string): Promise<Piece[]> {
  const people = (await readdir(dir, { withFileTypes: true })).filter(entry => entry.isDirectory());
  if (people.length < 2) throw new Error(`${dir} must have a folder for each of two people or more`);
  const { signal } = new AbortController();
  const clock = {
    sleep: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, signal ? { signal } : {}),
  };
  const pieces: Piece[] = [];
  for (const { name: person } of people) {
    const own: Piece[] = [];
    for (const recording of (await readdir(join(dir, person))).sort()) {
      const chunks: Int16Array<ArrayBuffer>[] = [];
      const file = { path: join(dir, person, recording), name: recording };
      for await (const chunk of decodeFile(file, { clock, signal })) chunks.push(Int16Array.from(chunk));
      for (const samples of cut(joined(...chunks))) {
        if (own.length >= MAX_PIECES_OF_ONE) break;
        own.push({ person, recording, vector: await model.embed(samples, signal) });
      }
    }
    if (own.length < 2)
      throw new Error(`${join(dir, person)} needs ${2 * PIECE_SECONDS} s of speech or more`);
    pieces.push(...own);
  }
  return pieces;
}

/** Cuts samples into whole pieces that may contain speech. */
function cut(samples: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer>[] {
  const length = PIECE_SECONDS * SAMPLE_RATE;
  const count = Math.floor(samples.length / length);
  return Array.from({ length: count }, (_, at) => samples.slice(at * length, (at + 1) * length)).filter(
    piece => 20 * Math.log10(rms(piece) / 32_768) > LEAST_DB,
  );
}

/** Pairs pieces of different recordings of a person where there are several, since one room makes voices alike. */
function pairsOf(pieces: readonly Piece[]): { same: number[]; different: number[] } {
  const same: number[] = [];
  const different: number[] = [];
  for (const [at, one] of pieces.entries())
    for (const other of pieces.slice(at + 1)) {
      const value = likeness(one.vector, other.vector);
      if (one.person !== other.person) different.push(value);
      else if (one.recording !== other.recording || hasOne(pieces, one.person)) same.push(value);
    }
  return { same, different };
}

function hasOne(pieces: readonly Piece[], person: string): boolean {
  return (
    new Set(pieces.filter(piece => piece.person === person).map(({ recording }) => recording)).size === 1
  );
}

/** Derives thresholds from the similarities of pairs of one voice, and of two. */
export function thresholdsOf(same: readonly number[], different: readonly number[]): Thresholds {
  const below = (limit: number) => same.filter(value => value < limit).length / same.length;
  const above = (limit: number) => different.filter(value => value >= limit).length / different.length;
  const candidates = Array.from({ length: 101 }, (_, at) => at / 100).map(limit => ({
    limit,
    worse: Math.max(below(limit), above(limit)),
  }));
  const least = Math.min(...candidates.map(({ worse }) => worse));
  const best = candidates.filter(({ worse }) => worse === least).map(({ limit }) => limit);
  const sameVoice = best[Math.floor(best.length / 2)] ?? 0.5; // in the middle of equally good ones
  const most = different.reduce((greatest, value) => Math.max(greatest, value), 0);
  const namedVoice = Math.min(1, Math.max(sameVoice, Math.ceil((most + MARGIN) * 100 - 1e-6) / 100));
  return { sameVoice, equalError: least, namedVoice, found: 1 - below(namedVoice) };
}
