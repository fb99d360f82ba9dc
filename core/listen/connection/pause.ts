import { samplesIn } from '../../audio/durations.ts';
import type { Clock } from '../../contract/model.ts';
import type { Listening } from '../../domain/privacy/listening.ts';
import type { AudioEntry } from '../spool/spool.ts';
import type { Send } from '../thread.ts';
import type { Connection } from './parameters.ts';

/** Whether the user of a connection has paused listening. Its client is told each time that this changes. */
export interface Pause {
  /** Whether what arrives now is dropped. Audio of a recording is judged by when it was recorded: see `coversAt`. */
  isOn(): boolean;
  /** Whether audio that was recorded at this instant (epoch ms) is dropped. */
  coversAt(recordedAt: number): boolean;
  close(): void;
}

interface PauseOptions {
  connection: Connection;
  listening: Pick<Listening, 'watch'>;
  clock: Pick<Clock, 'now'>;
  send: Send;
}

/** Interval at which a client that sends nothing is told of a pause that begins or ends. */
const LOOK_MS = 1000;

export async function openPause({ connection, listening, clock, send }: PauseOptions): Promise<Pause> {
  const watch = await listening.watch(connection.userId);
  const isLive = connection.recordedAt === null;
  let isTold = false;

  function isOn(): boolean {
    if (!isLive) return false;
    const { isPaused, until } = watch.at(clock.now());
    if (isPaused !== isTold) {
      isTold = isPaused;
      send({
        type: 'listening',
        paused: isPaused,
        until: until === null ? null : new Date(until).toISOString(),
      });
    }
    return isPaused;
  }

  isOn();
  const timer = setInterval(isOn, LOOK_MS);
  return {
    isOn,
    coversAt: recordedAt => !isLive && watch.at(recordedAt).isPaused,
    close() {
      clearInterval(timer);
      watch.close();
    },
  };
}

/** Takes the sound out of messages: what remains says how long they were. */
export function createSilencer({ format, tagged }: Pick<Connection, 'format' | 'tagged'>) {
  const lengthMs = (bytes: Buffer) => (samplesIn(format, bytes) * 1000) / format.sampleRate;
  /** By channel: dropped since `reset`. */
  const dropped = new Map<number, number>();
  let passedMs = 0;

  return {
    silence(entry: AudioEntry): AudioEntry {
      const { bytes, gapMs } = entry;
      const channel = tagged ? (bytes[0] ?? 0) : 0;
      const own = (dropped.get(channel) ?? 0) + lengthMs(tagged ? bytes.subarray(1) : bytes);
      dropped.set(channel, own);
      const whole = Math.max(0, Math.floor(Math.max(...dropped.values())) - passedMs);
      passedMs += whole;
      return { ...entry, gapMs: gapMs + whole, bytes: NO_SOUND };
    },
    /** Sound has come in between. */
    reset() {
      if (passedMs === 0) return;
      dropped.clear();
      passedMs = 0;
    },
  };
}

const NO_SOUND = Buffer.alloc(0);
