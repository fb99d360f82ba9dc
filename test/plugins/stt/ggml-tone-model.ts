/**
 * A real, tiny Whisper model as whisper.cpp loads it: it recognises low tones as the word "low" and high ones
 * as "high", within the first five seconds. It attends to seven positions, 0.7 s apart, and at each writes a
 * word, or an empty one for silence. All other weights are zero. A layer first normalises its inputs to a
 * mean of 0 and a deviation of 1: BALANCE keeps the mean, and two large values keep the deviation, so that
 * normalisation changes almost nothing.
 */
import { writeFile } from 'node:fs/promises';

const STATE = 16;
/** Indexes of the values of a state. */
const [LOW, HIGH, END, TIME, SQUARE, EMPTY, GREAT, BALANCE] = [0, 1, 2, 3, 4, 5, 6, 7];
const GREATNESS = 100;
/** Divisor of a normalisation. */
const SPREAD = GREATNESS * Math.sqrt(2 / STATE);

const FRAMES = 256; // of 20 ms
const PLACES = 7;
const POSITIONS = 64;
/** The text begins after three tokens: start, language, task. */
const FIRST_POSITION = 2;

const VOCABULARY = 51_865; // marks a model of 99 languages
const WORDS = [' low', ' high', ' ', ''];
const EMPTY_WORD = 3;
const END_OF_TEXT = 50_257;
const GERMAN = 50_258 + 1 + 2;

/** Bins of a spectrum from 0 to 8 kHz. */
const BINS = 201;

/** Writes the model to `path`. Language detection always returns German. */
export async function writeGgmlToneModel(path: string): Promise<void> {
  await writeFile(path, Buffer.concat([header(), filters(), vocabulary(), ...tensors()]));
}

function header(): Buffer {
  const layout = [VOCABULARY, FRAMES, STATE, 1, 1, POSITIONS, STATE, 1, 1, 2, 1]; // 2 bands, 16-bit weights
  return Buffer.concat([integers(0x67676d6c), integers(...layout)]);
}

/** Two bands: below 1 kHz, and above 4 kHz. */
function filters(): Buffer {
  const band = (from: number, to: number) => fill(BINS, bin => (bin >= from && bin < to ? 1 : 0));
  return Buffer.concat([integers(2, BINS), floats(band(2, 25)), floats(band(100, BINS))]);
}

function vocabulary(): Buffer {
  const words = WORDS.map(word => Buffer.from(word));
  return Buffer.concat([integers(words.length), ...words.flatMap(word => [integers(word.length), word])]);
}

function tensors(): Buffer[] {
  return [...encoder(), ...decoder()];
}

function encoder(): Buffer[] {
  // A tone is about 1.7 in its band, silence and the other band are below 0.2; it must not change the mean
  // either.
  const first = weights([3, 2, STATE], at =>
    at === 1 + 3 * (2 * LOW) || at === 1 + 3 * (2 * HIGH + 1) ? 4 : 0,
  );
  const second = weights([3, STATE, STATE], at =>
    at === 1 + 3 * (STATE * LOW + LOW) || at === 1 + 3 * (STATE * HIGH + HIGH) ? 1 / 512 : 0,
  );
  return [
    tensor('encoder.positional_embedding', [STATE, FRAMES], rows(FRAMES, timeOf)),
    tensor('encoder.conv1.weight', ...first),
    tensor('encoder.conv1.bias', [1, STATE], floats(fill(STATE, at => (at === LOW || at === HIGH ? -4 : 0)))),
    tensor('encoder.conv2.weight', ...second),
    tensor('encoder.conv2.bias', [1, STATE], floats(fill(STATE, () => 0))),
    ...normalisation('encoder.ln_post'),
    ...block('encoder.blocks.0'),
  ];
}

function timeOf(frame: number): number[] {
  const time = frame / FRAMES;
  return balanced({ [TIME]: time, [SQUARE]: time * time });
}

function decoder(): Buffer[] {
  return [
    tensor('decoder.positional_embedding', [STATE, POSITIONS], rows(POSITIONS, placeOf)),
    tensor('decoder.token_embedding.weight', ...weights([STATE, VOCABULARY], tokenWeight)),
    ...normalisation('decoder.ln', at => ([TIME, GREAT, BALANCE].includes(at) ? 0 : 60_000)),
    ...block('decoder.blocks.0'),
    ...listening('decoder.blocks.0.cross_attn'),
  ];
}

/** Position 0 detects the language; the last position marks the end of the text. */
function placeOf(position: number): number[] {
  const place = position - FIRST_POSITION;
  if (position === 0) return balanced({ [SQUARE]: 1 });
  return balanced({ [TIME]: place, [place < PLACES ? EMPTY : END]: 1 });
}

function tokenWeight(at: number): number {
  const token = Math.floor(at / STATE);
  const says = { 0: LOW, 1: HIGH, [EMPTY_WORD]: EMPTY, [END_OF_TEXT]: END, [GERMAN]: SQUARE }[token];
  return says === at % STATE ? 1 / 64 : 0;
}

/** Width of a position as a share of the input: 0.2 s of 5.12. */
const WIDTH = 0.04;
const SHARPNESS = 1 / (2 * WIDTH * WIDTH);
/** Divisor of an attention. */
const ATTENTION = Math.sqrt(STATE);
/** A tone that fills its position reaches about 6, leakage from the next position less than 1. */
const LOUDNESS = 2200;

/**
 * The attention at a position is highest where -(time - position)² is, that is 2·time·position - time² plus a
 * term independent of time.
 */
function listening(name: string): Buffer[] {
  const centre = (place: number) => (0.55 + 0.7 * place) / (FRAMES * 0.02);
  const step = centre(1) - centre(0);
  const slope = 2 * SHARPNESS * step * ATTENTION;
  const start = { [TIME]: 2 * SHARPNESS * centre(0) * ATTENTION, [SQUARE]: -SHARPNESS * ATTENTION };
  return [
    ...normalisation(`${name}_ln`),
    tensor(`${name}.query.weight`, ...diagonal({ [TIME]: slope * SPREAD })),
    tensor(
      `${name}.query.bias`,
      [STATE],
      floats(fill(STATE, at => (at === TIME ? start[TIME] : at === SQUARE ? start[SQUARE] : 0) ?? 0)),
    ),
    tensor(`${name}.key.weight`, ...diagonal({ [TIME]: SPREAD, [SQUARE]: SPREAD })),
    tensor(`${name}.value.weight`, ...diagonal({ [LOW]: SPREAD, [HIGH]: SPREAD })),
    tensor(`${name}.value.bias`, [STATE], floats(fill(STATE, () => 0))),
    tensor(`${name}.out.weight`, ...diagonal({ [LOW]: LOUDNESS, [HIGH]: LOUDNESS })),
    tensor(`${name}.out.bias`, [STATE], floats(fill(STATE, () => 0))),
  ];
}

/** A layer that adds nothing to its input. */
function block(name: string): Buffer[] {
  const nothing = (to: string, shape: number[]) => tensor(`${name}.${to}`, ...weights(shape, () => 0));
  const none = (to: string, length: number) =>
    tensor(`${name}.${to}`, [length], floats(fill(length, () => 0)));
  return [
    ...normalisation(`${name}.mlp_ln`),
    ...normalisation(`${name}.attn_ln`),
    nothing('mlp.0.weight', [STATE, 4 * STATE]),
    none('mlp.0.bias', 4 * STATE),
    nothing('mlp.2.weight', [4 * STATE, STATE]),
    none('mlp.2.bias', STATE),
    ...['query', 'key', 'value', 'out'].map(part => nothing(`attn.${part}.weight`, [STATE, STATE])),
    ...['query', 'value', 'out'].map(part => none(`attn.${part}.bias`, STATE)),
  ];
}

function normalisation(name: string, weight: (at: number) => number = () => 1): Buffer[] {
  return [
    tensor(`${name}.weight`, [STATE], floats(fill(STATE, weight))),
    tensor(`${name}.bias`, [STATE], floats(fill(STATE, () => 0))),
  ];
}

function diagonal(numbers: Record<number, number>): [number[], Buffer, 1] {
  return weights([STATE, STATE], at => (at % (STATE + 1) === 0 ? (numbers[at / (STATE + 1)] ?? 0) : 0));
}

/** Weights are 16-bit floats, everything else has 32. */
function weights(shape: number[], cell: (at: number) => number): [number[], Buffer, 1] {
  const count = shape.reduce((product, size) => product * size);
  const bytes = Buffer.alloc(2 * count);
  for (let at = 0; at < count; at++) {
    const number = cell(at);
    if (number !== 0) bytes.writeUInt16LE(half(number), 2 * at);
  }
  return [shape, bytes, 1];
}

function tensor(name: string, shape: number[], data: Buffer, type: 0 | 1 = 0): Buffer {
  return Buffer.concat([integers(shape.length, name.length, type, ...shape), Buffer.from(name), data]);
}

function rows(count: number, row: (at: number) => number[]): Buffer {
  return Buffer.concat(fill(count, at => floats(row(at))));
}

function balanced(numbers: Record<number, number>): number[] {
  const sum = Object.values(numbers).reduce((total, number) => total + number);
  const all: Record<number, number> = { ...numbers, [GREAT]: GREATNESS, [BALANCE]: -GREATNESS - sum };
  return fill(STATE, at => all[at] ?? 0);
}

function fill<T>(length: number, item: (at: number) => T): T[] {
  return Array.from({ length }, (_, at) => item(at));
}

function integers(...numbers: number[]): Buffer {
  return Buffer.from(Uint32Array.from(numbers).buffer);
}

function floats(numbers: number[]): Buffer {
  return Buffer.from(Float32Array.from(numbers).buffer);
}

/** The nearest 16-bit float of a number that is not too small for it. */
function half(number: number): number {
  const exponent = Math.floor(Math.log2(Math.abs(number)));
  const fraction = Math.round((Math.abs(number) / 2 ** exponent - 1) * 1024);
  return (number < 0 ? 0x8000 : 0) + (exponent + 15) * 1024 + fraction;
}
