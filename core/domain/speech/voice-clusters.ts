/** Distinguishes speakers piece by piece: online clustering of voices within one conversation. Pure. */

/** A voice of a conversation. */
export interface Cluster {
  /** Number in its label. */
  speakerId: number;
  /** Mean direction of its pieces' vectors, of length 1; null: none of them was long enough. */
  vector: Float32Array | null;
  /** Seconds of speech behind the vector. */
  seconds: number;
}

/** Voice that was heard in one piece. */
export interface HeardVoice {
  vector: Float32Array;
  seconds: number;
}

/** Minimum seconds of a piece that may open a new voice: vectors of shorter ones say little. */
export const LEAST_SECONDS = 1;
/** Maximum voices of a conversation; further speech is assigned to the nearest. */
export const MAX_VOICES = 12;
/** Seconds of speech past which a voice's vector hardly changes any more. */
const FULL_SECONDS = 60;

/**
 * Returns the voice of a piece with its updated vector: one of `known`, or a new one.
 * @param last voice of the previous piece, to which pieces that are too short are assigned
 * @param sameVoice similarity from which two pieces are of one voice
 */
export function assign(
  known: readonly Cluster[],
  heard: HeardVoice | null,
  last: number | null,
  sameVoice: number,
): Cluster {
  const ranked = heard ? rank(known, heard.vector) : [];
  const [best] = ranked;
  const before = known.find(({ speakerId }) => speakerId === last) ?? known.at(-1);
  if (!heard) return before ?? fresh(0, null);
  if (best && best.likeness >= sameVoice)
    return heard.seconds < LEAST_SECONDS ? best.cluster : grown(best.cluster, heard);
  const mute = known.find(({ vector }) => vector === null);
  if (heard.seconds < LEAST_SECONDS) return best?.cluster ?? before ?? fresh(0, null);
  if (!best) return mute ? grown(mute, heard) : fresh(nextId(known), heard);
  if (isMixture(ranked, heard.vector, sameVoice)) return best.cluster;
  if (known.length >= MAX_VOICES) return best.cluster;
  return fresh(nextId(known), heard);
}

/** Cosine of the angle between two vectors of length 1. */
export function likeness(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += (one[i] ?? 0) * (other[i] ?? 0);
  return sum;
}

/** The mean direction of vectors, each with its weight; null where they cancel out. */
export function meanOf(parts: readonly HeardVoice[]): Float32Array | null {
  const [first] = parts;
  if (!first) return null;
  const sum = new Float32Array(first.vector.length);
  for (const { vector, seconds } of parts)
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + seconds * (vector[i] ?? 0);
  return unit(sum);
}

interface Ranked {
  cluster: Cluster;
  likeness: number;
}

function rank(known: readonly Cluster[], vector: Float32Array): Ranked[] {
  const all = known.flatMap(cluster =>
    cluster.vector ? [{ cluster, likeness: likeness(cluster.vector, vector) }] : [],
  );
  return all.sort((a, b) => b.likeness - a.likeness);
}

/**
 * Returns whether a piece is the overlap of two known voices, which resembles their sum rather than either, and not a third
 * person.
 */
function isMixture([one, other]: readonly Ranked[], vector: Float32Array, sameVoice: number): boolean {
  if (!one?.cluster.vector || !other?.cluster.vector) return false;
  const both = meanOf([
    { vector: one.cluster.vector, seconds: 1 },
    { vector: other.cluster.vector, seconds: 1 },
  ]);
  return both !== null && likeness(both, vector) >= sameVoice && other.likeness >= sameVoice / 2;
}

function grown(cluster: Cluster, heard: HeardVoice): Cluster {
  if (!cluster.vector) return { ...cluster, ...heard };
  const known = { vector: cluster.vector, seconds: Math.min(cluster.seconds, FULL_SECONDS) };
  const vector = meanOf([known, heard]) ?? cluster.vector;
  return { ...cluster, vector, seconds: cluster.seconds + heard.seconds };
}

function fresh(speakerId: number, heard: HeardVoice | null): Cluster {
  return { speakerId, vector: heard?.vector ?? null, seconds: heard?.seconds ?? 0 };
}

function nextId(known: readonly Cluster[]): number {
  return known.reduce((highest, { speakerId }) => Math.max(highest, speakerId), -1) + 1;
}

function unit(vector: Float32Array): Float32Array | null {
  const length = Math.sqrt(likeness(vector, vector));
  return length > 1e-6 ? vector.map(value => value / length) : null;
}
