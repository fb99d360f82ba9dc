/**
 * The arithmetic of Silero v5 in AssemblyScript, which compiles to WebAssembly, with vectors of four numbers.
 * `kernel.wasm` in this folder is the compiled form; `npm run kernel` compiles it again. Exported numbers are memory
 * addresses: `network.ts` writes the weights there once, and before each window the samples and the stream's state.
 */
const FLOAT: usize = 4;
const VECTOR: usize = 16;

const WINDOW: usize = 512;
const CONTEXT: usize = 64;
const FRAME: usize = 256;
const HOP: usize = 128;
const FRAMES: usize = 4;
const BINS: usize = FRAME / 2 + 1;
const UNITS: usize = 128;
const GATES: usize = 4 * UNITS;

// ── memory layout
// ──────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Rows in a panel. A layer's weights are stored in panels: the first column of its rows, then the second, and so on.
 * The biases precede them.
 */
const PANEL: usize = 32;
/** Rows in a panel of the first layer. */
const PANEL_1: usize = 8;

/** Inputs of each row of a layer. */
const DEPTH_1: usize = 3 * BINS;
const ROWS_1: usize = 128;
const DEPTH_2: usize = 3 * ROWS_1;
const ROWS_2: usize = 64;
/** Two time steps of input, with zeros before them. */
const DEPTH_3: usize = 2 * ROWS_2;
const ROWS_3: usize = 64;
/** One time step of input. */
const DEPTH_4: usize = ROWS_3;
const DEPTH_LSTM: usize = 2 * UNITS;

export const COSINES: usize = 0;
export const SINES: usize = COSINES + HOP * FLOAT;
export const SHAPE: usize = SINES + HOP * FLOAT;
export const LAYER_1: usize = SHAPE + FRAME * FLOAT;
export const LAYER_2: usize = LAYER_1 + ROWS_1 * (1 + DEPTH_1) * FLOAT;
export const LAYER_3: usize = LAYER_2 + ROWS_2 * (1 + DEPTH_2) * FLOAT;
export const LAYER_4: usize = LAYER_3 + ROWS_3 * (1 + DEPTH_3) * FLOAT;
export const LSTM: usize = LAYER_4 + UNITS * (1 + DEPTH_4) * FLOAT;
export const OUTPUT: usize = LSTM + GATES * (1 + DEPTH_LSTM) * FLOAT;
const OUTPUT_BIAS: usize = OUTPUT + UNITS * FLOAT;

/** 16-bit samples of the window. */
export const SAMPLES: usize = OUTPUT_BIAS + VECTOR;
const REAL: usize = SAMPLES + WINDOW * 2;
const IMAGINARY: usize = REAL + HOP * VECTOR;
/** A row of zeros precedes and follows the four time steps. */
const SPECTRA: usize = IMAGINARY + HOP * VECTOR;
/** A row of zeros precedes the four time steps, which start at an aligned address. */
const RESULT_1: usize = SPECTRA + (1 + FRAMES + 1) * BINS * FLOAT + 8;
const RESULT_2: usize = RESULT_1 + (1 + FRAMES) * ROWS_1 * FLOAT;
const RESULT_3: usize = RESULT_2 + 2 * ROWS_2 * FLOAT;
const GATE: usize = RESULT_3 + ROWS_3 * FLOAT;
const ENCODED: usize = GATE + GATES * FLOAT;
/** State of a stream between two windows, up to the end of the context. */
export const STATE: usize = ENCODED + UNITS * FLOAT;
const HIDDEN: usize = STATE;
const CELL: usize = HIDDEN + UNITS * FLOAT;
const SIGNAL: usize = CELL + UNITS * FLOAT;

/** Returns the probability that the window holds speech, and updates the state. */
export function hear(): f32 {
  fillSignal();
  loadFrames();
  memory.copy(SIGNAL, SIGNAL + WINDOW * FLOAT, CONTEXT * FLOAT);
  transform();
  storeMagnitudes();
  multiplyFour();
  rectify(RESULT_1 + ROWS_1 * FLOAT, FRAMES * ROWS_1);
  multiply(LAYER_2, ROWS_2, DEPTH_2, RESULT_1, RESULT_2);
  multiply(LAYER_2, ROWS_2, DEPTH_2, RESULT_1 + 2 * ROWS_1 * FLOAT, RESULT_2 + ROWS_2 * FLOAT);
  rectify(RESULT_2, 2 * ROWS_2);
  multiply(LAYER_3, ROWS_3, DEPTH_3, RESULT_2, RESULT_3);
  rectify(RESULT_3, ROWS_3);
  multiply(LAYER_4, UNITS, DEPTH_4, RESULT_3, ENCODED);
  rectify(ENCODED, UNITS);
  multiply(LSTM, GATES, DEPTH_LSTM, ENCODED, GATE);
  remember();
  return answer();
}

// ── spectra: one per vector lane
// ───────────────────────────────────────────────────────────────────────────────────────

/** Writes the samples as fractions after the context, mirrored at the last one. */
function fillSignal(): void {
  const start = SIGNAL + CONTEXT * FLOAT;
  const end = start + WINDOW * FLOAT;
  const scale = f32x4.splat(1.0 / 32768.0);
  for (let i: usize = 0; i < WINDOW; i += 4) {
    const samples = f32x4.convert_i32x4_s(v128.load16x4_s(SAMPLES + 2 * i));
    v128.store(start + i * FLOAT, f32x4.mul(samples, scale));
  }
  for (let i: usize = 0; i < CONTEXT; i++) {
    store<f32>(end + i * FLOAT, load<f32>(end - (i + 2) * FLOAT));
  }
}

/**
 * Loads even samples as real parts and odd ones as imaginary parts, in the bit-reversed order that `transform` needs.
 */
function loadFrames(): void {
  let place: usize = 0;
  for (let i: usize = 0; i < HOP; i++) {
    v128.store(REAL + place * VECTOR, shaped(2 * i));
    v128.store(IMAGINARY + place * VECTOR, shaped(2 * i + 1));
    let bit = HOP / 2;
    for (; place & bit; bit /= 2) place ^= bit;
    place |= bit;
  }
}

/** One sample of each frame, multiplied by the window function. */
function shaped(i: usize): v128 {
  const from = SIGNAL + i * FLOAT;
  let samples = v128.load32_zero(from);
  samples = v128.load_lane<f32>(from, samples, 1, HOP * FLOAT);
  samples = v128.load_lane<f32>(from, samples, 2, 2 * HOP * FLOAT);
  samples = v128.load_lane<f32>(from, samples, 3, 3 * HOP * FLOAT);
  return f32x4.mul(samples, v128.load32_splat(SHAPE + i * FLOAT));
}

/** In-place Fourier transform of 128 complex numbers. */
function transform(): void {
  for (let half: usize = 1; half < HOP; half *= 2) {
    for (let j: usize = 0; j < half; j++) {
      const angle = j * (HOP / half) * FLOAT;
      const cosine = v128.load32_splat(COSINES + angle);
      const sine = v128.load32_splat(SINES + angle);
      for (let at = j; at < HOP; at += 2 * half) turn(at * VECTOR, (at + half) * VECTOR, cosine, sine);
    }
  }
}

function turn(low: usize, high: usize, cosine: v128, sine: v128): void {
  const real = v128.load(REAL + low);
  const imaginary = v128.load(IMAGINARY + low);
  const x = v128.load(REAL + high);
  const y = v128.load(IMAGINARY + high);
  const turnedX = f32x4.add(f32x4.mul(x, cosine), f32x4.mul(y, sine));
  const turnedY = f32x4.sub(f32x4.mul(y, cosine), f32x4.mul(x, sine));
  v128.store(REAL + low, f32x4.add(real, turnedX));
  v128.store(IMAGINARY + low, f32x4.add(imaginary, turnedY));
  v128.store(REAL + high, f32x4.sub(real, turnedX));
  v128.store(IMAGINARY + high, f32x4.sub(imaginary, turnedY));
}

/** Combines the spectra of even and odd samples into the spectrum of all. */
function storeMagnitudes(): void {
  const half = f32x4.splat(0.5);
  for (let bin: usize = 0; bin < BINS; bin++) {
    const low = (bin % HOP) * VECTOR;
    const high = ((HOP - bin) % HOP) * VECTOR;
    const evenX = f32x4.add(v128.load(REAL + low), v128.load(REAL + high));
    const evenY = f32x4.sub(v128.load(IMAGINARY + low), v128.load(IMAGINARY + high));
    const oddX = f32x4.add(v128.load(IMAGINARY + low), v128.load(IMAGINARY + high));
    const oddY = f32x4.sub(v128.load(REAL + high), v128.load(REAL + low));
    // The last bin's angle is half a turn, one step past the tables.
    const cosine = bin < HOP ? v128.load32_splat(COSINES + bin * FLOAT) : f32x4.splat(-1);
    const sine = bin < HOP ? v128.load32_splat(SINES + bin * FLOAT) : f32x4.splat(0);
    const x = f32x4.add(evenX, f32x4.add(f32x4.mul(oddX, cosine), f32x4.mul(oddY, sine)));
    const y = f32x4.add(evenY, f32x4.sub(f32x4.mul(oddY, cosine), f32x4.mul(oddX, sine)));
    const magnitudes = f32x4.mul(half, f32x4.sqrt(f32x4.add(f32x4.mul(x, x), f32x4.mul(y, y))));
    const to = SPECTRA + (BINS + bin) * FLOAT;
    v128.store_lane<f32>(to, magnitudes, 0);
    v128.store_lane<f32>(to, magnitudes, 1, BINS * FLOAT);
    v128.store_lane<f32>(to, magnitudes, 2, 2 * BINS * FLOAT);
    v128.store_lane<f32>(to, magnitudes, 3, 3 * BINS * FLOAT);
  }
}

// ── matrix products: nearly all of the time is spent here
// ──────────────────────────────────────────────────────────────

/** Computes the first layer at its four time steps, loading each weight once for all of them. */
function multiplyFour(): void {
  let weights = LAYER_1 + ROWS_1 * FLOAT;
  for (let row: usize = 0; row < ROWS_1; row += PANEL_1) {
    const bias = LAYER_1 + row * FLOAT;
    let a0 = v128.load(bias);
    let a1 = v128.load(bias, VECTOR);
    let b0 = a0;
    let b1 = a1;
    let c0 = a0;
    let c1 = a1;
    let d0 = a0;
    let d1 = a1;
    for (let from = SPECTRA; from < SPECTRA + DEPTH_1 * FLOAT; from += FLOAT) {
      const w0 = v128.load(weights);
      const w1 = v128.load(weights, VECTOR);
      weights += PANEL_1 * FLOAT;
      let x = v128.load32_splat(from);
      a0 = f32x4.add(a0, f32x4.mul(w0, x));
      a1 = f32x4.add(a1, f32x4.mul(w1, x));
      x = v128.load32_splat(from, BINS * FLOAT);
      b0 = f32x4.add(b0, f32x4.mul(w0, x));
      b1 = f32x4.add(b1, f32x4.mul(w1, x));
      x = v128.load32_splat(from, 2 * BINS * FLOAT);
      c0 = f32x4.add(c0, f32x4.mul(w0, x));
      c1 = f32x4.add(c1, f32x4.mul(w1, x));
      x = v128.load32_splat(from, 3 * BINS * FLOAT);
      d0 = f32x4.add(d0, f32x4.mul(w0, x));
      d1 = f32x4.add(d1, f32x4.mul(w1, x));
    }
    const to = RESULT_1 + (ROWS_1 + row) * FLOAT;
    v128.store(to, a0);
    v128.store(to, a1, VECTOR);
    v128.store(to, b0, ROWS_1 * FLOAT);
    v128.store(to, b1, ROWS_1 * FLOAT + VECTOR);
    v128.store(to, c0, 2 * ROWS_1 * FLOAT);
    v128.store(to, c1, 2 * ROWS_1 * FLOAT + VECTOR);
    v128.store(to, d0, 3 * ROWS_1 * FLOAT);
    v128.store(to, d1, 3 * ROWS_1 * FLOAT + VECTOR);
  }
}

/** Computes any other layer at one time step. Many rows at once hide the latency of additions. */
function multiply(layer: usize, rows: usize, depth: usize, input: usize, output: usize): void {
  let weights = layer + rows * FLOAT;
  for (let row: usize = 0; row < rows; row += PANEL) {
    const bias = layer + row * FLOAT;
    let sum0 = v128.load(bias);
    let sum1 = v128.load(bias, VECTOR);
    let sum2 = v128.load(bias, 2 * VECTOR);
    let sum3 = v128.load(bias, 3 * VECTOR);
    let sum4 = v128.load(bias, 4 * VECTOR);
    let sum5 = v128.load(bias, 5 * VECTOR);
    let sum6 = v128.load(bias, 6 * VECTOR);
    let sum7 = v128.load(bias, 7 * VECTOR);
    for (let from = input; from < input + depth * FLOAT; from += FLOAT) {
      const x = v128.load32_splat(from);
      sum0 = f32x4.add(sum0, f32x4.mul(v128.load(weights), x));
      sum1 = f32x4.add(sum1, f32x4.mul(v128.load(weights, VECTOR), x));
      sum2 = f32x4.add(sum2, f32x4.mul(v128.load(weights, 2 * VECTOR), x));
      sum3 = f32x4.add(sum3, f32x4.mul(v128.load(weights, 3 * VECTOR), x));
      sum4 = f32x4.add(sum4, f32x4.mul(v128.load(weights, 4 * VECTOR), x));
      sum5 = f32x4.add(sum5, f32x4.mul(v128.load(weights, 5 * VECTOR), x));
      sum6 = f32x4.add(sum6, f32x4.mul(v128.load(weights, 6 * VECTOR), x));
      sum7 = f32x4.add(sum7, f32x4.mul(v128.load(weights, 7 * VECTOR), x));
      weights += PANEL * FLOAT;
    }
    const to = output + row * FLOAT;
    v128.store(to, sum0);
    v128.store(to, sum1, VECTOR);
    v128.store(to, sum2, 2 * VECTOR);
    v128.store(to, sum3, 3 * VECTOR);
    v128.store(to, sum4, 4 * VECTOR);
    v128.store(to, sum5, 5 * VECTOR);
    v128.store(to, sum6, 6 * VECTOR);
    v128.store(to, sum7, 7 * VECTOR);
  }
}

function rectify(from: usize, length: usize): void {
  const zero = f32x4.splat(0);
  for (let at = from; at < from + length * FLOAT; at += VECTOR) {
    v128.store(at, f32x4.max(v128.load(at), zero));
  }
}

// ── recurrent cell
// ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** One step of the LSTM cell, whose gates lie in the order input, forget, candidate, output. */
function remember(): void {
  for (let i: usize = 0; i < UNITS * FLOAT; i += VECTOR) {
    const input = sigmoid(v128.load(GATE + i));
    const forget = sigmoid(v128.load(GATE + i, UNITS * FLOAT));
    const candidate = tanh(v128.load(GATE + i, 2 * UNITS * FLOAT));
    const output = sigmoid(v128.load(GATE + i, 3 * UNITS * FLOAT));
    const cell = f32x4.add(f32x4.mul(forget, v128.load(CELL + i)), f32x4.mul(input, candidate));
    v128.store(CELL + i, cell);
    v128.store(HIDDEN + i, f32x4.mul(output, tanh(cell)));
  }
}

function answer(): f32 {
  const zero = f32x4.splat(0);
  let sums = v128.load32_zero(OUTPUT_BIAS);
  for (let i: usize = 0; i < UNITS * FLOAT; i += VECTOR) {
    const heard = f32x4.max(v128.load(HIDDEN + i), zero);
    sums = f32x4.add(sums, f32x4.mul(v128.load(OUTPUT + i), heard));
  }
  const low = f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1);
  const high = f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3);
  return f32x4.extract_lane(sigmoid(f32x4.splat(low + high)), 0);
}

function tanh(x: v128): v128 {
  const twice = sigmoid(f32x4.add(x, x));
  return f32x4.sub(f32x4.add(twice, twice), f32x4.splat(1));
}

function sigmoid(x: v128): v128 {
  const one = f32x4.splat(1);
  return f32x4.div(one, f32x4.add(one, exp(f32x4.neg(x))));
}

/**
 * Accurate to seven digits: 2 to the integer part, built from the exponent's bits, times a Taylor series of the rest.
 */
function exp(x: v128): v128 {
  const bounded = f32x4.min(f32x4.max(x, f32x4.splat(-87)), f32x4.splat(87));
  const whole = f32x4.nearest(f32x4.mul(bounded, f32x4.splat(Math.LOG2E as f32)));
  // ln 2 in two parts, the first one short enough for an exact product.
  const rough = f32x4.sub(bounded, f32x4.mul(whole, f32x4.splat(0.693359375)));
  const rest = f32x4.add(rough, f32x4.mul(whole, f32x4.splat(2.1219444e-4)));
  let series = f32x4.splat(1.0 / 720.0);
  series = f32x4.add(f32x4.mul(series, rest), f32x4.splat(1.0 / 120.0));
  series = f32x4.add(f32x4.mul(series, rest), f32x4.splat(1.0 / 24.0));
  series = f32x4.add(f32x4.mul(series, rest), f32x4.splat(1.0 / 6.0));
  series = f32x4.add(f32x4.mul(series, rest), f32x4.splat(1.0 / 2.0));
  series = f32x4.add(f32x4.mul(series, rest), f32x4.splat(1));
  series = f32x4.add(f32x4.mul(series, rest), f32x4.splat(1));
  const exponent = i32x4.add(i32x4.trunc_sat_f32x4_s(whole), i32x4.splat(127));
  return f32x4.mul(series, i32x4.shl(exponent, 23));
}
