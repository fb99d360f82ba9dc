import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { StreamState } from './network.ts';
import type { Tensors } from './onnx.ts';
import type { Answer, Question } from './worker.ts';

/** The network in a thread of its own. */
export interface Engine {
  /** Judges whole windows. Takes `state` away and gives the next one back. Rejects when the thread is lost or overloaded. */
  judge(
    samples: Int16Array,
    state: StreamState,
  ): Promise<{ probabilities: Float32Array; state: StreamState }>;
  /** Ends the thread; what waits is rejected. */
  stop(): Promise<void>;
}

interface EngineOptions {
  tensors: Tensors;
  /** Samples that may wait for an answer; past it a question is refused. */
  maxWaitingSamples: number;
  /** The thread ended by itself. */
  onDeath: (error: Error) => void;
}

const ENTRY = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url);

export function createEngine({ tensors, maxWaitingSamples, onDeath }: EngineOptions): Engine {
  const worker = new Worker(ENTRY, { workerData: tensors });
  const waiting = new Map<
    number,
    { samples: number; resolve(answer: Answer): void; reject(error: Error): void }
  >();
  let waitingSamples = 0;
  let questions = 0;
  let lost: Error | null = null;

  worker.unref();
  worker.on('message', (answer: Answer) => settle(answer.id)?.resolve(answer));
  worker.on('error', cause =>
    die(new Error(`The speech detector's thread failed: ${messageOf(cause)}`, { cause })),
  );
  worker.on('exit', code => die(new Error(`The speech detector's thread ended with code ${code}`)));

  function die(error: Error) {
    if (lost) return;
    lose(error);
    onDeath(error);
  }

  function lose(error: Error) {
    lost = error;
    for (const id of [...waiting.keys()]) settle(id)?.reject(error);
  }

  function settle(id: number) {
    const question = waiting.get(id);
    if (!question) return undefined;
    waiting.delete(id);
    waitingSamples -= question.samples;
    if (waiting.size === 0) worker.unref();
    return question;
  }

  return {
    async judge(samples, state) {
      if (lost) throw lost;
      if (waitingSamples + samples.length > maxWaitingSamples)
        throw new Error('The speech detector has more streams than it can keep up with');
      const question: Question = { id: questions++, samples: samples.slice(), state };
      worker.postMessage(question, [
        question.samples.buffer,
        ...Object.values(state).map(part => part.buffer),
      ]);
      worker.ref(); // what waits for an answer holds the process; an idle thread does not
      waitingSamples += samples.length;
      return new Promise((resolve, reject) =>
        waiting.set(question.id, { samples: samples.length, resolve, reject }),
      );
    },
    async stop() {
      if (!lost) lose(new Error('The speech detector was stopped'));
      await worker.terminate();
    },
  };
}

/** Errors of another thread are not instances of this one's classes. */
function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}
