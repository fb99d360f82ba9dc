/**
 * Writes a language model of a few megabytes: a GGUF file of the architecture `llama` whose only layer returns its input, so
 * that each token depends on the previous one alone. It prefers the text `red`, and then to end. With a grammar it answers
 * in the requested form, without meaning.
 */
import { writeFile } from 'node:fs/promises';

const CONTROL = 3;
const UNKNOWN = 2;
const NORMAL = 1;
const BYTE = 6;

const PRINTABLE = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
const TOKENS: readonly [text: string, type: number][] = [
  ['<unk>', UNKNOWN],
  ['<s>', CONTROL],
  ['</s>', CONTROL],
  ...Array.from({ length: 256 }, (_, at): [string, number] => [
    `<0x${at.toString(16).toUpperCase().padStart(2, '0')}>`,
    BYTE,
  ]),
  ...PRINTABLE.map((text): [string, number] => [text === ' ' ? '▁' : text, NORMAL]),
];
const END = 2;
const WIDTH = 384;
const HEADS = 2;
const INNER = 32;
const CONTEXT = 4096;

/** Tokens preferred in any context, best first. */
const LIKED = ['</s>', '"', ']', '}', ':', ',', 't', 'f', 'n', '1', '{', '[', '▁'];
/** Tokens preferred after a certain token, before all of the above. */
const FOLLOWS: readonly [before: string, next: string][] = [
  ['"', 'r'],
  ['r', 'e'],
  ['e', 'd'],
  ['d', '"'],
  ['[', '{'],
  ['[', '"'],
];

const idOf = new Map(TOKENS.map(([text], id) => [text, id]));

/** Returns the preference for each token after each other token; one row per next token. */
function preferences(): Float32Array {
  const output = new Float32Array(TOKENS.length * WIDTH);
  const set = (before: number, next: number, wish: number) => {
    output[next * WIDTH + before] = wish;
  };
  for (const before of TOKENS.keys())
    for (const [rank, text] of LIKED.entries()) set(before, idOf.get(text) ?? 0, 1 - rank / LIKED.length);
  for (const [before, next] of FOLLOWS) set(idOf.get(before) ?? 0, idOf.get(next) ?? 0, 2);
  for (const text of ['r', 'e']) set(idOf.get(text) ?? 0, END, 0);
  set(idOf.get('d') ?? 0, END, 3); // unless a grammar forbids it
  set(idOf.get('<0x0A>') ?? 0, idOf.get('r') ?? 0, 2); // the end of its chat template
  return output;
}

function embeddings(): Float32Array {
  const table = new Float32Array(TOKENS.length * WIDTH);
  for (const id of TOKENS.keys()) table[id * WIDTH + id] = 1;
  return table;
}

/** Writes the model file. */
export async function writeTinyModel(path: string): Promise<void> {
  await writeFile(path, Buffer.concat(file()));
}

function file(): Buffer[] {
  const square = new Float32Array(WIDTH * WIDTH);
  const inner = new Float32Array(WIDTH * INNER);
  const ones = new Float32Array(WIDTH).fill(1);
  const block = 'blk.0';
  const tensors: [name: string, dimensions: number[], values: Float32Array][] = [
    ['token_embd.weight', [WIDTH, TOKENS.length], embeddings()],
    ['output_norm.weight', [WIDTH], ones],
    ['output.weight', [WIDTH, TOKENS.length], preferences()],
    [`${block}.attn_norm.weight`, [WIDTH], ones],
    ...['q', 'k', 'v', 'output'].map((part): [string, number[], Float32Array] => [
      `${block}.attn_${part}.weight`,
      [WIDTH, WIDTH],
      square,
    ]),
    [`${block}.ffn_norm.weight`, [WIDTH], ones],
    [`${block}.ffn_gate.weight`, [WIDTH, INNER], inner],
    [`${block}.ffn_up.weight`, [WIDTH, INNER], inner],
    [`${block}.ffn_down.weight`, [INNER, WIDTH], inner],
  ];
  const settings = [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny'),
    whole('llama.context_length', CONTEXT),
    whole('llama.embedding_length', WIDTH),
    whole('llama.block_count', 1),
    whole('llama.feed_forward_length', INNER),
    whole('llama.attention.head_count', HEADS),
    whole('llama.attention.head_count_kv', HEADS),
    fraction('llama.attention.layer_norm_rms_epsilon', 1e-5),
    whole('llama.rope.dimension_count', WIDTH / HEADS),
    whole('llama.vocab_size', TOKENS.length),
    text('tokenizer.ggml.model', 'llama'),
    list(
      'tokenizer.ggml.tokens',
      STRING,
      TOKENS.map(([token]) => string(token)),
    ),
    list(
      'tokenizer.ggml.scores',
      FLOAT,
      TOKENS.map(() => float(0)),
    ),
    list(
      'tokenizer.ggml.token_type',
      INT,
      TOKENS.map(([, type]) => uint(type)),
    ),
    whole('tokenizer.ggml.bos_token_id', 1),
    whole('tokenizer.ggml.eos_token_id', END),
    whole('tokenizer.ggml.unknown_token_id', 0),
    text('tokenizer.chat_template', TEMPLATE),
  ];
  let offset = 0;
  const described = tensors.map(([name, dimensions, { byteLength }]) => {
    const info = [string(name), uint(dimensions.length), ...dimensions.map(long), uint(0), long(offset)];
    offset += padded(byteLength);
    return Buffer.concat(info);
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    uint(3),
    long(tensors.length),
    long(settings.length),
    ...settings,
    ...described,
  ]);
  const data = tensors.map(([, , values]) => filled(Buffer.from(values.buffer)));
  return [filled(head), ...data];
}

const TEMPLATE =
  "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}</s>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}";

const ALIGNMENT = 32;
const [UINT, INT, FLOAT, STRING, ARRAY] = [4, 5, 6, 8, 9];

const padded = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
const filled = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);

function uint(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function long(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([long(bytes.length), bytes]);
}

const text = (name: string, value: string) => Buffer.concat([string(name), uint(STRING), string(value)]);
const whole = (name: string, value: number) => Buffer.concat([string(name), uint(UINT), uint(value)]);
const fraction = (name: string, value: number) => Buffer.concat([string(name), uint(FLOAT), float(value)]);
const list = (name: string, type: number, values: Buffer[]) =>
  Buffer.concat([string(name), uint(ARRAY), uint(type), long(values.length), ...values]);
