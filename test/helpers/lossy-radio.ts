/** Audio over a radio that loses packets: a pendant's notifications, the bridge's decoder and spool, core's socket. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import { createFrames } from '../../bridge/simulator/frames.ts';
import { openSpool } from '../../bridge/spool/spool.ts';
import { connectListen } from './listen-client.ts';
import { omiDecoder } from './omi-decoder.ts';
import { messagesOf } from './packets.ts';
import type { TestServer } from './services.ts';
import { random, type Sound } from './sound.ts';

/** Frames of each pendant, and the ATT MTU of its connection. */
export const SENDERS = {
  'opus 10 ms': { codec: 'opus', frameMs: 10, mtu: 256, frames: (sound: Sound) => firmware(sound, 20) },
  'opus 20 ms': { codec: 'opus_fs320', frameMs: 20, mtu: 256, frames: (sound: Sound) => firmware(sound, 21) },
  'pcm, 2 fragments': { codec: 'pcm16', frameMs: 10, mtu: 256, frames: (sound: Sound) => firmware(sound, 0) },
  'pcm, 4 fragments': { codec: 'pcm16', frameMs: 10, mtu: 104, frames: (sound: Sound) => firmware(sound, 0) },
  lc3: { codec: 'lc3', frameMs: 10, mtu: 256, frames: (sound: Sound) => messagesOf(sound, 'lc3') },
} as const;
export type Sender = keyof typeof SENDERS;

function firmware(sound: Sound, codecId: 0 | 20 | 21): Uint8Array[] {
  const frames = createFrames(sound, codecId);
  return Array.from({ length: frames.length }, (_, i) => frames.at(i));
}

/** Recognition may take longer than the server waits for a silent client. */
const KEEP_ALIVE_MS = 30_000;
const HEADER_BYTES = 3;
const ATT_HEADER_BYTES = 3;

/** Returns notifications numbered as the firmware does, each with the duration of its audio. */
function notificationsOf(sound: Sound, sender: Sender): { bytes: Buffer; ms: number }[] {
  const { mtu, frameMs, frames } = SENDERS[sender];
  const room = mtu - ATT_HEADER_BYTES - HEADER_BYTES;
  let id = 0;
  return frames(sound).flatMap(frame =>
    Array.from({ length: Math.ceil(frame.length / room) }, (_, fragment) => {
      const payload = frame.subarray(fragment * room, (fragment + 1) * room);
      const bytes = Buffer.concat([Buffer.from([id & 0xff, id >> 8, fragment]), payload]);
      id = (id + 1) & 0xffff;
      return { bytes, ms: (payload.length / frame.length) * frameMs };
    }),
  );
}

/**
 * Decides which of `count` packets are lost. The first and the last arrive, because losses outside of them cannot be
 * counted.
 */
export type Loss = (count: number, rate: number, seed: number) => boolean[];

/** Loses each packet independently. */
export const evenly: Loss = (count, rate, seed) => {
  const uniform = random(seed);
  return arriving(Array.from({ length: count }, () => (uniform() + 1) / 2 < rate));
};

/** Loses two to six packets in a row, four on average. */
export const inBursts: Loss = (count, rate, seed) => {
  const uniform = random(seed);
  const share = () => (uniform() + 1) / 2;
  const begins = rate / (4 - 3 * rate); // bursts start as often as makes the overall share `rate`
  const lost: boolean[] = [];
  while (lost.length < count) {
    const length = share() < begins ? 2 + Math.floor(share() * 5) : 0;
    if (length === 0) lost.push(false);
    else lost.push(...Array.from({ length }, () => true));
  }
  return arriving(lost.slice(0, count));
};

function arriving(lost: boolean[]): boolean[] {
  return lost.map((isLost, i) => isLost && i > 0 && i < lost.length - 1);
}

export interface Received {
  /** Text that core stored. */
  text: string;
  /** Packets and audio that the radio lost. */
  made: { packets: number; ms: number };
  /** Loss that the bridge reports to core. */
  told: { ms: number };
}

/** Plays a sound to core as a pendant does, faster than real time. */
export async function hearThrough(
  server: TestServer,
  { sound, sender, lost }: { sound: Sound; sender: Sender; lost: (count: number) => boolean[] },
): Promise<Received> {
  const notifications = notificationsOf(sound, sender);
  const isLost = lost(notifications.length);
  const gone = notifications.filter((_, i) => isLost[i]);
  const arrived = notifications.filter((_, i) => !isLost[i]);
  const records = await recorded(
    sender,
    arrived.map(({ bytes }) => bytes),
  );
  const client = await connectListen(server.url, server.key, {
    codec: SENDERS[sender].codec,
    sample_rate: 16_000,
    conversation_timeout: 600,
  });
  for (const { gapMs, bytes } of records) {
    if (gapMs > 0) client.socket.send(JSON.stringify({ type: 'gap', ms: gapMs }));
    client.socket.send(bytes);
  }
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  const keepAlive = setInterval(() => client.socket.send(Buffer.alloc(1)), KEEP_ALIVE_MS);
  await client.until('conversation_finished').finally(() => clearInterval(keepAlive));
  client.socket.close();
  const segments = client.segments().toSorted((a, b) => a.start - b.start);
  return {
    text: segments.map(({ text }) => text).join(' '),
    made: { packets: gone.length, ms: gone.reduce((sum, { ms }) => sum + ms, 0) },
    told: { ms: records.reduce((sum, { gapMs }) => sum + gapMs, 0) },
  };
}

/** Returns the bridge's spool for these notifications. */
async function recorded(sender: Sender, notifications: readonly Buffer[]) {
  const { codec, frameMs, mtu } = SENDERS[sender];
  const format = { codec, sampleRate: 16_000, frameMs };
  const dir = await mkdtemp(join(tmpdir(), 'earshot-radio-'));
  const clock = createClock(Date.now);
  const spool = await openSpool({ dir, maxBytes: 100_000_000, clock, log: pino({ level: 'silent' }) });
  try {
    const device = { clientDeviceId: 'omi_1', deviceName: 'Omi', source: 'omi' };
    const recording = spool.begin({ ...device, ...format, startedAtMs: clock.now() });
    const decoder = omiDecoder(format, { mtu });
    const frames = [...notifications.flatMap(bytes => decoder.push(bytes).frames), ...decoder.flush().frames];
    for (const { bytes, lostBefore } of frames) recording.append(bytes, lostBefore * frameMs);
    return recording.read(0, frames.length) ?? [];
  } finally {
    await spool.close();
    await rm(dir, { recursive: true });
  }
}
