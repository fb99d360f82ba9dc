/**
 * The recogniser's process: reads messages and runs the engine. Only the channel to its parent keeps it alive, so it
 * ends with the parent.
 */
import type { FromChild, Hints, Piece, ToChild } from './messages.ts';

/** A loaded engine. Its calls may block, which is why it has its own process. */
export interface Recogniser {
  /** Begins an utterance, or returns null while all its decoders are in use. */
  begin(startSample: number, emit: (piece: Piece) => void, hints: Hints): Decoding | null;
}

export interface Decoding {
  feed(samples: Int16Array): void;
  /** Emits the remaining pieces. */
  finish(): void | Promise<void>;
  /** Releases the decoder. Called once: after `finish`, even before that has ended, or instead of it. */
  release(): void;
}

/** One utterance: its audio so far, and its decoder. */
interface Call {
  startSample: number;
  hints: Hints;
  /** Audio that waits for a free decoder. The sender bounds it by stopping when too much is unacknowledged. */
  waiting: Int16Array[];
  ended: boolean;
  decoding: Decoding | null;
}

/**
 * Serves the parent process until it goes away.
 * @param load loads the engine; a throw refuses the service, with its message
 */
export function serve(load: (options: unknown) => Recogniser | Promise<Recogniser>): void {
  const calls = new Map<number, Call>();
  let recogniser: Recogniser | null = null;

  // Ctrl-C and a stopping service manager signal the whole group; the parent decides when this process may go.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('message', (message: ToChild) => receive(message));

  function receive(message: ToChild): void {
    if (message.type === 'load') start(message.options);
    else if (message.type === 'ping') send({ type: 'pong' });
    else if (message.type === 'begin') begin(message);
    else advance(message);
  }

  function begin({ call: id, startSample, hints }: Extract<ToChild, { type: 'begin' }>): void {
    const call = { startSample, hints, waiting: [], ended: false, decoding: null };
    calls.set(id, call);
    work(id, call);
  }

  function advance(message: Exclude<ToChild, { type: 'load' | 'ping' | 'begin' }>): void {
    const call = calls.get(message.call);
    // It has failed already, while this message was on its way.
    if (call === undefined) return;
    if (message.type === 'audio') call.waiting.push(message.samples);
    if (message.type === 'end') call.ended = true;
    if (message.type === 'cancel') finish(message.call, call);
    else work(message.call, call);
  }

  async function start(options: unknown): Promise<void> {
    try {
      recogniser = await load(options);
      send({ type: 'ready' });
    } catch (error) {
      send({ type: 'refused', message: messageOf(error) });
    }
  }

  async function work(id: number, call: Call): Promise<void> {
    try {
      call.decoding ??= begun(id, call);
      if (call.decoding === null) return;
      for (const samples of call.waiting.splice(0)) {
        call.decoding.feed(samples);
        send({ type: 'consumed', call: id, samples: samples.length });
      }
      if (!call.ended) return;
      await call.decoding.finish();
      if (calls.has(id)) send({ type: 'done', call: id });
    } catch (error) {
      if (calls.has(id)) send({ type: 'failed', call: id, message: messageOf(error) });
    }
    finish(id, call);
  }

  function begun(id: number, { startSample, hints }: Call): Decoding | null {
    return recogniser?.begin(startSample, piece => emit(id, piece), hints) ?? null;
  }

  function emit(call: number, piece: Piece): void {
    if (piece.text !== '' || piece.vector) send({ type: 'piece', call, piece });
  }

  /** Releases the decoder for the utterance that has waited longest. */
  function finish(id: number, call: Call): void {
    if (!calls.delete(id) || call.decoding === null) return;
    call.decoding.release();
    for (const [nextId, next] of calls) {
      if (next.decoding !== null) continue;
      work(nextId, next);
      return;
    }
  }
}

function send(message: FromChild): void {
  if (process.connected) process.send?.(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
