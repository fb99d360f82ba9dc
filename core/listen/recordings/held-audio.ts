/** Live audio that waits for its text, as recordings: an export of its account contains it. */
import { createDecoder } from '../../audio/codecs.ts';
import { encodeWav, SAMPLE_RATE, samplesToBytes } from '../../audio/pcm.ts';
import type { Stream } from '../../contract/model.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import type { HeldAudio } from '../../domain/export/export.ts';
import type { Listening } from '../../domain/privacy/listening.ts';
import { type Connection, connectionOf } from '../connection/parameters.ts';
import { type Entry, isAudio, LEAD_IN_MESSAGES, type Spool } from '../spool/spool.ts';

const SAMPLES_PER_MS = SAMPLE_RATE / 1000;
const NO_SAMPLES = new Int16Array(0);
/** Silence written at a time. */
const SILENCE = Buffer.alloc(SAMPLE_RATE * 2);
/** Without the length, which is not known yet: players then read to the end of the file. */
const WAV_HEAD = encodeWav(NO_SAMPLES);

/** Samples that have no text yet. */
interface Piece {
  /** When the first one was recorded (epoch ms). */
  at: number;
  pcm: Int16Array;
  /** Whether the client ended the conversation before it. */
  isNew: boolean;
}

interface Options {
  conversations: Pick<Conversations, 'channels'>;
  listening: Pick<Listening, 'watch'>;
  spool(): Promise<Pick<Spool, 'streamsOf' | 'copy'>>;
}

/**
 * Lists the audio of an account that waits for its text. A pause that would end the conversation ends a recording, and
 * each side of a call is one of its own.
 */
export function createHeldAudio({ conversations, listening, spool }: Options) {
  return async function* heldAudio(userId: string): AsyncGenerator<HeldAudio> {
    const audio = await spool();
    const watch = await listening.watch(userId);
    try {
      for (const name of audio.streamsOf(userId))
        for (const stream of await conversations.channels(userId, name.id)) {
          const connection = connectionOf(stream);
          if (!connection) continue;
          const isDropped = (at: number) => connection.recordedAt !== null && watch.at(at).isPaused;
          yield* recordings(connection, heard(stream, connection, audio.copy(name), isDropped));
        }
    } finally {
      watch.close();
    }
  };
}

/** Decodes what of a channel has no text yet. */
async function* heard(
  { received, receivedSample, through, channel, ...stream }: Stream,
  { format, tagged, recordedAt }: Connection,
  entries: AsyncIterable<Entry>,
  isDropped: (at: number) => boolean,
): AsyncGenerator<Piece, undefined> {
  const decoder = await createDecoder(format);
  let { anchorAt } = stream;
  let position = receivedSample;
  let next = Math.max(0, received - LEAD_IN_MESSAGES);
  let isNew = false;
  try {
    for await (const entry of entries) {
      if (!isAudio(entry)) isNew ||= entry.number >= received;
      if (!isAudio(entry) || entry.number < next) continue; // a message may be there twice
      const { number, gapMs, at, bytes } = entry;
      if (next < received && number >= received && decoder.carries) decoder.reset?.();
      next = number + 1;
      const isOwn = bytes.length > 0 && (!tagged || bytes[0] === channel);
      const { pcm } = isOwn ? await decoder.decode(tagged ? bytes.subarray(1) : bytes) : { pcm: NO_SAMPLES };
      if (number < received) continue;
      const start = position + gapMs * SAMPLES_PER_MS;
      position = start + pcm.length;
      anchorAt ??= recordedAt ?? at - Math.round(position / SAMPLES_PER_MS);
      const known = Math.max(0, through - start);
      const spokenAt = anchorAt + (start + known) / SAMPLES_PER_MS;
      if (known >= pcm.length || isDropped(spokenAt)) continue;
      yield { at: spokenAt, pcm: pcm.subarray(known), isNew };
      isNew = false;
    }
  } finally {
    decoder.close();
  }
  return undefined;
}

/** Splits what was heard at long pauses. Each recording is read to its end before the next one is asked for. */
async function* recordings(
  { language, source, timeoutMs: silenceMs }: Connection,
  pieces: AsyncGenerator<Piece, undefined>,
): AsyncGenerator<HeldAudio> {
  try {
    let { value: piece } = await pieces.next();
    async function* wav(): AsyncGenerator<Uint8Array> {
      yield WAV_HEAD;
      while (piece) {
        yield samplesToBytes(piece.pcm);
        const endAt = piece.at + piece.pcm.length / SAMPLES_PER_MS;
        ({ value: piece } = await pieces.next());
        const pauseMs = piece ? piece.at - endAt : 0;
        if (piece?.isNew || pauseMs >= silenceMs) return;
        yield* silence(pauseMs);
      }
    }
    while (piece) yield { startedAt: Math.round(piece.at), language, source, silenceMs, wav: wav() };
  } finally {
    await pieces.return(undefined);
  }
}

function* silence(ms: number): Generator<Uint8Array> {
  for (let left = 2 * Math.round(ms * SAMPLES_PER_MS); left > 0; left -= SILENCE.length)
    yield SILENCE.subarray(0, left);
}
