import test from 'ava';
import { assign, type Cluster, MAX_VOICES } from '../../../../core/domain/speech/voice-clusters.ts';

const SAME = 0.7;
const NUMBERS = 16;

/** Orthogonal voices, with some of the others in each piece. */
function vector(voice: number, blend: Record<number, number> = {}): Float32Array {
  const mixed = Float32Array.from({ length: NUMBERS }, (_, at) => (at === voice ? 1 : 0) + (blend[at] ?? 0));
  const length = Math.hypot(...mixed);
  return mixed.map(value => value / length);
}

/** Labels of successive pieces. */
function labels(pieces: ({ vector: Float32Array; seconds: number } | null)[]) {
  const known = new Map<number, Cluster>();
  let last: number | null = null;
  return pieces.map(heard => {
    const cluster = assign([...known.values()], heard, last, SAME);
    if (cluster.vector) known.set(cluster.speakerId, cluster);
    last = cluster.speakerId;
    return last;
  });
}

const says = (voice: number, seconds = 3, blend = {}) => ({ vector: vector(voice, blend), seconds });

test('voices keep their labels, in the order of their first appearance, in any sequence', t => {
  t.deepEqual(
    labels([says(4), says(7), says(4, 3, { 9: 0.4 }), says(2), says(7, 2, { 1: -0.4 }), says(4)]),
    [0, 1, 0, 2, 1, 0],
  );
});

test('a piece shorter than a second starts no new voice: it joins the nearest or the previous one', t => {
  t.deepEqual(
    labels([says(1, 0.9), says(1), says(2), says(3, 0.5), says(1, 0.5), null, says(3)]),
    [0, 0, 1, 0, 0, 0, 2],
  );
});

test('two simultaneous voices are not a third one', t => {
  const both = { vector: vector(1, { 2: 0.9 }), seconds: 3 };
  t.deepEqual(labels([says(1), says(2), both, says(3)]), [0, 1, 0, 2]);
});

test('the number of voices is limited; later ones join the nearest', t => {
  const many = Array.from({ length: NUMBERS }, (_, voice) => says(voice));
  const found = labels([...many, says(0), says(MAX_VOICES - 1)]);
  t.is(new Set(found).size, MAX_VOICES);
  t.deepEqual(found.slice(-2), [0, MAX_VOICES - 1]);
});

test('a voice that drifts slowly remains the same', t => {
  const pieces = Array.from({ length: 30 }, (_, step) => says(0, 4, { 5: step / 40 }));
  t.deepEqual(new Set(labels(pieces)), new Set([0]));
});
