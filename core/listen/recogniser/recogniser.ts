import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Clock } from '../../contract/model.ts';
import type { SttSession, Transcript, Utterance } from '../../contract/plugin.ts';
import { MULTI } from '../../domain/languages.ts';
import { abortableWait, linkedAbort, waitAtMost } from '../../runtime/deadline.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { createTurn } from '../scheduler.ts';
import { type EndingUtterance, pieceCheck } from './pieces.ts';
import { polish, type Writing } from './polish.ts';
import { chooseProviders, type NamedProvider } from './providers.ts';

/** Recognition of one stream: a session with the first provider that answers, reopened when it is lost. */
export interface Recogniser {
  /** Resolves with the provider's name once one has really answered. */
  open(): Promise<string>;
  /**
   * Yields final pieces, each with its provider. When an engine is lost, the next one that opens continues where the
   * last piece ended.
   */
  transcribe(utterance: EndingUtterance): AsyncGenerator<{ piece: Transcript; provider: string }>;
  close(): Promise<void>;
  /** Provider that was asked last, or null. */
  readonly provider: string | null;
  /** Whether that provider opened. If it failed afterwards, it was at least reachable. */
  readonly opened: boolean;
}

export interface RecogniserEvents {
  onLost(error: AppError): void;
  onBack(provider: string): void;
  /** A provider that was lost between utterances does not come back, and there is no other. */
  onGone(error: AppError): void;
}

interface Opened {
  name: string;
  /** Adds capitals and full stops where the recogniser writes none. */
  write(piece: Transcript): Transcript;
  session: SttSession;
  unwatch(): void;
}

interface RecogniserOptions extends RecogniserEvents {
  /** In order of preference. Looked up for every opening, as a plugin may have been restarted. */
  providers: () => NamedProvider[];
  language: string;
  /** Names and words to expect, looked up at each opening. Absent: none. */
  vocabulary?: () => Promise<readonly string[]>;
  /** Provider requested by the client. */
  wish: string | null;
  /** Pauses between tries of one utterance, in ms; absent: long ones, for live streams. */
  retryPausesMs?: readonly number[];
  signal: AbortSignal;
  clock: Clock;
  log: Log;
}

/** Pauses between tries of one utterance, in ms; when the try after the last pause fails, the recogniser gives up. */
const RETRY_PAUSES_MS = [100, 500, 2000, 5000, 10_000];
const MAX_PAUSE_MS = 10_000;
const OPEN_MS = 20_000;
const CLOSE_MS = 2000;
/** Time limit for the next final piece of an ended utterance, or its end: this, plus a multiple of its length. */
const STALL_MS = 30_000;
const STALL_LENGTHS = 3;
/** A provider that failed is asked after the others for so long. */
const REST_MS = 300_000;

export function createRecogniser(options: RecogniserOptions): Recogniser {
  const { language, clock, log, retryPausesMs = RETRY_PAUSES_MS } = options;
  const ending = linkedAbort(options.signal);
  const { signal } = ending;
  let current: Opened | null = null;
  /** Pending replacement of a provider that was lost between utterances. */
  let mending: Promise<Opened> | null = null;
  let isBusy = false;
  /** Losses in quick succession while nobody spoke: a provider that dies at once is not reopened all the time. */
  let losses = 0;
  let openedAt = 0;
  let provider: string | null = null;
  let opened = false;
  /** Whether the client was told of a loss, and not yet of a recovery. */
  let toldLost = false;
  /** Until when a provider is asked after the others. */
  const rests = new Map<string, number>();

  async function open(): Promise<Opened> {
    let failure: AppError | undefined;
    const vocabulary = options.vocabulary ? await expected(options.vocabulary) : [];
    for (const named of inOrder()) {
      const { name } = named;
      signal.throwIfAborted();
      provider = name;
      opened = false;
      try {
        const session = await openSession(named, { language, vocabulary, clock, signal });
        const write = writing(named, { language, vocabulary });
        current = { name, session, write, unwatch: watch(name, session) };
        opened = true;
        openedAt = clock.now();
        return current;
      } catch (thrown) {
        signal.throwIfAborted();
        failure = engineError(thrown);
        rest(name);
        log.warn({ provider: name, err: failure }, 'recogniser did not open');
      }
    }
    throw failure;
  }

  /** Recognition continues without a vocabulary where it cannot be read. */
  async function expected(read: () => Promise<readonly string[]>): Promise<readonly string[]> {
    try {
      return await read();
    } catch (error) {
      log.warn({ err: error }, 'the vocabulary cannot be read');
      return [];
    }
  }

  function inOrder(): NamedProvider[] {
    const rested = ({ name }: NamedProvider) => Number((rests.get(name) ?? 0) > clock.now());
    return chooseProviders(options.providers(), options).sort((a, b) => rested(a) - rested(b));
  }

  function rest(name: string) {
    rests.set(name, clock.now() + REST_MS);
  }

  /** Replaces a provider that is lost while nobody speaks. A loss during an utterance is noticed by `transcribe`. */
  function watch(name: string, session: SttSession) {
    return untilReleased(session.failed, thrown => {
      void drop();
      if (isBusy || signal.aborted) return;
      rest(name);
      losses = clock.now() - openedAt < REST_MS ? losses + 1 : 1;
      mending = mend(engineError(thrown));
      mending
        .catch(error => signal.aborted || options.onGone(engineError(error)))
        .finally(() => {
          mending = null;
        });
    });
  }

  async function mend(lost: AppError): Promise<Opened> {
    let error = lost;
    tellLost(error);
    for (const attempt of RETRY_PAUSES_MS.keys()) {
      const pause = RETRY_PAUSES_MS[losses - 1 + attempt] ?? MAX_PAUSE_MS;
      log.warn({ provider, err: error, pause }, 'recogniser lost between utterances');
      await clock.sleep(pause, signal);
      try {
        return tellBack(await open());
      } catch (thrown) {
        signal.throwIfAborted();
        error = engineError(thrown);
      }
    }
    throw error;
  }

  function tellLost(error: AppError) {
    if (!toldLost) options.onLost(error);
    toldLost = true;
  }

  function tellBack(engine: Opened) {
    if (toldLost) options.onBack(engine.name);
    toldLost = false;
    return engine;
  }

  /** Closes the session. Never rejects: its loss has been reported already. */
  async function drop() {
    const lost = current;
    current = null;
    if (!lost) return;
    lost.unwatch();
    await closeInTime(lost.session, clock);
  }

  /** Opens a provider; one that has rested is preferred again. */
  async function ready() {
    if (current && rests.size > 0 && current.name !== inOrder()[0]?.name) await drop();
    return tellBack(current ?? (await (mending ?? open())));
  }

  async function* transcribe(utterance: EndingUtterance) {
    let from = utterance.startSample;
    let failures = 0;
    for (;;) {
      try {
        const { name, session, write } = await ready();
        isBusy = true;
        for await (const piece of finals(session, viewFrom(utterance, from), clock, signal)) {
          from = piece.endSample;
          yield { piece: write(piece), provider: name };
        }
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = engineError(thrown);
        if (current) rest(current.name);
        await drop();
        if (!utterance.isOpen && from >= utterance.endSample) return; // nothing is left of it
        const pause = retryPausesMs[failures];
        failures += 1;
        log.warn({ provider, err: error, attempt: failures }, 'recogniser failed');
        if (pause === undefined) throw error;
        tellLost(error);
        await clock.sleep(pause, signal);
      } finally {
        isBusy = false;
      }
    }
  }

  return {
    open: async () => (await open()).name,
    transcribe,
    async close() {
      ending.abort(new AppError('unavailable', 'The connection has ended'));
      ending.release();
      await drop();
    },
    get provider() {
      return provider;
    },
    get opened() {
      return opened;
    },
  };
}

/** Returns the function that adds capitals and full stops, for recognisers that write neither. */
export function writing({ stt }: NamedProvider, { language, vocabulary }: Writing) {
  if (!stt.plain) return (piece: Transcript) => piece;
  return (piece: Transcript) => {
    const spoken = language === MULTI ? (piece.language ?? language) : language;
    return { ...piece, text: polish(piece.text.trim(), { language: spoken, vocabulary }) };
  };
}

interface Asking {
  language: string;
  vocabulary: readonly string[];
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Opens a session. An engine that neither opens nor fails in time has failed; once `signal` is aborted it is not waited
 * for.
 */
export async function openSession(provider: NamedProvider, asking: Asking): Promise<SttSession> {
  const { name, stt, onOpening } = provider;
  const { language, vocabulary, clock, signal } = asking;
  const opening = stt.open({ language, vocabulary, signal });
  const deadline = deadlineOf(clock, signal);
  deadline.set(OPEN_MS, `Recogniser ${name} did not answer within ${OPEN_MS} ms`);
  try {
    const session = await Promise.race([opening, deadline.happened]);
    onOpening?.(null);
    return session;
  } catch (error) {
    if (!signal.aborted) onOpening?.(engineError(error));
    void opening.then(session => session.close()).catch(() => {}); // closes a session that opens too late
    throw error;
  } finally {
    deadline.release();
  }
}

/** Transcribes an ended utterance with a single session, which is closed afterwards. */
export async function transcribeOnce(
  session: SttSession,
  utterance: EndingUtterance,
  { clock, signal }: Pick<Asking, 'clock' | 'signal'>,
): Promise<Transcript[]> {
  const pieces: Transcript[] = [];
  try {
    for await (const piece of finals(session, utterance, clock, signal)) pieces.push(piece);
    return pieces;
  } finally {
    await closeInTime(session, clock);
  }
}

/** Never rejects: a session that does not close in time is abandoned. */
async function closeInTime(session: SttSession, clock: Clock): Promise<void> {
  await waitAtMost({ clock, limitMs: CLOSE_MS }, (async () => session.close())());
}

/**
 * Watches a promise that may be shared by all sessions of an engine. A released watcher leaves no reference to its
 * connection on it.
 */
function untilReleased(failed: Promise<never>, onFailed: (error: unknown) => void): () => void {
  let listener: typeof onFailed | null = onFailed;
  failed.catch(error => listener?.(error));
  return () => {
    listener = null;
  };
}

/** Converts an engine's error. The client sees the result, so foreign messages only go to the log. */
function engineError(thrown: unknown): AppError {
  if (thrown instanceof AppError && thrown.expose) return thrown;
  return new AppError('upstream_error', 'The speech recogniser failed', { cause: thrown });
}

/**
 * Creates a deadline that can be extended repeatedly and also ends with `signal`; `happened` rejects with whichever
 * comes first.
 */
function deadlineOf(clock: Clock, signal: AbortSignal) {
  const own = linkedAbort(signal);
  let off = new AbortController();
  return {
    signal: own.signal,
    happened: own.happened,
    set(ms: number, message: string) {
      off.abort();
      off = new AbortController();
      clock.sleep(ms, off.signal).then(
        () => own.abort(new AppError('timeout', message)),
        () => {}, // cancelled
      );
    },
    hold: () => off.abort(),
    release() {
      off.abort();
      own.release();
    },
  };
}

/**
 * Yields the final pieces of one utterance; throws `timeout` when an ended utterance brings nothing more for too long.
 */
async function* finals(
  session: SttSession,
  utterance: EndingUtterance,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Transcript> {
  signal.throwIfAborted();
  const deadline = deadlineOf(clock, signal);
  let isOver = false;
  const arm = () => {
    if (isOver || utterance.isOpen) return;
    const lengthMs = ((utterance.endSample - utterance.startSample) * 1000) / SAMPLE_RATE;
    deadline.set(STALL_MS + STALL_LENGTHS * lengthMs, 'The recogniser gave no answer in time');
  };
  void utterance.ended.then(arm);
  const check = pieceCheck(utterance);
  const pieces = session.transcribe(forPlugin(utterance), deadline.signal)[Symbol.asyncIterator]();
  const inTime = abortableWait(deadline.signal);
  const turn = createTurn(); // an engine that never waits would block other streams
  try {
    for (;;) {
      const step = await inTime(pieces.next());
      deadline.signal.throwIfAborted(); // an engine that ended because of the abort has not answered
      if (step.done) return;
      turn.begin();
      const piece = step.value;
      check(piece);
      await turn.end();
      if (!piece.final) continue;
      deadline.hold(); // time spent by the consumer is not the recogniser's
      if (piece.text.trim()) yield piece;
      arm();
    }
  } finally {
    isOver = true;
    deadline.release();
    // Not awaited: an engine that hangs would hang the server as well.
    (async () => pieces.return?.())().catch(() => {});
  }
}

/** Returns the rest of an utterance from a sample on, as an utterance of its own. */
function viewFrom(utterance: EndingUtterance, from: number): EndingUtterance {
  return {
    ended: utterance.ended,
    get isOpen() {
      return utterance.isOpen;
    },
    get endSample() {
      return utterance.endSample;
    },
    startSample: from,
    channel: utterance.channel,
    pcm: (start = from) => utterance.pcm(start),
    wav: (start = from, leaving) => utterance.wav(start, leaving),
  };
}

/** Hides the end of an utterance while it still grows. */
function forPlugin(utterance: EndingUtterance): Utterance {
  const { startSample, channel, pcm, wav } = utterance;
  return {
    startSample,
    channel,
    pcm,
    wav,
    get endSample() {
      return utterance.isOpen ? undefined : utterance.endSample;
    },
  };
}
