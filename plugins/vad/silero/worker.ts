/**
 * The thread in which the model runs. It keeps nothing of any stream: each call brings its state along, and the windows
 * of all calls that wait are judged side by side, which costs a third of judging them one by one.
 */
import { setImmediate } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import * as ort from 'onnxruntime-web/wasm';
import { type Answer, type Ask, CONTEXT, LAYER, MEMORY, WINDOW } from './model.ts';

/** Streams judged in one run. More cost nothing less each. */
const MAX_BATCH = 32;

interface Call extends Ask {
  probabilities: Float32Array<ArrayBuffer>;
  /** Windows judged so far. */
  done: number;
}

ort.env.wasm.numThreads = 1;
const model: Uint8Array = workerData;
const session = await ort.InferenceSession.create(model);
const sampleRate = new ort.Tensor('int64', BigInt64Array.of(16_000n), []);

let waiting: Call[] = [];
let running = false;

parentPort?.on('message', (ask: Ask) => {
  waiting.push({ ...ask, probabilities: new Float32Array(ask.samples.length / WINDOW), done: 0 });
  if (!running) void work(); // a failure ends the thread: the other side sees it
});

async function work() {
  running = true;
  while (waiting.length > 0) {
    await judge(waiting.slice(0, MAX_BATCH));
    const done = waiting.filter(isDone);
    waiting = waiting.filter(call => !isDone(call));
    done.forEach(answer);
    await setImmediate(); // lets further calls in, to be judged in the same run
  }
  running = false;
}

/** One window of each call. */
async function judge(calls: Call[]) {
  const input = new Float32Array(calls.length * (CONTEXT + WINDOW));
  const memory = new Float32Array(calls.length * MEMORY);
  for (const [i, call] of calls.entries()) {
    fillInput(input.subarray(i * (CONTEXT + WINDOW), (i + 1) * (CONTEXT + WINDOW)), call);
    for (let layer = 0; layer < 2; layer++)
      memory.set(
        call.state.memory.subarray(layer * LAYER, (layer + 1) * LAYER),
        (layer * calls.length + i) * LAYER,
      );
  }
  const result = await session.run({
    input: new ort.Tensor('float32', input, [calls.length, CONTEXT + WINDOW]),
    state: new ort.Tensor('float32', memory, [2, calls.length, LAYER]),
    sr: sampleRate,
  });
  const probabilities = floats(result.output);
  const next = floats(result.stateN);
  for (const [i, call] of calls.entries()) {
    call.probabilities[call.done] = probabilities[i] ?? 0;
    call.done += 1;
    call.state.context = input.slice((i + 1) * (CONTEXT + WINDOW) - CONTEXT, (i + 1) * (CONTEXT + WINDOW));
    for (let layer = 0; layer < 2; layer++) {
      const at = (layer * calls.length + i) * LAYER;
      call.state.memory.set(next.subarray(at, at + LAYER), layer * LAYER);
    }
  }
}

function fillInput(row: Float32Array, { state, samples, done }: Call) {
  row.set(state.context);
  for (let i = 0; i < WINDOW; i++) row[CONTEXT + i] = (samples[done * WINDOW + i] ?? 0) / 32768;
}

function floats(tensor: ort.Tensor | undefined): Float32Array {
  if (!(tensor?.data instanceof Float32Array)) throw new Error('The model does not answer as Silero v5 does');
  return tensor.data;
}

function isDone(call: Call): boolean {
  return call.done === call.probabilities.length;
}

function answer({ call, probabilities, state }: Call) {
  const message: Answer = { call, probabilities, state };
  parentPort?.postMessage(message, [probabilities.buffer, state.memory.buffer, state.context.buffer]);
}
