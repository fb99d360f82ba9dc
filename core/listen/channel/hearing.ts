import { createDecoder } from '../../audio/codecs.ts';
import { createGate } from '../../audio/gate.ts';
import { concatSamples, SAMPLE_RATE } from '../../audio/pcm.ts';
import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { StreamProgress } from '../../contract/model.ts';
import type { VadProvider } from '../../contract/plugin.ts';
import { abortableWait } from '../../runtime/deadline.ts';
import type { ListenMetrics } from '../../runtime/metrics.ts';
import type { Connection } from '../connection/parameters.ts';
import { isLate } from '../scheduler.ts';
import { type AudioEntry, LEAD_IN_MESSAGES } from '../spool/spool.ts';
import { meteredDecoder, meteredDetector } from './meters.ts';
import type { Silence } from './silence.ts';
import { createTimeline } from './timeline.ts';

/** Utterance that waits for its text. */
export interface Pending {
  utterance: GrowingUtterance;
  /** Sample up to which its text is stored. */
  committed: number;
  /** When its last speech came and when it ended, on the clock of the metrics. Null while it grows. */
  ended: { spokenAt: number; at: number } | null;
  /** Sample after its last speech, once silence has followed for a while; null: speech may be going on. */
  speechEnd: number | null;
  /** Called when `speechEnd` is set, and when the utterance has ended. Set by its reader. */
  onLull: (() => void) | null;
  /** Resolved when everything before it is done. */
  reached: PromiseWithResolvers<void>;
}

/** Input of one channel, from messages to utterances: decodes, places in time, and applies the gate. */
export interface Hearing {
  /**
   * Takes one message of audio. Messages whose text is stored already are decoded only to settle the decoder. Waits
   * while a slow recogniser lags behind.
   */
  take(message: AudioEntry): Promise<void>;
  /** Takes note of a message of another channel, whose timing applies to this one, too. */
  pass(message: AudioEntry): Promise<void>;
  /** Takes note of a message whose sound was dropped: its time passes. */
  skip(message: AudioEntry): Promise<void>;
  /** Sets the instant of the first sample (epoch ms), unless audio has set it already. */
  begin(at: number): Promise<void>;
  /** Ends the utterance that is still growing. */
  flush(): Promise<void>;
  /** Whether someone is in the middle of speech. */
  readonly inSpeech: boolean;
  /** Resolves when the growing utterance is the first that waits; never where none grows. */
  untilGrowing(): Promise<void>;
  /** Marks an utterance whose whole text is stored. */
  settle(entry: Pending): void;
  /** Progress that may be stored: everything before it is stored or known to be silent. */
  progress(): StreamProgress;
  /** Wall-clock time of a sample of the stream, epoch ms. */
  timeOf(sample: number): number;
  /** Whether the wall-clock time is known, by audio or by `begin`. */
  readonly isAnchored: boolean;
  /** Position at which this connection began. */
  readonly startSample: number;
  readonly waiting: number;
  /** Whether audio came since the last call, or is being judged. */
  hasListened(): boolean;
  readonly counts: { messages: number; badFrames: number };
  close(): void;
}

interface HearingOptions {
  connection: Connection;
  channel: number;
  stored: StreamProgress & { anchorAt: number | null };
  vad: VadProvider;
  now(): number;
  metrics: ListenMetrics;
  maxQueuedBytes: number;
  signal: AbortSignal;
  silence: Silence;
  onUtterance(entry: Pending): void;
  /** Called for each decoded message: its first sample, and when it was spoken (epoch ms), as far as known. */
  onAudio?(message: { number: number; at: number }, start: number, pcm: Int16Array): void;
  /** Whether audio that was recorded at this instant (epoch ms) is to be dropped. Absent: none is. */
  isDropped?(recordedAt: number): boolean;
  /** Called when the wall-clock time of sample 0 becomes known. */
  onAnchor(at: number): Promise<void>;
}

const SAMPLES_PER_MS = SAMPLE_RATE / 1000;
/** Gaps up to this are concealed; a longer one ends the utterance. */
const MAX_CONCEALED_MS = 200;
/** A channel without messages for so long, while others receive some, has paused: its speech does not wait for more. */
const PAUSE_MS = 2000;

export async function createHearing(options: HearingOptions): Promise<Hearing> {
  const { connection, channel, stored, signal, silence, metrics } = options;
  const timeline = createTimeline(stored);
  const startSample = timeline.position;
  const total = metrics.streams(connection.format.codec);
  const detector = meteredDetector(options.vad.open(), total, metrics.now);
  const bareDecoder = await createDecoder(connection.format).catch(error => {
    detector.close();
    throw error;
  });
  const decoder = meteredDecoder(bareDecoder, total, metrics.now);
  const pending: Pending[] = [];
  let newest: Pending | null = null;
  const counts = { messages: 0, badFrames: 0 };
  let isDecodable = false;
  let isLeadIn = true;
  let wasSpeech = false;
  /** Arrival of the last message, from its entry; null: none, or the channel has paused since. */
  let cameAt: number | null = null;
  /** Whether audio came since the last look, or is being judged. */
  let audioCame = false;
  let judging = false;
  let anchorAt = stored.anchorAt;
  let roomFreed = Promise.withResolvers<void>();
  /** Arrival of the message that is being judged, and of the last one with speech up to `heardSample`. */
  let arrivedAt = metrics.now();
  let spokenAt = arrivedAt;
  let heardSample = stored.through;
  /** Keeps a hanging detector from holding up the end of its connection. */
  const unlessEnded = abortableWait(signal);
  signal.addEventListener('abort', () => roomFreed.resolve());

  const gate = createGate({
    detector,
    windowSize: options.vad.windowSize,
    channel,
    startSample: stored.through,
    goesOn: stored.through > 0,
    onUtterance(utterance) {
      const entry: Pending = {
        utterance,
        committed: utterance.startSample,
        ended: null,
        speechEnd: null,
        onLull: null,
        reached: Promise.withResolvers(),
      };
      pending.push(entry);
      newest = entry;
      wasSpeech = true;
      void utterance.ended.then(() => {
        noteSpeech();
        entry.ended = { spokenAt, at: metrics.now() };
        entry.onLull?.();
        if (newest === entry) newest = null;
      });
      silence.note(channel, timeOf(gate.position), true);
      options.onUtterance(entry);
    },
    onLull(speechEnd) {
      if (!newest) return;
      newest.speechEnd = speechEnd;
      if (speechEnd !== null) newest.onLull?.();
    },
  });

  async function take(message: AudioEntry) {
    const { number, at, bytes } = message;
    if (number < stored.received - LEAD_IN_MESSAGES) return;
    const concealed = conceal(message);
    const { pcm: decoded, bad } = await decoder.decode(bytes);
    if (number < stored.received) return;
    const pcm = concealed ? concatSamples([concealed, decoded]) : decoded;
    arrivedAt = metrics.now() - (options.now() - at);
    counts.messages += 1;
    counts.badFrames += bad;
    isDecodable ||= bad === 0;
    audioCame = true;
    cameAt = at;
    total.gapSamples += message.gapMs * SAMPLES_PER_MS;
    const start = place(message, decoded.length) - (concealed?.length ?? 0);
    if (anchorAt === null)
      await begin(connection.recordedAt ?? at - Math.round((start + pcm.length) / SAMPLES_PER_MS));
    if (options.isDropped?.(timeOf(start))) {
      skipTo(timeline.position);
      return noteSilence();
    }
    options.onAudio?.({ number, at: connection.recordedAt === null ? at : timeOf(start) }, start, pcm);
    judging = true;
    if (connection.customStt) skipTo(timeline.position);
    else await listen(start, pcm);
    judging = false;
    if (pending.length > 1) await room(at);
  }

  async function pass(message: AudioEntry) {
    if (message.number < stored.received - LEAD_IN_MESSAGES) return;
    const concealed = conceal(message);
    if (message.number < stored.received) return;
    const end = place(message, 0);
    if (concealed && !connection.customStt) await listen(end - concealed.length, concealed);
    else skipTo(end);
    noteSilence();
    if (cameAt === null || message.at - cameAt < PAUSE_MS) return;
    cameAt = null;
    await flush();
  }

  async function skip(message: AudioEntry) {
    const { number, at } = message;
    if (number < stored.received) return;
    if (isLeadIn) endLeadIn();
    const position = place(message, 0);
    if (anchorAt === null) await begin(connection.recordedAt ?? at - Math.round(position / SAMPLES_PER_MS));
    skipTo(position);
    noteSilence();
  }

  /** Ends the lead-in at a whole sample: a decoder may still hold a part of one. */
  function endLeadIn() {
    isLeadIn = false;
    if (decoder.carries) decoder.reset?.();
  }

  /** Returns audio that conceals a short gap before this message; null: there is no gap, or a long one. */
  function conceal({ number, gapMs }: AudioEntry): Int16Array | null {
    if (isLeadIn && number >= stored.received) endLeadIn();
    return gapMs > 0 && gapMs <= MAX_CONCEALED_MS ? decoder.conceal(gapMs * SAMPLES_PER_MS) : null;
  }

  /** Returns the position of the message's first sample. */
  function place({ number, gapMs }: AudioEntry, samples: number) {
    return timeline.place({ number, gap: gapMs * SAMPLES_PER_MS, samples, split: decoder.carries ?? false });
  }

  async function begin(at: number) {
    if (anchorAt !== null) return;
    anchorAt = at;
    await options.onAnchor(at);
  }

  const timeOf = (sample: number) => (anchorAt ?? options.now()) + sample / SAMPLES_PER_MS;

  /** Passes audio from the gate's position on; an earlier connection has processed what lies below. */
  async function listen(start: number, pcm: Int16Array) {
    noteSilence();
    skipTo(start);
    noteSilence();
    const known = gate.position - start;
    if (known >= pcm.length) return;
    const beganAt = metrics.now();
    const judged = gate.push(pcm.subarray(known));
    if (judged) await unlessEnded(judged);
    total.gateMs += metrics.now() - beganAt;
    noteSpeech();
    noteSilence();
  }

  function noteSpeech() {
    if (gate.lastSpeech === heardSample) return;
    heardSample = gate.lastSpeech;
    spokenAt = arrivedAt;
  }

  function noteSilence() {
    if (anchorAt !== null) silence.note(channel, timeOf(gate.position), gate.speaking);
  }

  function skipTo(sample: number) {
    if (sample > gate.position) gate.gap(sample - gate.position);
  }

  async function flush() {
    await gate.flush();
    noteSilence();
  }

  /**
   * Resolves when another utterance may be read. While the first one grows, only those behind it wait. A stream that
   * lags decodes at most one utterance ahead: when its recogniser fails, all of it must be processed again.
   */
  async function room(at: number) {
    const isEnough = () => isLate(at, options.now()) || heldBytes() > options.maxQueuedBytes;
    while (!signal.aborted && pending.length > 1 && isEnough()) {
      roomFreed = Promise.withResolvers<void>();
      await roomFreed.promise;
    }
  }
  const heldBytes = () => pending.reduce((sum, entry) => sum + entry.utterance.bytes, 0);
  const unwatch = metrics.watch('speech', heldBytes);

  return {
    take,
    pass,
    skip,
    begin,
    flush,
    get inSpeech() {
      return gate.inSpeech;
    },
    untilGrowing: () =>
      pending.find(({ ended }) => ended === null)?.reached.promise ?? new Promise<void>(() => {}),
    settle(entry) {
      pending.splice(pending.indexOf(entry), 1);
      roomFreed.resolve();
    },
    progress: () => timeline.progress(pending[0]?.committed ?? gate.silentThrough),
    timeOf,
    get isAnchored() {
      return anchorAt !== null;
    },
    startSample,
    get waiting() {
      return pending.length;
    },
    hasListened() {
      const listened = audioCame || judging;
      audioCame = false;
      return listened;
    },
    counts,
    close() {
      unwatch();
      if (counts.messages > 0 && !wasSpeech && !connection.customStt)
        metrics.utterance(isDecodable ? 'expected_silence' : 'invalid_input');
      gate.close();
      decoder.close();
    },
  };
}
