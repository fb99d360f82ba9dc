import { mutator } from './mutations.ts';
import { random } from './sound.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One message of each kind that clients send, or may send in future. */
const KINDS: { [key: string]: Json }[] = [
  { type: 'finish_conversation' },
  { type: 'gap', ms: 100 },
  {
    type: 'suggested_transcript',
    stt_provider: 'phone',
    segments: [
      {
        text: 'some words',
        speaker: 'SPEAKER_01',
        speaker_id: 1,
        start: 1,
        end: 2.5,
        is_user: true,
        person_id: null,
      },
    ],
  },
  {
    type: 'speaker_assigned',
    speaker_id: 1,
    person_id: 'nobody',
    person_name: 'Ann',
    segment_ids: ['a', 'b'],
  },
  { type: 'image_chunk', id: 'photo', index: 0, total: 2, data: '/9j/4AAQSkZJRg==' },
  { type: 'auth', token: 'omi_dev_0123456789abcdef0123456789abcdef' },
  { type: 'CloseStream' },
];

const ODD_VALUES: Json[] = [
  ...[
    null,
    true,
    false,
    0,
    -0,
    -1,
    0.5,
    1e308,
    -1e308,
    5e-324,
    2 ** 31,
    2 ** 53,
    2 ** 64,
    86_400_000,
    86_400_001,
  ],
  ...[
    '',
    ' ',
    '\0',
    '\u0000words\u0000',
    '\ud800',
    '\udfff\ud83d',
    '\u202e\u2066',
    'e\u0301'.repeat(100),
    '😀',
  ],
  ...['x'.repeat(20_000), 'SPEAKER_99999', 'SPEAKER_-1', '__proto__', 'NaN', '1e999', 'constructor', 'gap'],
  ...[[], {}, [[]], [null], { type: 'gap' }, { toString: 1 }, Array.from({ length: 600 }, (_, i) => i)],
];

const ODD_KEYS = ['', '\0', 'ms', 'segments', '__proto__', 'toString', '\ud83d', 'k'.repeat(10_000)];

export type OddMessage = { text: string } | { bytes: Uint8Array };

/** Creates random messages of well-formed UTF-8, half of them audio, always the same for a seed. */
export function oddMessages(audio: readonly Uint8Array[], seed: number) {
  const uniform = random(seed);
  const below = (limit: number) => Math.min(limit - 1, Math.floor(((uniform() + 1) / 2) * limit));
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const sounds = mutator(audio, seed);

  /** Replaces one value anywhere inside. */
  function spoilt(value: Json): Json {
    if (typeof value !== 'object' || value === null || below(3) === 0) return pick(ODD_VALUES);
    if (Array.isArray(value)) return value.map((item, at) => (at === 0 ? spoilt(item) : item));
    const key = pick(Object.keys(value));
    return { ...value, [key]: spoilt(value[key] ?? null) };
  }

  const TEXTS: ((kind: { [key: string]: Json }) => string)[] = [
    kind => JSON.stringify(kind),
    kind => JSON.stringify(spoilt(kind)),
    kind => JSON.stringify({ ...kind, [pick(ODD_KEYS)]: pick(ODD_VALUES) }),
    kind => JSON.stringify(Object.fromEntries(Object.entries(kind).filter(() => below(2) === 0))),
    kind => JSON.stringify({ ...kind, type: pick(KINDS).type ?? null }),
    kind => JSON.stringify(kind).slice(0, below(200)),
    kind => JSON.stringify(kind).replace(/\d/, pick(['1e400', '-', '00', '9'.repeat(400), '1.5'])),
    kind => JSON.stringify(kind).replace(/"/, pick(["'", '\\', '\u0007', '\ufeff"'])),
    () => pick(['[', '{"a":', '"', '{"type":"gap","ms":']).repeat(1 + below(5000)),
    () => JSON.stringify(pick(ODD_VALUES)),
  ];

  return {
    next(): OddMessage {
      if (below(2) === 0) return { bytes: sounds.next().message };
      return { text: pick(TEXTS)(pick(KINDS)).toWellFormed() };
    },
  };
}
