import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Answer, Ask, StreamState } from './model.ts';

/** The model in its thread, started when it is first asked and again after it was stopped. */
export interface Engine {
  /** Judges whole windows; rejects when the thread is lost or too much is waiting. */
  judge(samples: Int16Array, state: StreamState): Promise<Omit<Answer, 'call'>>;
  /** Ends the thread; the next question starts it again. Waiting ones reject. */
  stop(): Promise<void>;
  readonly busy: boolean;
}

interface EngineOptions {
  model: Uint8Array;
  /** Samples that may wait for an answer; past it a question is refused. */
  maxWaitingSamples: number;
  /** The thread died by itself. */
  onDeath: (error: Error) => void;
}

const ENTRY = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url);

export function createEngine({ model, maxWaitingSamples, onDeath }: EngineOptions): Engine {
  const waiting = new Map<
    number,
    { samples: number; resolve(answer: Answer): void; reject(error: Error): void }
  >();
  let worker: Worker | null = null;
  let calls = 0;
  let waitingSamples = 0;

  function settle(call: number) {
    const question = waiting.get(call);
    if (!question) return undefined;
    waiting.delete(call);
    waitingSamples -= question.samples;
    if (waiting.size === 0) worker?.unref();
    return question;
  }

  function rejectAll(error: Error) {
    for (const call of [...waiting.keys()]) settle(call)?.reject(error);
  }

  function start(): Worker {
    const thread = new Worker(ENTRY, { workerData: model });
    const died = (error: Error) => {
      if (worker !== thread) return;
      worker = null;
      rejectAll(error);
      onDeath(error);
    };
    thread.on('message', (answer: Answer) => settle(answer.call)?.resolve(answer));
    thread.on('error', died);
    thread.on('exit', code => died(new Error(`The speech detector's thread ended with code ${code}`)));
    return thread;
  }

  return {
    judge(samples, state) {
      if (waitingSamples + samples.length > maxWaitingSamples)
        return Promise.reject(
          new Error('The speech detector has more to do than it can; there are too many streams'),
        );
      worker ??= start();
      const call = calls++;
      const ask: Ask = { call, samples: samples.slice(), state };
      worker.postMessage(ask, [ask.samples.buffer, state.memory.buffer, state.context.buffer]);
      worker.ref(); // a question that waits holds the process, an idle thread does not
      waitingSamples += samples.length;
      return new Promise((resolve, reject) =>
        waiting.set(call, { samples: samples.length, resolve, reject }),
      );
    },
    async stop() {
      const thread = worker;
      worker = null;
      rejectAll(new Error('The speech detector was stopped'));
      await thread?.terminate();
    },
    get busy() {
      return waiting.size > 0;
    },
  };
}
