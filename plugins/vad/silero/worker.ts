/** The thread in which the network runs. It keeps nothing of any stream: each question brings its state along. */
import { parentPort, workerData } from 'node:worker_threads';
import { createNetwork, type StreamState, WINDOW } from './network.ts';
import type { Tensors } from './onnx.ts';

/** Judge these windows, which follow on `state`. */
export interface Question {
  id: number;
  samples: Int16Array<ArrayBuffer>;
  state: StreamState;
}

/** One probability per window, and the state after them. */
export interface Answer {
  id: number;
  probabilities: Float32Array<ArrayBuffer>;
  state: StreamState;
}

const tensors: Tensors = workerData;
const network = createNetwork(tensors);

parentPort?.on('message', ({ id, samples, state }: Question) => {
  const probabilities = new Float32Array(samples.length / WINDOW);
  for (let i = 0; i < probabilities.length; i++)
    probabilities[i] = network.hear(samples.subarray(i * WINDOW, (i + 1) * WINDOW), state);
  const answer: Answer = { id, probabilities, state };
  parentPort?.postMessage(answer, [probabilities.buffer, ...Object.values(state).map(part => part.buffer)]);
});
