import { concatSamples, SAMPLE_RATE } from '../audio/pcm.ts';
import { createResampler, type Resampler } from '../audio/resample.ts';
import type { Log } from '../runtime/log.ts';
import type { Connection } from './connection/parameters.ts';
import { createMixer } from './mixer.ts';

/** Webhook that receives a user's audio in pieces of this many seconds. */
export interface AudioHook {
  id: string;
  seconds: number;
}

export interface AudioHooks {
  /** Returns the user's audio webhooks; null while they are being looked up. Called for each message. */
  of(userId: string): readonly AudioHook[] | null;
  /** Accepts the piece at once, or drops it. */
  push(userId: string, hookId: string, piece: { sampleRate: number; pcm: Int16Array }): void;
}

/** Audio of one connection on its way to the user's webhooks. */
export interface LiveAudio {
  /** Accepts one decoded message: its number, when it was spoken (epoch ms), and its first sample in the stream. */
  take(channel: number, message: { number: number; at: number }, start: number, pcm: Int16Array): void;
  /** Hands over what is left. */
  end(): void;
}

/** Age beyond which audio is not live: it arrived late, or waited on disk. */
const LIVE_MS = 30_000;
/** Audio kept while the webhooks are looked up. */
const MAX_HELD_SAMPLES = 10 * SAMPLE_RATE;
/** Streams whose forwarded position is remembered. */
const MAX_STREAMS = 1000;
const NARROW_RATE = 8000;

export type LiveAudios = ReturnType<typeof createLiveAudios>;

/**
 * Forwards live audio to webhooks. Audio that is replayed when a stream continues in another connection is forwarded
 * once.
 */
export function createLiveAudios({ hooks, now, log }: { hooks: AudioHooks; now(): number; log: Log }) {
  const heard = new Map<string, number>();

  /** @param channels the channel numbers */
  function open(connection: Connection, streamId: string, channels: readonly number[]): LiveAudio {
    const { userId, format } = connection;
    const sampleRate = format.sampleRate === NARROW_RATE ? NARROW_RATE : SAMPLE_RATE;
    let mixer = createMixer(channels);
    const pieces = new Map<string, { wanted: number; parts: Int16Array[]; length: number }>();
    let held: Int16Array[] = [];
    let resampler: Resampler | null = null;
    let working: Promise<void> | null = null;
    let last = heard.get(streamId) ?? -1;

    function take(
      channel: number,
      { number, at }: { number: number; at: number },
      start: number,
      pcm: Int16Array,
    ) {
      const wanting = hooks.of(userId);
      if (wanting?.length === 0 || number <= last || now() - at >= LIVE_MS) return forget();
      last = number;
      const { rest, ready } = mixer.push(channel, start, pcm);
      if (rest) flush(rest);
      if (ready.length > 0) sound(ready);
    }

    function forget() {
      if (pieces.size === 0 && held.length === 0) return;
      pieces.clear();
      held = [];
      mixer = createMixer(channels);
    }

    function sound(pcm: Int16Array) {
      if (sampleRate === SAMPLE_RATE) return slice(pcm);
      after(async () => {
        resampler ??= await createResampler(SAMPLE_RATE, NARROW_RATE);
        slice(resampler.push(pcm));
      });
    }

    function flush(rest: Int16Array) {
      if (rest.length > 0) sound(rest);
      if (working) after(async () => handOverAll());
      else handOverAll();
    }

    /** Runs the work after all earlier work. */
    function after(work: () => Promise<void>) {
      const done = (working ?? Promise.resolve()).then(work);
      working = done.catch(error => log.error({ err: error }, 'live audio could not be handed over'));
    }

    function slice(pcm: Int16Array) {
      const wanting = hooks.of(userId);
      if (!wanting) return hold(pcm);
      const all = held.length > 0 ? concatSamples([...held, pcm]) : pcm;
      held = [];
      const ids = new Set(wanting.map(({ id }) => id));
      for (const id of pieces.keys()) if (!ids.has(id)) pieces.delete(id);
      for (const hook of wanting) fill(hook, all);
    }

    function hold(pcm: Int16Array) {
      held.push(pcm);
      let length = held.reduce((sum, part) => sum + part.length, 0);
      while (length > MAX_HELD_SAMPLES) length -= held.shift()?.length ?? 0;
    }

    function fill({ id, seconds }: AudioHook, pcm: Int16Array) {
      const wanted = Math.max(1, Math.round(seconds * sampleRate));
      const piece = pieces.get(id) ?? { wanted, parts: [], length: 0 };
      pieces.set(id, piece);
      let at = 0;
      while (at < pcm.length) {
        const part = pcm.subarray(at, at + piece.wanted - piece.length);
        piece.parts.push(part);
        piece.length += part.length;
        at += part.length;
        if (piece.length < piece.wanted) break;
        handOver(id, piece.parts);
        Object.assign(piece, { wanted, parts: [], length: 0 });
      }
    }

    function handOver(id: string, parts: readonly Int16Array[]) {
      hooks.push(userId, id, { sampleRate, pcm: concatSamples(parts) });
    }

    function handOverAll() {
      for (const [id, { parts, length }] of pieces) if (length > 0) handOver(id, parts);
      pieces.clear();
    }

    return {
      take,
      end() {
        const isWanted = hooks.of(userId)?.length !== 0;
        if (isWanted) flush(mixer.end());
        after(async () => resampler?.close());
        if (last >= 0) remember(streamId, last);
      },
    };
  }

  function remember(streamId: string, number: number) {
    heard.delete(streamId);
    heard.set(streamId, number);
    const [oldest] = heard.keys();
    if (heard.size > MAX_STREAMS && oldest !== undefined) heard.delete(oldest);
  }

  return { open };
}
