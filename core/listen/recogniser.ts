import { SAMPLE_RATE } from '../audio/pcm.ts';
import type { Clock } from '../contract/model.ts';
import type { SttSession, Transcript, Utterance } from '../contract/plugin.ts';
import { MULTI } from '../domain/languages.ts';
import { waitAtMost } from '../runtime/deadline.ts';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { abortableWait, linkedAbort } from './abort.ts';
import { type EndingUtterance, pieceCheck } from './pieces.ts';
import { polish, type Writing } from './polish.ts';
import { chooseProviders, type NamedProvider } from './providers.ts';
import { createTurn } from './scheduler.ts';

/** One stream's way to text: a session with the first provider that answers, opened again when it is lost. */
export interface Recogniser {
  /** Resolves with the provider's name once one has really answered. */
  open(): Promise<string>;
  /**
   * Final pieces only, each with the provider it came from. Where an engine is lost, the next one that opens, or the
   * same again, goes on where the last piece ended.
   */
  transcribe(utterance: EndingUtterance): AsyncGenerator<{ piece: Transcript; provider: string }>;
  close(): Promise<void>;
  /** The one that was asked last, or null. */
  readonly provider: string | null;
  /** Whether that one opened: where it failed since, it was not away. */
  readonly opened: boolean;
}

export interface RecogniserEvents {
  onLost(error: AppError): void;
  onBack(provider: string): void;
  /** One that was lost between utterances does not come back, and there is no other. */
  onGone(error: AppError): void;
}

interface Opened {
  name: string;
  /** Gives its text what it does not write itself. */
  write(piece: Transcript): Transcript;
  session: SttSession;
  unwatch(): void;
}

interface RecogniserOptions extends RecogniserEvents {
  /** In order of preference; asked anew for every opening, as a plugin may have been started again. */
  providers: () => NamedProvider[];
  language: string;
  /** Names and words to expect, asked for at each opening. Absent: there are none. */
  vocabulary?: () => Promise<readonly string[]>;
  /** The provider that the client would like. */
  wish: string | null;
  /** Pauses between tries at one utterance, in ms; absent: for who can wait. */
  retryPausesMs?: readonly number[];
  signal: AbortSignal;
  clock: Clock;
  log: Log;
}

/** Pauses between tries at one utterance, in ms; no recogniser is left when the one after the last fails. */
const RETRY_PAUSES_MS = [100, 500, 2000, 5000, 10_000];
const MAX_PAUSE_MS = 10_000;
const OPEN_MS = 20_000;
const CLOSE_MS = 2000;
/** An utterance that has ended must yield its next final piece, or its end, within this and so many times its length. */
const STALL_MS = 30_000;
const STALL_LENGTHS = 3;
/** A provider that failed is asked after the others for so long. */
const REST_MS = 300_000;

export function createRecogniser(options: RecogniserOptions): Recogniser {
  const { language, clock, log, retryPausesMs = RETRY_PAUSES_MS } = options;
  const ending = linkedAbort(options.signal);
  const { signal } = ending;
  let current: Opened | null = null;
  /** Until one that was lost between utterances is replaced. */
  let mending: Promise<Opened> | null = null;
  let isBusy = false;
  /** Losses while nobody spoke, each soon after the last: one that dies at once is not opened all the time. */
  let losses = 0;
  let openedAt = 0;
  let provider: string | null = null;
  let opened = false;
  /** The client knows that an engine was lost, and not yet that one is back. */
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

  /** Recognition goes on without it. */
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

  /** A loss while nobody speaks is noticed here, and mended at once; an utterance that it breaks notices it by itself. */
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

  /** Never rejects: nothing is left to say about what is lost already. */
  async function drop() {
    const lost = current;
    current = null;
    if (!lost) return;
    lost.unwatch();
    await closeInTime(lost.session, clock);
  }

  /** One that had to rest is preferred again once it has. */
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
        if (!utterance.isOpen && from >= utterance.endSample) return; // it has said all that there is
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

/** For a recogniser of small letters alone: what puts its text into writing. */
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

/** An engine that neither opens nor fails has failed; nobody waits for it once `signal` is aborted. */
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
    void opening.then(session => session.close()).catch(() => {}); // one that comes too late is not left open
    throw error;
  } finally {
    deadline.release();
  }
}

/** The final pieces of an utterance that has ended, from a session that is asked once, and closed. */
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

/** Never rejects: one that does not close is left behind. */
async function closeInTime(session: SttSession, clock: Clock): Promise<void> {
  await waitAtMost({ clock, limitMs: CLOSE_MS }, (async () => session.close())());
}

/** One promise may serve every session of an engine: whoever is released leaves nothing of a connection on it. */
function untilReleased(failed: Promise<never>, onFailed: (error: unknown) => void): () => void {
  let listener: typeof onFailed | null = onFailed;
  failed.catch(error => listener?.(error));
  return () => {
    listener = null;
  };
}

/** Converts an engine's error. Foreign messages are for the log alone, because the client sees this one. */
function engineError(thrown: unknown): AppError {
  if (thrown instanceof AppError && thrown.expose) return thrown;
  return new AppError('upstream_error', 'The speech recogniser failed', { cause: thrown });
}

/** A time limit that may be set again and again, and an end by `signal`: whatever comes first, `happened` rejects with. */
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
        () => {}, // called off
      );
    },
    hold: () => off.abort(),
    release() {
      off.abort();
      own.release();
    },
  };
}

/** The final pieces of one utterance; throws `timeout` when an ended utterance brings nothing more for too long. */
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
  const turn = createTurn(); // one that never waits for anything would not let anybody else go on
  try {
    for (;;) {
      const step = await inTime(pieces.next());
      deadline.signal.throwIfAborted(); // one that ends because it was told to has not answered
      if (step.done) return;
      turn.begin();
      const piece = step.value;
      check(piece);
      await turn.end();
      if (!piece.final) continue;
      deadline.hold(); // what we do with it is not the recogniser's time
      if (piece.text.trim()) yield piece;
      arm();
    }
  } finally {
    isOver = true;
    deadline.release();
    // Not awaited: an engine that hangs would hang us too.
    (async () => pieces.return?.())().catch(() => {});
  }
}

/** The rest of an utterance from a sample on, as an utterance of its own. */
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

/** The end of an utterance that still grows is nothing that a plugin could use. */
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
