import { PassThrough } from 'node:stream';
import type { Following } from '../domain/ask/ask.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import { toFailure } from './failure.ts';
import { EventStream } from './route.ts';

/** Interval of keep-alive frames: proxies close a connection that is silent for a minute. */
const HEARTBEAT_MS = 15_000;

/** How a kind of stream formats its events, each as a complete frame. */
export interface Frames<Done> {
  piece(text: string): string;
  done(result: Done): string;
  failed(error: AppError, detail: unknown): string;
}

/**
 * Streams an answer as server-sent events while it is made. Rejects like `work` does before the stream begins; a
 * later failure is the last frame. The work is aborted when the client disconnects.
 */
export async function answerStream<Done>(
  { piece, done, failed }: Frames<Done>,
  work: (following: Following) => Promise<Done>,
): Promise<EventStream> {
  const stream = new PassThrough();
  const leaving = new AbortController();
  const begun = Promise.withResolvers<void>();
  stream.on('error', () => {}); // the client has disconnected
  const write = (text: string) => {
    if (stream.writable) stream.write(text);
  };
  const timer = setInterval(() => write(': heartbeat\n\n'), HEARTBEAT_MS);
  stream.once('close', () => {
    clearInterval(timer);
    leaving.abort(new AppError('gone', 'The client is gone'));
  });
  const working = work({
    begin: begun.resolve,
    say: text => write(piece(text)),
    signal: leaving.signal,
  }).then(result => write(done(result)));
  try {
    await Promise.race([begun.promise, working]);
  } catch (error) {
    stream.destroy();
    throw error;
  }
  void working
    .catch(error => {
      if (!leaving.signal.aborted) write(failed(toAppError(error), toFailure(error).body.detail));
    })
    .finally(() => stream.end());
  return new EventStream(stream);
}
