/**
 * Silero VAD v5 at 16 kHz: the magnitudes of four overlapping spectra, four convolutions over them, one LSTM cell, one
 * logistic unit. Small enough to be computed right here: a general runtime for such files costs 250 MB of memory and
 * answers the same to the sixth digit.
 */
import type { Tensors } from './onnx.ts';

/** Samples of one window. */
export const WINDOW = 512;
/** Samples before each window that are heard again. */
const CONTEXT = 64;
/** Numbers in each of the LSTM's two memories. */
const UNITS = 128;

const FRAME = 256;
const HOP = 128;
const FRAMES = 4;
const BINS = FRAME / 2 + 1;

/** What is kept of one stream between two windows. */
export interface StreamState {
  context: Float32Array<ArrayBuffer>;
  hidden: Float32Array<ArrayBuffer>;
  cell: Float32Array<ArrayBuffer>;
}

export function freshState(): StreamState {
  return {
    context: new Float32Array(CONTEXT),
    hidden: new Float32Array(UNITS),
    cell: new Float32Array(UNITS),
  };
}

export interface Network {
  /** The probability that a window of 16-bit samples holds speech; moves `state` on. */
  hear(window: Int16Array, state: StreamState): number;
}

/** @throws TypeError where `tensors` are not those of Silero v5 */
export function createNetwork(tensors: Tensors): Network {
  const weights = (name: string, length: number) => {
    const found = tensors.get(`If_0_then_branch__Inline_0__${name}`);
    if (found?.length !== length) throw new TypeError(`The model has no ${name} of ${length} numbers`);
    return found;
  };
  const convolution = (layer: number, shape: ConvolutionShape) =>
    createConvolution(
      weights(`encoder.${layer}.reparam_conv.weight`, shape.outputs * shape.inputs * KERNEL),
      weights(`encoder.${layer}.reparam_conv.bias`, shape.outputs),
      shape,
    );

  const spectrum = createSpectrum(weights('stft.forward_basis_buffer', 2 * BINS * FRAME));
  const encoder = [
    convolution(0, { inputs: BINS, outputs: 128, length: 4, stride: 1 }),
    convolution(1, { inputs: 128, outputs: 64, length: 4, stride: 2 }),
    convolution(2, { inputs: 64, outputs: 64, length: 2, stride: 2 }),
    convolution(3, { inputs: 64, outputs: UNITS, length: 1, stride: 1 }),
  ];
  const remember = createLstm({
    inputWeights: weights('decoder.rnn.weight_ih', 4 * UNITS * UNITS),
    inputBias: weights('decoder.rnn.bias_ih', 4 * UNITS),
    hiddenWeights: weights('decoder.rnn.weight_hh', 4 * UNITS * UNITS),
    hiddenBias: weights('decoder.rnn.bias_hh', 4 * UNITS),
  });
  const outputWeights = weights('decoder.decoder.2.weight', UNITS);
  const [outputBias = 0] = weights('decoder.decoder.2.bias', 1);

  return {
    hear(window, state) {
      let signal = spectrum(window, state.context);
      for (const convolve of encoder) signal = convolve(signal);
      remember(signal, state);
      let sum = outputBias;
      for (let i = 0; i < UNITS; i++) sum += (outputWeights[i] ?? 0) * Math.max(0, state.hidden[i] ?? 0);
      return sigmoid(sum);
    },
  };
}

/** Takes a window and the context before it to the magnitudes of its spectra, time by time; renews the context. */
function createSpectrum(basis: Float32Array) {
  const padded = new Float32Array(CONTEXT + WINDOW + CONTEXT);
  const frames = new Float32Array(FRAMES * FRAME);
  const parts = new Float32Array(FRAMES * 2 * BINS);
  const magnitudes = new Float32Array(FRAMES * BINS);

  return (window: Int16Array, context: Float32Array): Float32Array => {
    const end = CONTEXT + WINDOW;
    padded.set(context);
    for (let i = 0; i < WINDOW; i++) padded[CONTEXT + i] = (window[i] ?? 0) / 32768;
    for (let i = 0; i < CONTEXT; i++) padded[end + i] = padded[end - 2 - i] ?? 0; // mirrored at its last sample
    context.set(padded.subarray(WINDOW, end));

    for (let t = 0; t < FRAMES; t++) frames.set(padded.subarray(t * HOP, t * HOP + FRAME), t * FRAME);
    multiply(basis, frames, FRAMES, parts);
    for (let t = 0; t < FRAMES; t++)
      for (let bin = 0; bin < BINS; bin++) {
        const real = parts[2 * BINS * t + bin] ?? 0;
        const imaginary = parts[2 * BINS * t + BINS + bin] ?? 0;
        magnitudes[BINS * t + bin] = Math.sqrt(real * real + imaginary * imaginary);
      }
    return magnitudes;
  };
}

interface ConvolutionShape {
  inputs: number;
  outputs: number;
  /** Times that come in. */
  length: number;
  stride: number;
}

const KERNEL = 3;

/** A convolution over time with zeros around it, then a rectifier. */
function createConvolution(weights: Float32Array, bias: Float32Array, shape: ConvolutionShape) {
  const { inputs, outputs, length, stride } = shape;
  const times = Math.ceil(length / stride);
  const columns = new Float32Array(times * inputs * KERNEL);
  const result = new Float32Array(times * outputs);

  return (signal: Float32Array): Float32Array => {
    for (let t = 0; t < times; t++)
      for (let k = 0; k < KERNEL; k++) {
        const from = t * stride + k - 1;
        const outside = from < 0 || from >= length;
        for (let i = 0; i < inputs; i++)
          columns[(t * inputs + i) * KERNEL + k] = outside ? 0 : (signal[from * inputs + i] ?? 0);
      }
    multiply(weights, columns, times, result);
    for (let i = 0; i < result.length; i++)
      result[i] = Math.max(0, (result[i] ?? 0) + (bias[i % outputs] ?? 0));
    return result;
  };
}

/** One step of an LSTM cell; its gates lie in the order input, forget, candidate, output. */
function createLstm(weights: {
  inputWeights: Float32Array;
  inputBias: Float32Array;
  hiddenWeights: Float32Array;
  hiddenBias: Float32Array;
}) {
  const fromInput = new Float32Array(4 * UNITS);
  const fromHidden = new Float32Array(4 * UNITS);
  const bias = weights.inputBias.map((value, i) => value + (weights.hiddenBias[i] ?? 0));
  const gate = (index: number) => (fromInput[index] ?? 0) + (fromHidden[index] ?? 0) + (bias[index] ?? 0);

  return (input: Float32Array, { hidden, cell }: StreamState) => {
    multiply(weights.inputWeights, input, 1, fromInput);
    multiply(weights.hiddenWeights, hidden, 1, fromHidden);
    for (let i = 0; i < UNITS; i++) {
      const kept = sigmoid(gate(UNITS + i)) * (cell[i] ?? 0);
      const value = kept + sigmoid(gate(i)) * Math.tanh(gate(2 * UNITS + i));
      cell[i] = value;
      hidden[i] = sigmoid(gate(3 * UNITS + i)) * Math.tanh(value);
    }
  };
}

/** A matrix, row by row, times `count` vectors that lie one after the other. All the time goes here. */
function multiply(matrix: Float32Array, vectors: Float32Array, count: number, result: Float32Array) {
  const rows = result.length / count;
  const columns = vectors.length / count;
  let done = 0;
  // Four at a time, so that each weight is fetched once for four products.
  for (; done + 4 <= count; done += 4)
    multiplyFour(matrix, vectors, done * columns, columns, result, done * rows, rows);
  for (; done < count; done++)
    multiplyOne(matrix, vectors, done * columns, columns, result, done * rows, rows);
}

function multiplyFour(
  matrix: Float32Array,
  vectors: Float32Array,
  from: number,
  columns: number,
  result: Float32Array,
  to: number,
  rows: number,
) {
  const second = from + columns;
  const third = second + columns;
  const fourth = third + columns;
  for (let row = 0; row < rows; row++) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    const start = row * columns;
    for (let i = 0; i < columns; i++) {
      const weight = matrix[start + i] ?? 0;
      a += weight * (vectors[from + i] ?? 0);
      b += weight * (vectors[second + i] ?? 0);
      c += weight * (vectors[third + i] ?? 0);
      d += weight * (vectors[fourth + i] ?? 0);
    }
    result[to + row] = a;
    result[to + rows + row] = b;
    result[to + 2 * rows + row] = c;
    result[to + 3 * rows + row] = d;
  }
}

/** Four sums side by side: one alone would wait for each addition to end. All lengths here divide by four. */
function multiplyOne(
  matrix: Float32Array,
  vectors: Float32Array,
  from: number,
  columns: number,
  result: Float32Array,
  to: number,
  rows: number,
) {
  for (let row = 0; row < rows; row++) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    const start = row * columns;
    for (let i = 0; i < columns; i += 4) {
      a += (matrix[start + i] ?? 0) * (vectors[from + i] ?? 0);
      b += (matrix[start + i + 1] ?? 0) * (vectors[from + i + 1] ?? 0);
      c += (matrix[start + i + 2] ?? 0) * (vectors[from + i + 2] ?? 0);
      d += (matrix[start + i + 3] ?? 0) * (vectors[from + i + 3] ?? 0);
    }
    result[to + row] = a + b + c + d;
  }
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}
