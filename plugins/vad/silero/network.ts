/**
 * Silero VAD v5 at 16 kHz: the magnitudes of four overlapping spectra, four convolutions, one LSTM cell, one logistic
 * unit. It is small enough to be computed here: a general ONNX runtime needs 250 MB of memory and agrees to the sixth
 * digit. The arithmetic is WebAssembly (assembly/kernel.ts).
 */
import { readFile } from 'node:fs/promises';
import type { Weights } from './weights.ts';

/** Samples of one window. */
export const WINDOW = 512;
/** The LSTM's hidden and cell state, and the last samples of the previous window, which precede the next one. */
const STATE = 128 + 128 + 64;

/** State of one stream between two windows. */
export type StreamState = Float32Array<ArrayBuffer>;

export function freshState(): StreamState {
  return new Float32Array(STATE);
}

export interface Network {
  /** Returns the probability that a window of 16-bit samples holds speech, and updates `state`. */
  hear(window: Int16Array, state: StreamState): number;
}

/** Exports of the kernel: addresses in its memory. */
type Kernel = Record<keyof Weights | 'SAMPLES' | 'STATE', { value: number }> & {
  memory: WebAssembly.Memory;
  hear(): number;
};

const KERNEL = new URL('./assembly/kernel.wasm', import.meta.url);

export async function createNetwork(weights: Weights): Promise<Network> {
  const { instance } = await WebAssembly.instantiate(await readFile(KERNEL));
  const kernel = instance.exports as Kernel; // replaced in a test that compiles the kernel again
  const { buffer } = kernel.memory;
  for (const [place, values] of Object.entries(weights) as [keyof Weights, Float32Array][])
    new Float32Array(buffer, kernel[place].value, values.length).set(values);
  const samples = new Int16Array(buffer, kernel.SAMPLES.value, WINDOW);
  const current = new Float32Array(buffer, kernel.STATE.value, STATE);

  return {
    hear(window, state) {
      samples.set(window);
      current.set(state);
      const probability = kernel.hear();
      state.set(current);
      return probability;
    },
  };
}
