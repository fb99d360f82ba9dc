import { createDecoder } from '../audio/codecs.ts';
import { createGate } from '../audio/gate.ts';
import { concatSamples, SAMPLE_RATE } from '../audio/pcm.ts';
import type { GrowingUtterance } from '../audio/utterance.ts';
import type { StreamProgress } from '../contract/model.ts';
import type { VadProvider } from '../contract/plugin.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import { abortableWait } from './abort.ts';
import { meteredDecoder, meteredDetector } from './meters.ts';
import type { Connection } from './parameters.ts';
import { isLate } from './scheduler.ts';
import type { Silence } from './silence.ts';
import { type AudioEntry, LEAD_IN_MESSAGES } from './spool/spool.ts';
import { createTimeline } from './timeline.ts';

/** Speech that waits for its text. */
export interface Pending {
  utterance: GrowingUtterance;
  /** Sample up to which its text is stored. */
  committed: number;
  /** When its last speech came, and when it had ended: on the clock of the metrics. Null while it grows. */
  ended: { spokenAt: number; at: number } | null;
  /** Its turn has come: everything before it is done. */
  reached: PromiseWithResolvers<void>;
}

/** One channel's way from messages to speech: decode, place in time, gate. */
export interface Hearing {
  /**
   * One message of audio. Those whose text is stored already only help the decoder to find its feet. Waits while a
   * slow recogniser has enough to do.
   */
  take(message: AudioEntry): Promise<void>;
  /** A message of another channel: what it says of time holds here, too. */
  pass(message: AudioEntry): Promise<void>;
  /** The first sample was, or would have been, at this instant (epoch ms), unless audio has told already. */
  begin(at: number): Promise<void>;
  /** Ends the utterance that is still growing. */
  flush(): Promise<void>;
  /** Whether somebody is heard in the midst of speech. */
  readonly inSpeech: boolean;
  /** Resolves when the utterance that is still growing is the first that waits; never where none grows. */
  untilGrowing(): Promise<void>;
  /** This utterance's text is stored, all of it. */
  settle(entry: Pending): void;
  /** Returns the progress that may be stored, given what is committed or known to be silent. */
  progress(): StreamProgress;
  /** Wall clock of a sample of the stream, epoch ms. */
  timeOf(sample: number): number;
  /** Whether that is known: audio has come, or `begin` has told. */
  readonly isAnchored: boolean;
  /** Samples of the messages below `number`, as far as they are heard. */
  samplesBelow(number: number): number;
  /** Where this connection began. */
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
  /** Message `number` was decoded, and begins at this sample; it was spoken at this instant (epoch ms), as far as is known. */
  onAudio?(message: { number: number; at: number }, start: number, pcm: Int16Array): void;
  /** The wall-clock time of sample 0 has become known. */
  onAnchor(at: number): Promise<void>;
}

const SAMPLES_PER_MS = SAMPLE_RATE / 1000;
/** A longer gap ends the utterance; the sound of a shorter one is made up. */
const MAX_CONCEALED_MS = 200;
/** A channel of which nothing comes for so long, while others go on, has paused: its speech does not wait for more. */
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
  const counts = { messages: 0, badFrames: 0 };
  let isDecodable = false;
  let isLeadIn = true;
  let wasSpeech = false;
  /** When the last message came, as its entry says; null: none, or it has paused since. */
  let cameAt: number | null = null;
  /** Audio came since the last look, or is being judged. */
  let audioCame = false;
  let judging = false;
  let anchorAt = stored.anchorAt;
  let roomFreed = Promise.withResolvers<void>();
  /** When the message came that is being judged, and the one with the last speech up to `heardSample`. */
  let arrivedAt = metrics.now();
  let spokenAt = arrivedAt;
  let heardSample = stored.through;
  /** A detector that hangs does not hold up the end of its connection. */
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
        reached: Promise.withResolvers(),
      };
      pending.push(entry);
      wasSpeech = true;
      void utterance.ended.then(() => {
        noteSpeech();
        entry.ended = { spokenAt, at: metrics.now() };
      });
      silence.note(channel, timeOf(gate.position), true);
      options.onUtterance(entry);
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

  /** Ends the lead-in at a whole sample: a decoder that waits for the rest of one began within it. */
  function endLeadIn() {
    isLeadIn = false;
    if (decoder.carries) decoder.reset?.();
  }

  /** Returns audio that conceals a short gap before this message; null: there is none, or it is long. */
  function conceal({ number, gapMs }: AudioEntry): Int16Array | null {
    if (isLeadIn && number >= stored.received) endLeadIn();
    return gapMs > 0 && gapMs <= MAX_CONCEALED_MS ? decoder.conceal(gapMs * SAMPLES_PER_MS) : null;
  }

  /** Answers the position of its first sample. */
  function place({ number, gapMs }: AudioEntry, samples: number) {
    return timeline.place({ number, gap: gapMs * SAMPLES_PER_MS, samples, split: decoder.carries ?? false });
  }

  async function begin(at: number) {
    if (anchorAt !== null) return;
    anchorAt = at;
    await options.onAnchor(at);
  }

  const timeOf = (sample: number) => (anchorAt ?? options.now()) + sample / SAMPLES_PER_MS;

  /** Listens to audio above the gate's position; what lies below was processed by an earlier connection. */
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
   * The first utterance may still be growing: only those behind it wait. Who is late hears no further than into the
   * next one: where its recogniser fails, it will all be heard again.
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
    samplesBelow: timeline.samplesBelow,
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
