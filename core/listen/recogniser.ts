import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../model.ts';
import type { SttSession, Transcript, Utterance } from '../plugin.ts';
import { cutBy } from './cut.ts';
import { chooseProviders, type NamedProvider } from './providers.ts';

/** An utterance of which we are told when it has ended. */
type EndingUtterance = Utterance & { ended: Promise<void> };

/** One stream's way to text: a session with the first provider that answers, opened again when it is lost. */
export interface Recogniser {
  /** Resolves with the provider's name once one has really answered. */
  open(): Promise<string>;
  /** Final pieces only, each with the provider it came from. A lost engine is opened again and goes on where the last piece ended. */
  transcribe(utterance: EndingUtterance): AsyncGenerator<{ piece: Transcript; provider: string }>;
  close(): Promise<void>;
  /** The one that was asked last, or null. */
  readonly provider: string | null;
}

export interface RecogniserEvents {
  onLost(error: AppError): void;
  onBack(provider: string): void;
}

interface RecogniserOptions extends RecogniserEvents {
  /** In order of preference; asked anew for every opening, as a plugin may have been started again. */
  providers: () => NamedProvider[];
  language: string;
  /** The provider that the client would like. */
  wish: string | null;
  signal: AbortSignal;
  clock: Clock;
  log: Log;
}

/** Openings of an engine before it counts as gone, and the pauses between them, in ms. */
const RETRY_PAUSES_MS = [100, 500, 2000, 5000, 10_000];
const OPEN_MS = 20_000;
const CLOSE_MS = 2000;
/** An utterance that has ended must yield its next piece, or its end, within this. */
const STALL_MS = 30_000;

export function createRecogniser(options: RecogniserOptions): Recogniser {
  const { clock, log, signal } = options;
  let current: { name: string; session: SttSession; unwatch(): void } | null = null;
  let provider: string | null = null;

  async function open() {
    let failure: AppError | undefined;
    for (const { name, stt } of chooseProviders(options.providers(), options)) {
      signal.throwIfAborted();
      provider = name;
      try {
        const session = await answered(stt.open({ language: options.language, signal }), name, signal);
        current = { name, session, unwatch: watch(session) };
        return current;
      } catch (thrown) {
        signal.throwIfAborted();
        failure = engineError(thrown);
        log.warn({ provider: name, err: failure }, 'recogniser did not open');
      }
    }
    throw failure;
  }

  /** A loss between utterances is noticed here, and mended by the next utterance. */
  function watch(session: SttSession) {
    return untilReleased(session.failed, error => {
      log.warn({ err: error }, 'recogniser lost between utterances');
      void drop();
    });
  }

  /** Never rejects: nothing is left to say about what is lost already. One that does not close is left behind. */
  async function drop() {
    const lost = current;
    current = null;
    if (!lost) return;
    lost.unwatch();
    const closed = new AbortController();
    const closing = lost.session.close().catch(() => {});
    await Promise.race([closing, clock.sleep(CLOSE_MS, closed.signal).catch(() => {})]);
    closed.abort();
  }

  async function* transcribe(utterance: EndingUtterance) {
    let from = utterance.startSample;
    let failures = 0;
    for (;;) {
      try {
        const { name, session } = current ?? (await open());
        if (failures > 0) options.onBack(name);
        for await (const piece of finals(session, viewFrom(utterance, from), signal)) {
          failures = 0;
          from = piece.endSample;
          yield { piece, provider: name };
        }
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = engineError(thrown);
        await drop();
        const pause = RETRY_PAUSES_MS[failures];
        if (pause === undefined) throw error;
        if (failures === 0) options.onLost(error);
        failures += 1;
        log.warn({ err: error, attempt: failures }, 'recogniser failed; opening it again');
        await clock.sleep(pause, signal);
      }
    }
  }

  return {
    open: async () => (await open()).name,
    transcribe,
    close: drop,
    get provider() {
      return provider;
    },
  };
}

/** One promise may serve every session of an engine: whoever is released leaves nothing of a connection on it. */
function untilReleased(failed: Promise<never>, onFailed: (error: unknown) => void): () => void {
  let listener: typeof onFailed | null = onFailed;
  failed.catch(error => listener?.(error));
  return () => {
    listener = null;
  };
}

/** What is not said in our words is for the log: the client sees this. */
function engineError(thrown: unknown): AppError {
  if (thrown instanceof AppError && thrown.expose) return thrown;
  return new AppError('upstream_error', 'The speech recogniser failed', { cause: thrown });
}

/** An engine that neither opens nor fails has failed; nobody waits for it once `signal` is aborted. */
async function answered(
  opening: Promise<SttSession>,
  name: string,
  signal: AbortSignal,
): Promise<SttSession> {
  const cut = cutBy(signal);
  const timer = setTimeout(
    () => cut.abort(new AppError('timeout', `Recogniser ${name} did not answer within ${OPEN_MS} ms`)),
    OPEN_MS,
  );
  try {
    return await Promise.race([opening, cut.happened]);
  } catch (error) {
    void opening.then(session => session.close()).catch(() => {}); // one that comes too late is not left open
    throw error;
  } finally {
    clearTimeout(timer);
    cut.release();
  }
}

/** The final pieces of one utterance; throws `timeout` when an ended utterance brings nothing more for too long. */
async function* finals(session: SttSession, utterance: EndingUtterance, signal: AbortSignal) {
  signal.throwIfAborted();
  const cut = cutBy(signal);
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const arm = () => {
    clearTimeout(timer);
    if (over) return;
    timer = setTimeout(
      () => cut.abort(new AppError('timeout', 'The recogniser gave no answer in time')),
      STALL_MS,
    );
  };
  void utterance.ended.then(arm);
  const pieces = session.transcribe(utterance, cut.signal)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await Promise.race([pieces.next(), cut.happened]);
      if (step.done) return;
      if (timer) arm();
      if (step.value.final && step.value.text.trim()) yield step.value;
    }
  } finally {
    over = true;
    clearTimeout(timer);
    cut.release();
    // Not awaited: an engine that hangs would hang us too.
    void pieces.return?.().catch(() => {});
  }
}

/** The rest of an utterance from a sample on, as an utterance of its own. */
function viewFrom(utterance: EndingUtterance, from: number): EndingUtterance {
  return {
    ended: utterance.ended,
    startSample: from,
    channel: utterance.channel,
    pcm: (start = from) => utterance.pcm(start),
    wav: (start = from) => utterance.wav(start),
  };
}
