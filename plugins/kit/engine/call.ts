/** Core's side of one utterance: sends its audio as fast as the engine takes it, and hands out the pieces. */
import type { Utterance } from '../../../core/contract/plugin.ts';
import type { FromChild, Hints, Piece, ToChild } from './messages.ts';

/**
 * Maximum audio that is sent and not yet consumed: enough to keep the engine busy, and little enough to cancel
 * quickly.
 */
const MAX_UNCONSUMED_SAMPLES = 16_000;
/** Longer chunks are divided, so that the engine can answer other messages in between. */
const MAX_CHUNK_SAMPLES = 3200;

export interface Call {
  /** Yields final pieces as they arrive; throws the reason for an early end. */
  pieces: AsyncIterable<Piece>;
  receive(message: FromChild): void;
  fail(error: unknown): void;
  /** Stops sending; tells the engine unless it has finished. */
  close(): void;
}

/** @param failed makes an error from the engine's message */
export function openCall(
  { id, utterance, hints }: { id: number; utterance: Utterance; hints: Hints },
  send: (message: ToChild) => void,
  failed: (message: string) => Error,
): Call {
  const inbox = createInbox<Piece>();
  const stopped = Promise.withResolvers<void>();
  let open = true;
  let done = false;
  let unconsumed = 0;
  let roomy = Promise.withResolvers<void>();

  send({ type: 'begin', call: id, startSample: utterance.startSample, hints });
  pump().catch(error => inbox.fail(error));
  return { pieces: inbox.items, receive, fail, close };

  function receive(message: FromChild): void {
    if (message.type === 'piece') inbox.push(message.piece);
    if (message.type === 'consumed') consumed(message.samples);
    if (message.type !== 'done' && message.type !== 'failed') return;
    done = true;
    if (message.type === 'done') inbox.end();
    else inbox.fail(failed(message.message));
  }

  function consumed(samples: number): void {
    unconsumed -= samples;
    if (unconsumed > MAX_UNCONSUMED_SAMPLES) return;
    roomy.resolve();
    roomy = Promise.withResolvers();
  }

  function fail(error: unknown): void {
    inbox.fail(error);
  }

  function close(): void {
    open = false;
    stopped.resolve();
    if (!done) send({ type: 'cancel', call: id });
  }

  async function pump(): Promise<void> {
    const chunks = utterance.pcm()[Symbol.asyncIterator]();
    while (open) {
      // The next chunk may take long to arrive: closing the call does not wait for it.
      const next = await Promise.race([chunks.next(), stopped.promise]);
      if (next === undefined) break;
      if (next.done) return send({ type: 'end', call: id });
      await sendChunk(next.value);
    }
    chunks.return?.().catch(() => undefined);
  }

  async function sendChunk(chunk: Int16Array): Promise<void> {
    for (let start = 0; start < chunk.length && open; start += MAX_CHUNK_SAMPLES) {
      const samples = chunk.subarray(start, start + MAX_CHUNK_SAMPLES);
      unconsumed += samples.length;
      send({ type: 'audio', call: id, samples });
      while (open && unconsumed > MAX_UNCONSUMED_SAMPLES) {
        await Promise.race([roomy.promise, stopped.promise]);
      }
    }
  }
}

/** A queue with one consumer. Its failure is thrown once everything before it was consumed. */
function createInbox<T>() {
  const waiting: T[] = [];
  let ended = false;
  let failure: { error: unknown } | null = null;
  let changed = Promise.withResolvers<void>();

  return {
    items: read(),
    push: (item: T) => change(() => waiting.push(item)),
    end: () => change(() => (ended = true)),
    fail: (error: unknown) => change(() => (failure ??= { error })),
  };

  function change(how: () => unknown): void {
    how();
    changed.resolve();
    changed = Promise.withResolvers();
  }

  async function* read(): AsyncGenerator<T> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (failure !== null) throw failure.error;
      else if (ended) return;
      else await changed.promise;
    }
  }
}
