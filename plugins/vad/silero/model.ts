/** Sizes that Silero v5 is made for at 16 kHz, in samples and numbers. */
export const WINDOW = 512;
/** Samples before each window that it hears again. */
export const CONTEXT = 64;
/** Two layers of this many numbers are what it remembers of a stream. */
export const LAYER = 128;
export const MEMORY = 2 * LAYER;

/** What the model keeps of one stream between two windows. */
export interface StreamState {
  memory: Float32Array<ArrayBuffer>;
  context: Float32Array<ArrayBuffer>;
}

export function freshState(): StreamState {
  return { memory: new Float32Array(MEMORY), context: new Float32Array(CONTEXT) };
}

/** To the worker: judge these windows, which follow on `state`. */
export interface Ask {
  call: number;
  samples: Int16Array<ArrayBuffer>;
  state: StreamState;
}

/** From the worker: one probability per window, and the state after them. */
export interface Answer {
  call: number;
  probabilities: Float32Array<ArrayBuffer>;
  state: StreamState;
}
