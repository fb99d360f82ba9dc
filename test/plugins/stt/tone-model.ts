/**
 * A real, tiny speech model in ONNX for sherpa-onnx's streaming zipformer2 CTC recogniser: it recognises low
 * tones as the word "low" and high ones as "high". It consists of one linear layer over the 80 mel bands; the
 * state tensors that a real encoder keeps between chunks are passed through.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FLOAT, floats, INT64, integer, message, nested, node, tensor, text, value } from '../onnx.ts';

export const SAMPLE_RATE = 16_000;

const BANDS = 80;
const TOKENS = ['<blk>', '▁low', '▁high'];
/** Frames of 10 ms that one run reads and advances by; one output for every fourth. */
const FRAMES = 45;
const SHIFT = 32;
const OUTPUTS = SHIFT / 4;

/** The states of one encoder layer with every dimension at its smallest, the embedding's, and the count of frames. */
const STATES: { name: string; type: number; shape: number[] }[] = [
  { name: 'cached_key_0', type: FLOAT, shape: [1, 1, 1] },
  { name: 'cached_nonlin_attn_0', type: FLOAT, shape: [1, 1, 1, 3] },
  { name: 'cached_val1_0', type: FLOAT, shape: [1, 1, 1] },
  { name: 'cached_val2_0', type: FLOAT, shape: [1, 1, 1] },
  { name: 'cached_conv1_0', type: FLOAT, shape: [1, 4, 1] },
  { name: 'cached_conv2_0', type: FLOAT, shape: [1, 4, 1] },
  { name: 'embed_states', type: FLOAT, shape: [1, 128, 3, 19] },
  { name: 'processed_lens', type: INT64, shape: [1] },
];

const METADATA = {
  model_type: 'zipformer2',
  encoder_dims: '4',
  query_head_dims: '1',
  value_head_dims: '1',
  num_heads: '1',
  num_encoder_layers: '1',
  cnn_module_kernels: '3',
  left_context_len: '1',
  T: String(FRAMES),
  decode_chunk_len: String(SHIFT),
};

/** Writes the model's files into `directory`, and returns their expected properties. */
export async function writeToneModel(directory: string) {
  const contents = {
    'tones.onnx': model(graph(), METADATA),
    'tokens.txt': Buffer.from(TOKENS.map((token, id) => `${token} ${id}\n`).join('')),
  };
  for (const [name, bytes] of Object.entries(contents)) await writeFile(join(directory, name), bytes);
  return Object.fromEntries(
    Object.entries(contents).map(([name, bytes]) => [
      name,
      { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    ]),
  );
}

/**
 * Synthesises audio that the model transcribes as `text`: 300 ms of a chord for each word, with 400 ms of
 * silence around it.
 */
export function sounds(text: string): Int16Array {
  const parts = text
    .split(' ')
    .map(word => chord(word === 'low' ? [250, 400, 550, 700] : [5000, 5700, 6400, 7100]));
  const samples = new Int16Array(parts.length * 0.7 * SAMPLE_RATE + 0.4 * SAMPLE_RATE);
  for (const [index, part] of parts.entries()) samples.set(part, (0.4 + 0.7 * index) * SAMPLE_RATE);
  return samples;
}

function chord(frequencies: number[]): Int16Array {
  return Int16Array.from({ length: 0.3 * SAMPLE_RATE }, (_, index) => {
    const time = index / SAMPLE_RATE;
    const fade = Math.min(1, time / 0.02, (0.3 - time) / 0.02);
    return frequencies.reduce((sum, hz) => sum + 3000 * fade * Math.sin(2 * Math.PI * hz * time), 0);
  });
}

/**
 * The same layer as a model for whole utterances, of the kind that sherpa-onnx calls zipformer CTC: any
 * number of frames at once, with their count.
 */
export async function writeOfflineToneModel(directory: string) {
  const graph = message(
    node('Slice', ['x', 'starts', 'ends', 'axes', 'steps'], 'every_fourth'),
    node('MatMul', ['every_fourth', 'weight'], 'scores'),
    node('Add', ['scores', 'bias'], 'log_probs'),
    node('Add', ['x_lens', 'three'], 'rounded'),
    node('Div', ['rounded', 'four'], 'log_probs_len'),
    text(2, 'tones'),
    tensor('starts', INT64, [1], int64s([0])),
    tensor('ends', INT64, [1], int64s([2 ** 31])),
    tensor('axes', INT64, [1], int64s([1])),
    tensor('steps', INT64, [1], int64s([4])),
    tensor('three', INT64, [1], int64s([3])),
    tensor('four', INT64, [1], int64s([4])),
    tensor('weight', FLOAT, [BANDS, TOKENS.length], floats(weights())),
    tensor('bias', FLOAT, [TOKENS.length], floats([0, 8, 8])),
    nested(11, value({ name: 'x', type: FLOAT, shape: ['N', 'T', BANDS] })),
    nested(11, value({ name: 'x_lens', type: INT64, shape: ['N'] })),
    nested(12, value({ name: 'log_probs', type: FLOAT, shape: ['N', 'S', TOKENS.length] })),
    nested(12, value({ name: 'log_probs_len', type: INT64, shape: ['N'] })),
  );
  await writeFile(join(directory, 'tones.onnx'), model(graph, { model_type: 'zipformer2_ctc' }));
  await writeFile(join(directory, 'tokens.txt'), TOKENS.map((token, id) => `${token} ${id}\n`).join(''));
}

function model(graph: Buffer, metadata: Record<string, string>): Buffer {
  return message(
    integer(1, 8), // IR version
    nested(7, graph),
    nested(8, text(1, ''), integer(2, 13)), // operators
    ...Object.entries(metadata).map(([key, value]) => nested(14, text(1, key), text(2, value))),
  );
}

function graph(): Buffer {
  const kept = STATES.map(({ name, type, shape }) => value({ name, type, shape }));
  const passedOn = STATES.map(({ name, type, shape }) => value({ name: `new_${name}`, type, shape }));
  return message(
    node('Slice', ['x', 'starts', 'ends', 'axes', 'steps'], 'every_fourth'),
    node('MatMul', ['every_fourth', 'weight'], 'scores'),
    node('Add', ['scores', 'bias'], 'log_probs'),
    ...STATES.map(({ name }) => node('Identity', [name], `new_${name}`)),
    text(2, 'tones'),
    tensor('starts', INT64, [1], int64s([0])),
    tensor('ends', INT64, [1], int64s([SHIFT])),
    tensor('axes', INT64, [1], int64s([1])),
    tensor('steps', INT64, [1], int64s([4])),
    tensor('weight', FLOAT, [BANDS, TOKENS.length], floats(weights())),
    tensor('bias', FLOAT, [TOKENS.length], floats([0, 8, 8])),
    nested(11, value({ name: 'x', type: FLOAT, shape: [1, FRAMES, BANDS] })),
    ...kept.map(each => nested(11, each)),
    nested(12, value({ name: 'log_probs', type: FLOAT, shape: [1, OUTPUTS, TOKENS.length] })),
    ...passedOn.map(each => nested(12, each)),
  );
}

/** Silence is about -16 in each band; a tone is heard where its bands stand out by more than the bias allows. */
function weights(): number[] {
  return Array.from({ length: BANDS }, (_, band) => [
    0,
    band < BANDS / 4 ? 0.05 : 0,
    band >= (BANDS * 3) / 4 ? 0.05 : 0,
  ]).flat();
}

function int64s(values: number[]): Buffer {
  return Buffer.from(BigInt64Array.from(values, BigInt).buffer);
}
