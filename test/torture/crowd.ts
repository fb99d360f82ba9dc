import { join } from 'node:path';
import type { CoreProcess } from '../helpers/core-process.ts';
import { startBridged } from './bridged.ts';
import { type Device, startCareful } from './careful.ts';
import type { Dice } from './dice.ts';
import type { Spoken } from './judge.ts';
import { type Line, openLine } from './line.ts';
import { createScript, type ScriptOptions } from './script.ts';

interface Kind extends Omit<ScriptOptions, 'device'> {
  client: 'careful' | 'bridge';
  /** Tells when its recording began: so long ago. Absent: it does not tell. */
  startedAgoMs?: number;
  timeoutS: number;
  /** It gives a line up that stalls. */
  hasty: boolean;
}

const LONG = 14_400;
const STEADY = { pausesMs: [1200], timeoutS: LONG };
/** Several numbers in one utterance. */
const DENSE = { pausesMs: [320, 320, 320, 320, 320, 1200], timeoutS: LONG };
/** Conversations that end in the midst of it, by silence or because the client asks for it. */
const SHORT = { pausesMs: [1200, 1200, 1200, 1200, 6000], timeoutS: 2 };

/** Devices in turn. */
const KINDS: Kind[] = [
  { client: 'careful', codec: 'pcm16', ...STEADY, startedAgoMs: 0, hasty: true },
  { client: 'careful', codec: 'opus_fs320', ...DENSE, startedAgoMs: 3_600_000, hasty: true },
  { client: 'bridge', codec: 'opus_fs320', ...STEADY, startedAgoMs: 0, hasty: true },
  { client: 'careful', codec: 'pcm16', ...SHORT, hasty: true },
  { client: 'careful', codec: 'opus_fs320', ...STEADY, hasty: false },
  { client: 'bridge', codec: 'pcm16', ...SHORT, gapsFromMs: 6000, startedAgoMs: 0, hasty: false },
  { client: 'careful', codec: 'pcm16', ...DENSE, finishEvery: 7, hasty: false },
  { client: 'careful', codec: 'opus_fs320', ...SHORT, gapsFromMs: 6000, finishEvery: 3, hasty: true },
];

const SOURCES = [
  ...['omi', 'friend', 'bee', 'plaud', 'frame', 'limitless', 'fieldy', 'phone'],
  ...['desktop', 'apple_watch', 'openglass', 'screenpipe', 'rayban_meta', 'friend_com', 'sdcard', 'workflow'],
];
export const MOST_DEVICES = SOURCES.length;

/** One device, the line that it is on, and what it has said. */
export interface Member extends Spoken {
  line: Line;
  client: Device;
}

const HASTY_MS = 1500;

export interface CrowdOptions {
  core: CoreProcess;
  devices: number;
  speed: number;
  /** A stalled line stalls for so long. */
  stallMs: number;
  dice: Dice;
}

export function startCrowd(options: CrowdOptions): Promise<Member[]> {
  return Promise.all(Array.from({ length: options.devices }, (_, device) => startMember(options, device)));
}

async function startMember({ core, speed, stallMs, dice }: CrowdOptions, device: number): Promise<Member> {
  const kind = KINDS[device % KINDS.length] as Kind;
  const source = SOURCES[device] ?? 'unknown';
  const line = await openLine(new URL(core.url));
  const script = createScript({ ...kind, device });
  const startedAt = kind.startedAgoMs === undefined ? null : Date.now() - kind.startedAgoMs;
  const patienceMs = kind.hasty ? HASTY_MS : stallMs * 1.3;
  const shared = { key: core.key, script, speed, patienceMs };
  const client =
    kind.client === 'bridge'
      ? await startBridged({
          ...shared,
          ...kind,
          url: line.url,
          dir: join(core.dataDir, `bridge-${device}`),
          id: source,
          source,
          startedAtMs: startedAt ?? 0,
        })
      : startCareful({ ...shared, dice, url: addressOf(line, kind, source, startedAt) });
  return { device, source, places: script.places, startedAt, line, client };
}

function addressOf(line: Line, { codec, timeoutS }: Kind, source: string, startedAt: number | null): URL {
  const url = new URL('/v4/listen', line.url.replace('http', 'ws'));
  url.search = new URLSearchParams({
    codec,
    sample_rate: '16000',
    source,
    client_device_id: source,
    stream: source,
    ack: 'enabled',
    conversation_timeout: String(timeoutS),
    ...(startedAt === null ? {} : { started_at: new Date(startedAt).toISOString() }),
  }).toString();
  return url;
}
