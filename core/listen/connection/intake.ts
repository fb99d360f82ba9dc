import type { Clock } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import { createValueCounter } from '../../runtime/json-values.ts';
import type { Channels } from '../channel/channels.ts';
import type { Suggested, Suggestions } from '../channel/suggestions.ts';
import { CLOSE, ClientMessage, KEEP_ALIVE_BYTES, MAX_SUGGESTED } from '../protocol.ts';
import { createTurn, nextInLine } from '../scheduler.ts';
import type { Client } from '../session.ts';
import { type AudioEntry, type HeldStream, MAX_MESSAGES } from '../spool/spool.ts';
import type { Assigned, Thread } from '../thread.ts';
import type { Images } from './images.ts';
import type { Message } from './inbox.ts';
import { type Connection, firstProblem, Refusal } from './parameters.ts';
import { createSilencer, type Pause } from './pause.ts';
import type { SampleCount } from './sample-count.ts';

/** Input of a connection: numbers and stores a client's audio messages, and dispatches the others. */
export interface Intake {
  /** Resolves when the client has disconnected and all its messages are held or, once aborted, dropped. */
  run(): Promise<void>;
  readonly counts: Readonly<{
    /** Messages of unknown type. */
    ignored: number;
    /** Audio messages that were held already. */
    repeated: number;
    /** Messages of every kind that were dropped because the user had paused listening. */
    paused: number;
  }>;
}

/** Longest sum of gaps between two messages: the range of a 32-bit field, 49 days. */
const MAX_GAP_MS = 2 ** 32 - 1;

/** Price of a text message in tokens (see `Pace`): it is parsed, and some types start a transaction. */
function costOf(input: Input, bytes: Buffer): number {
  const parsing = 1 + bytes.length / 1024;
  if (input.type === 'speaker_assigned') return parsing + ASSIGNMENT_TOKENS + input.segment_ids.length;
  if (input.type === 'finish_conversation') return parsing + FINISH_TOKENS;
  if (input.type === 'image_chunk') return parsing + PIECE_TOKENS;
  return input.type === 'suggested_transcript'
    ? parsing + SUGGESTION_TOKENS + input.segments.length
    : parsing;
}
const PIECE_TOKENS = 5;
const FINISH_TOKENS = 50;
const ASSIGNMENT_TOKENS = 50;
const SUGGESTION_TOKENS = 50;

interface IntakeOptions {
  connection: Connection;
  held: HeldStream;
  /** Number of held messages, as told to the client. Without `from` the stream continues there. */
  received: number;
  channels: Channels;
  /** Null: the client does not ask for acknowledgements. */
  samples: Pick<SampleCount, 'add'> | null;
  suggestions: Suggestions;
  thread: Thread;
  pause: Pick<Pause, 'isOn'>;
  /** Null: this server stores no images. */
  images: Images | null;
  client: Client;
  clock: Clock;
}

export function createIntake(options: IntakeOptions): Intake {
  const { connection, held, received, channels, samples, suggestions, thread, images, pause, clock } =
    options;
  const { inbox, send, spend, on } = options.client;
  const counts = { ignored: 0, repeated: 0, paused: 0 };
  const silencer = createSilencer(connection);
  let next = connection.from ?? received;
  /** Belongs to the next message, and is dropped with it where that is held already. */
  let gapMs = 0;

  /** Undefined: done. At fifty messages a second from thousands of streams, few should wait for anything. */
  function obey(input: Input): Promise<void> | undefined {
    switch (input.type) {
      case 'audio':
        return take(input.bytes);
      case 'quiet':
        held.pause();
        return;
      case 'gap':
        gapMs = Math.min(gapMs + input.ms, MAX_GAP_MS);
        return;
      case 'finish_conversation':
        return finish();
      case 'suggested_transcript':
        if (connection.customStt) return isDropped() ? undefined : suggest(input);
        refuse('invalid_message', 'suggested_transcript needs custom_stt=enabled');
        return;
      case 'image_chunk':
        if (images) return isDropped() ? undefined : images.take(input);
        refuse('not_supported', 'image_chunk is not supported by this server');
        return;
      case 'speaker_assigned':
        return assign(input);
      case 'invalid':
        refuse('invalid_message', input.reason);
        return;
      case 'unknown':
        counts.ignored += 1;
        return;
      case 'keep_alive':
        return;
    }
  }

  function take(bytes: Buffer): Promise<void> | undefined {
    on('audio');
    if (next >= MAX_MESSAGES)
      throw new Refusal(CLOSE.policy, `A stream has at most ${MAX_MESSAGES} messages; begin another`);
    const entry = { kind: 'audio' as const, number: next, gapMs, at: clock.now(), bytes };
    next += 1;
    gapMs = 0;
    if (entry.number < held.next) {
      counts.repeated += 1;
      return;
    }
    samples?.add(entry);
    const kept = isDropped() ? silencer.silence(entry) : entry;
    if (kept === entry) silencer.reset();
    return connection.customStt ? pass(kept) : held.append(kept);
  }

  /** Its number and its time are kept, so that it is acknowledged, and not sent again when the pause is over. */
  function isDropped(): boolean {
    const isPaused = pause.isOn();
    if (isPaused) counts.paused += 1;
    return isPaused;
  }

  /** Plays a message whose text the client brings; it is never transcribed, so the spool need not hold it. */
  async function pass(entry: AudioEntry) {
    await channels.take(entry);
    await channels.storeSilence();
  }

  async function finish() {
    if (!connection.customStt) return held.append({ kind: 'finish', number: held.next, at: clock.now() });
    // Suggestions are stored as they come.
    send({ type: 'conversation_finished', conversation_id: await thread.finish() });
  }

  async function suggest(message: Suggested) {
    await suggestions.store(message).catch(error => {
      if (!(error instanceof AppError && error.code === 'invalid_request')) throw error;
      refuse('invalid_message', error.message);
    });
  }

  async function assign(message: Assigned) {
    await thread.assign(message).catch(error => {
      if (!(error instanceof AppError && ['not_found', 'locked', 'conflict'].includes(error.code)))
        throw error;
      refuse('invalid_message', `${message.type}: ${error.message}`);
    });
  }

  function refuse(code: 'invalid_message' | 'not_supported', message: string) {
    send({ type: 'error', code, message });
  }

  return {
    async run() {
      const turn = createTurn(); // one network packet may bring thousands of messages
      // A client that reconnects may have nothing more to say: its earlier speech does not wait for more.
      inbox.watchPauses();
      for await (const message of inbox) {
        if (isLarge(message)) await nextInLine();
        turn.begin();
        const input = inputOf(message);
        const paying = message !== 'quiet' && !message.binary && spend(costOf(input, message.bytes));
        if (paying) await paying;
        const obeying = obey(input);
        if (obeying) await obeying;
        const rest = turn.end();
        if (rest) await rest;
      }
      held.end();
    },
    counts,
  };
}

/** Parsed message of a client. Audio and messages that move its clock keep the order in which they were sent. */
type Input =
  | { type: 'audio'; bytes: Buffer }
  /** Audio paused: earlier speech does not wait for more. */
  | { type: 'quiet' }
  | { type: 'keep_alive' }
  | ClientMessage
  /** A newer client may send it; not an error. */
  | { type: 'unknown' }
  | { type: 'invalid'; reason: string };

/**
 * Many connections may bring a large text message at the same time. Only one of them is parsed in each round of the
 * event loop, as with the bodies of requests.
 */
function isLarge(message: Message | 'quiet'): boolean {
  return message !== 'quiet' && !message.binary && message.bytes.length > LARGE_TEXT_BYTES;
}
const LARGE_TEXT_BYTES = 32 * 1024;

export function inputOf(message: Message | 'quiet'): Input {
  if (message === 'quiet') return { type: 'quiet' };
  const { binary, bytes } = message;
  if (!binary) return parseText(bytes);
  return bytes.length > KEEP_ALIVE_BYTES ? { type: 'audio', bytes } : { type: 'keep_alive' };
}

/**
 * Values of a text message, counted before it is parsed: 1 MiB of empty objects takes more than 30 ms. The largest
 * sensible message has 500 segments of a dozen properties.
 */
const MAX_VALUES = 16_384;

function parseText(bytes: Buffer): Input {
  if (createValueCounter()(bytes) > MAX_VALUES)
    return { type: 'invalid', reason: `A message has at most ${MAX_VALUES} values` };
  const json = parseJson(bytes);
  if (json === undefined) return { type: 'invalid', reason: 'This is not JSON' };
  const type = typeOf(json);
  if (type === null) return { type: 'invalid', reason: 'A message is an object with a type' };
  if (!KNOWN_TYPES.has(type)) return { type: 'unknown' };
  if (hasTooMany(json)) return { type: 'invalid', reason: `segments: at most ${MAX_SUGGESTED}` };
  const message = ClientMessage.safeParse(json);
  return message.success ? message.data : { type: 'invalid', reason: firstProblem(message.error) };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const KNOWN_TYPES: ReadonlySet<string> = new Set(
  ClientMessage.options.map(option => option.shape.type.value),
);

function typeOf(json: unknown): string | null {
  if (typeof json !== 'object' || json === null || !('type' in json)) return null;
  return typeof json.type === 'string' ? json.type : null;
}

/** Checked before the schema, which would look at each of them. */
function hasTooMany(json: unknown): boolean {
  const segments = typeof json === 'object' && json !== null && 'segments' in json ? json.segments : null;
  return Array.isArray(segments) && segments.length > MAX_SUGGESTED;
}
