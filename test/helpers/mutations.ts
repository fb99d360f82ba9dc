import { random } from './sound.ts';

/** Ways in which a message may be wrong, and the unchanged message. */
export const MUTATIONS = [
  'as it is',
  'bits flipped',
  'bits flipped at its head',
  'cut short',
  'made longer',
  'two spliced',
  'twice',
  'zeros',
  'random bytes',
  'empty',
  'the last one again',
  'far too long',
] as const;
export type Mutation = (typeof MUTATIONS)[number];

const HEAD_BYTES = 8;
const FAR_TOO_LONG = 2 ** 16;
/** Rare, because it costs as much as all others together. */
const FAR_TOO_LONG_EVERY = 1000;

/** Creates random messages from real ones, always the same for a seed. */
export function mutator(messages: readonly Uint8Array[], seed: number) {
  const uniform = random(seed);
  const below = (limit: number) => Math.min(limit - 1, Math.floor(((uniform() + 1) / 2) * limit));
  const pick = () => messages[below(messages.length)] ?? new Uint8Array(1);
  const bytes = (length: number) => Uint8Array.from({ length }, () => below(256));

  function flipped(message: Uint8Array, within: number): Uint8Array {
    const copy = Uint8Array.from(message);
    for (let flips = 1 + below(8); flips > 0; flips--) {
      const at = below(Math.min(within, copy.length));
      copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
    }
    return copy;
  }

  const make: Record<Mutation, () => Uint8Array> = {
    'as it is': pick,
    'bits flipped': () => flipped(pick(), Number.POSITIVE_INFINITY),
    'bits flipped at its head': () => flipped(pick(), HEAD_BYTES),
    'cut short': () => {
      const message = pick();
      return message.slice(0, 1 + below(message.length));
    },
    'made longer': () => joined(pick(), bytes(1 + below(40))),
    'two spliced': () => {
      const [first, second] = [pick(), pick()];
      return joined(first.subarray(0, below(first.length)), second.subarray(below(second.length)));
    },
    twice: () => joined(pick(), pick()),
    zeros: () => new Uint8Array(1 + below(2 * pick().length)),
    'random bytes': () => bytes(1 + below(300)),
    empty: () => new Uint8Array(0),
    'the last one again': () => last,
    'far too long': () => {
      const message = pick();
      return Uint8Array.from(
        { length: FAR_TOO_LONG + below(FAR_TOO_LONG) },
        (_, i) => message[i % message.length] ?? 0,
      );
    },
  };

  let last = pick();

  return {
    next(): { mutation: Mutation; message: Uint8Array } {
      const drawn = MUTATIONS[below(MUTATIONS.length)] ?? 'as it is';
      const isSpared = drawn === 'far too long' && below(FAR_TOO_LONG_EVERY / MUTATIONS.length) > 0;
      const mutation = isSpared ? 'as it is' : drawn;
      last = make[mutation]();
      return { mutation, message: last };
    },
  };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
