import { readTensors } from './onnx.ts';

/** The part of the model for 16 kHz; the other one is for 8 kHz. */
const TENSORS = 'If_0_then_branch__Inline_0__';

/** By the names that the kernel gives to their addresses. */
export type Weights = Record<
  'COSINES' | 'SINES' | 'SHAPE' | 'LAYER_1' | 'LAYER_2' | 'LAYER_3' | 'LAYER_4' | 'LSTM' | 'OUTPUT',
  Float32Array
>;

const FRAME = 256;
const BINS = FRAME / 2 + 1;
/** Numbers in each of the LSTM's two states. */
const UNITS = 128;
/** Time steps that each convolution covers. */
const KERNEL_TIMES = 3;

/**
 * Returns a model file's numbers in the kernel's order.
 * @throws TypeError or RangeError when the file is not Silero v5
 */
export function readWeights(model: Uint8Array): Weights {
  const tensors = readTensors(model, TENSORS);
  const tensor = (name: string, length: number) => {
    const found = tensors.get(name);
    if (found?.length !== length) throw new TypeError(`The model has no ${name} of ${length} numbers`);
    return found;
  };
  const convolution = (layer: number, shape: ConvolutionShape) =>
    arrangeConvolution(
      tensor(`encoder.${layer}.reparam_conv.weight`, shape.outputs * shape.inputs * KERNEL_TIMES),
      tensor(`encoder.${layer}.reparam_conv.bias`, shape.outputs),
      shape,
    );

  return {
    COSINES: turns(Math.cos),
    SINES: turns(Math.sin),
    SHAPE: shapeOf(tensor('stft.forward_basis_buffer', 2 * BINS * FRAME)),
    LAYER_1: convolution(0, { inputs: BINS, outputs: 128, firstTime: 0, times: 3, panel: 8 }),
    LAYER_2: convolution(1, { inputs: 128, outputs: 64, firstTime: 0, times: 3, panel: 32 }),
    // Two time steps of input, with zeros before them.
    LAYER_3: convolution(2, { inputs: 64, outputs: 64, firstTime: 1, times: 2, panel: 32 }),
    // One time step of input.
    LAYER_4: convolution(3, { inputs: 64, outputs: UNITS, firstTime: 1, times: 1, panel: 32 }),
    LSTM: arrangeLstm({
      inputWeights: tensor('decoder.rnn.weight_ih', 4 * UNITS * UNITS),
      inputBias: tensor('decoder.rnn.bias_ih', 4 * UNITS),
      hiddenWeights: tensor('decoder.rnn.weight_hh', 4 * UNITS * UNITS),
      hiddenBias: tensor('decoder.rnn.bias_hh', 4 * UNITS),
    }),
    OUTPUT: Float32Array.of(
      ...tensor('decoder.decoder.2.weight', UNITS),
      ...tensor('decoder.decoder.2.bias', 1),
    ),
  };
}

/** Computes the first half of a turn, in steps of one sample. */
function turns(of: (angle: number) => number): Float32Array {
  return Float32Array.from({ length: FRAME / 2 }, (_, i) => of((2 * Math.PI * i) / FRAME));
}

/**
 * The model stores its Fourier transform as a matrix. A fast transform gives the same result with this window function.
 */
function shapeOf(basis: Float32Array): Float32Array {
  const shape = basis.slice(0, FRAME);
  const differs = (row: number, i: number, factor: number) =>
    Math.abs((basis[row * FRAME + i] ?? 0) - (shape[i] ?? 0) * factor) > 1e-6;
  for (let bin = 0; bin < BINS; bin++)
    for (let i = 0; i < FRAME; i++) {
      const angle = (2 * Math.PI * bin * i) / FRAME;
      if (differs(bin, i, Math.cos(angle)) || differs(BINS + bin, i, -Math.sin(angle)))
        throw new TypeError('The model begins with no Fourier transform');
    }
  return shape;
}

interface ConvolutionShape {
  inputs: number;
  outputs: number;
  /** First of the three time steps whose input is not zero. */
  firstTime: number;
  times: number;
  panel: number;
}

function arrangeConvolution(weights: Float32Array, bias: Float32Array, shape: ConvolutionShape) {
  const { inputs, outputs, firstTime, times, panel } = shape;
  return arrangeMatrix({
    rows: outputs,
    columns: times * inputs,
    panel,
    bias,
    weight: (row, column) => {
      const time = firstTime + Math.floor(column / inputs);
      return weights[(row * inputs + (column % inputs)) * KERNEL_TIMES + time] ?? 0;
    },
  });
}

/** Joins both matrices: input columns first, hidden state columns to their right. */
function arrangeLstm(weights: {
  inputWeights: Float32Array;
  inputBias: Float32Array;
  hiddenWeights: Float32Array;
  hiddenBias: Float32Array;
}) {
  return arrangeMatrix({
    rows: 4 * UNITS,
    columns: 2 * UNITS,
    panel: 32,
    bias: weights.inputBias.map((value, i) => value + (weights.hiddenBias[i] ?? 0)),
    weight: (row, column) =>
      (column < UNITS
        ? weights.inputWeights[row * UNITS + column]
        : weights.hiddenWeights[row * UNITS + column - UNITS]) ?? 0,
  });
}

interface Matrix {
  rows: number;
  columns: number;
  /** Rows that the kernel processes at once. */
  panel: number;
  bias: Float32Array;
  weight(row: number, column: number): number;
}

/**
 * Orders a matrix for the kernel: the biases, then panel by panel the first column of the panel's rows, the second, and
 * so on.
 */
function arrangeMatrix({ rows, columns, panel, bias, weight }: Matrix): Float32Array {
  const arranged = new Float32Array(rows * (1 + columns));
  arranged.set(bias);
  let at = rows;
  for (let first = 0; first < rows; first += panel)
    for (let column = 0; column < columns; column++)
      for (let row = first; row < first + panel; row++) arranged[at++] = weight(row, column);
  return arranged;
}
