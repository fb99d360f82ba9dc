import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../contract/model.ts';
import { deadline } from '../../runtime/deadline.ts';
import { AppError, type ErrorCode } from '../../runtime/errors.ts';
import { lowerPriority } from '../../runtime/priority.ts';

export interface PictureRequest {
  /** Paths of the original, and of the upright and small copies. */
  from: string;
  to: string;
  small: string;
}

export interface Prepared {
  /** Pixels, upright. */
  width: number;
  height: number;
  /** Bytes of both files. */
  bytes: number;
  dark: boolean;
  blurred: boolean;
}
export type PictureAnswer = { prepared: Prepared } | { failure: { code: ErrorCode; message: string } };

const ENTRY = fileURLToPath(new URL(`./pictures-main${extname(import.meta.filename)}`, import.meta.url));
const MEMORY_MB = 256;
const LIMIT_MS = 30_000;
/** The process ends after this time without a picture. */
const IDLE_MS = 60_000;

/** Reads pictures in a separate process, one after the other. */
export function createPictures({ clock }: { clock: Pick<Clock, 'sleep'> }) {
  let child: ChildProcess | null = null;
  let line: Promise<unknown> = Promise.resolve();
  let number = 0;
  let resting = new AbortController();

  /** Rejects with `invalid_input` where the picture cannot be read, `unsupported_media` where none can be. */
  function prepare(request: PictureRequest): Promise<Prepared> {
    const asked = line.then(() => ask(request));
    line = asked.catch(() => {});
    return asked;
  }

  async function ask(request: PictureRequest): Promise<Prepared> {
    resting.abort();
    const running = child ?? start();
    number += 1;
    const id = number;
    const answered = Promise.withResolvers<PictureAnswer>();
    const onMessage = (answer: PictureAnswer & { id: number }) =>
      answer.id === id && answered.resolve(answer);
    const onExit = () => answered.reject(new AppError('invalid_input', 'The picture crashes the decoder'));
    running.on('message', onMessage).once('exit', onExit);
    running.send({ id, ...request });
    const late = () => new AppError('invalid_input', 'The picture takes too long to read');
    try {
      const answer = await deadline({ clock, limitMs: LIMIT_MS, late }, () => answered.promise).catch(
        error => {
          end(running);
          throw error;
        },
      );
      if ('prepared' in answer) return answer.prepared;
      throw new AppError(answer.failure.code, answer.failure.message);
    } finally {
      running.off('message', onMessage).off('exit', onExit);
      rest();
    }
  }

  function start(): ChildProcess {
    const started = fork(ENTRY, [], {
      execArgv: [`--max-old-space-size=${MEMORY_MB}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child = started;
    started.once('exit', () => {
      if (child === started) child = null;
    });
    started.on('error', () => end(started));
    lowerPriority(started.pid);
    return started;
  }

  function rest(): void {
    resting = new AbortController();
    clock.sleep(IDLE_MS, resting.signal).then(
      () => child && end(child),
      () => {}, // another picture arrived
    );
  }

  function end(running: ChildProcess): void {
    running.kill('SIGKILL');
    if (child === running) child = null;
  }

  return {
    prepare,
    async stop(): Promise<void> {
      resting.abort();
      await line;
      resting.abort();
      if (child) end(child);
    },
  };
}
