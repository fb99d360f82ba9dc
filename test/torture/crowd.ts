import { join } from 'node:path';
import type { CoreProcess } from '../helpers/core-process.ts';
import { startBridged } from './bridged.ts';
import { type Device, startCareful } from './careful.ts';
import { CODE_MS } from './code.ts';
import type { Dice } from './dice.ts';
import type { Spoken } from './judge.ts';
import { type Line, openLine } from './line.ts';
import { startPlain } from './plain.ts';
import { createScript, type ScriptOptions } from './script.ts';

export interface Kind extends Omit<ScriptOptions, 'device'> {
  client: 'careful' | 'bridge' | 'plain';
  /** Age of the recording that the device states; absent: it states none. */
  startedAgoMs?: number;
  timeoutS: number;
  /** True: it gives up a stalled line. */
  hasty: boolean;
}

export const LONG = 14_400;
const STEADY = { pausesMs: [1200], timeoutS: LONG };
/** Several numbers in one utterance. */
const DENSE = { pausesMs: [320, 320, 320, 320, 320, 1200], timeoutS: LONG };
/** Conversations that end while the device speaks, by silence or at the client's request. */
const SHORT = { pausesMs: [1200, 1200, 1200, 1200, 6000], timeoutS: 2 };

/** Devices that speak numbers, assigned in turn. */
export const KINDS: readonly Kind[] = [
  { client: 'careful', codec: 'pcm16', ...STEADY, startedAgoMs: 0, hasty: true },
  { client: 'careful', codec: 'opus_fs320', ...DENSE, startedAgoMs: 3_600_000, hasty: true },
  { client: 'bridge', codec: 'opus_fs320', ...STEADY, startedAgoMs: 0, hasty: true },
  { client: 'plain', codec: 'pcm16', ...STEADY, startedAgoMs: LONG * 900, hasty: true },
  { client: 'careful', codec: 'pcm16', ...SHORT, hasty: true },
  { client: 'careful', codec: 'opus_fs320', ...STEADY, hasty: false },
  { client: 'bridge', codec: 'pcm16', ...SHORT, gapsFromMs: 6000, startedAgoMs: 0, hasty: false },
  { client: 'careful', codec: 'pcm16', ...DENSE, finishEvery: 7, hasty: false },
  { client: 'careful', codec: 'opus_fs320', ...SHORT, gapsFromMs: 6000, finishEvery: 3, hasty: true },
  { client: 'plain', codec: 'opus_fs320', ...DENSE, startedAgoMs: LONG * 900, hasty: false },
];

const SOURCES = [
  ...['omi', 'friend', 'bee', 'plaud', 'frame', 'limitless', 'fieldy', 'phone'],
  ...['desktop', 'apple_watch', 'openglass', 'screenpipe', 'rayban_meta', 'friend_com', 'sdcard', 'workflow'],
];
export const MOST_DEVICES = SOURCES.length;

/** A device, its line, and what it has spoken. */
export interface Member extends Spoken {
  line: Line;
  client: Device;
}

const HASTY_MS = 1500;

export interface CrowdOptions {
  core: CoreProcess;
  devices: number;
  kinds: readonly Kind[];
  speed: number;
  /** Duration of a stall. */
  stallMs: number;
  dice: Dice;
}

export function startCrowd(options: CrowdOptions): Promise<Member[]> {
  return Promise.all(Array.from({ length: options.devices }, (_, device) => startMember(options, device)));
}

async function startMember(options: CrowdOptions, device: number): Promise<Member> {
  const { core, kinds, speed, stallMs, dice } = options;
  const kind = kinds[device % kinds.length] as Kind;
  const source = SOURCES[device] ?? 'unknown';
  const line = await openLine(new URL(core.url));
  const script = createScript({ ...kind, device });
  const startedAt = kind.startedAgoMs === undefined ? null : Date.now() - kind.startedAgoMs;
  const patienceMs = kind.hasty ? HASTY_MS : stallMs * 1.3;
  const shared = { key: core.key, script, speed, patienceMs };
  const member = { device, source, places: script.places, startedAt, line };
  const url = addressOf(line, kind, source, startedAt);
  if (kind.client === 'careful') return { ...member, client: startCareful({ ...shared, dice, url }) };
  if (kind.client === 'plain') {
    const client = startPlain({ ...shared, url, startedAt: startedAt ?? 0 });
    const mayMiss = (placeMs: number) => !client.confirmed(placeMs, placeMs + CODE_MS);
    return { ...member, client, mayMiss };
  }
  const client = await startBridged({
    ...shared,
    ...kind,
    url: line.url,
    dir: join(core.dataDir, `bridge-${device}`),
    id: source,
    source,
    startedAtMs: startedAt ?? 0,
  });
  return { ...member, client };
}

function addressOf(line: Line, kind: Kind, source: string, startedAt: number | null): URL {
  const { client, codec, timeoutS } = kind;
  const url = new URL('/v4/listen', line.url.replace('http', 'ws'));
  url.search = new URLSearchParams({
    codec,
    sample_rate: '16000',
    source,
    client_device_id: source,
    ...(client === 'plain' ? {} : { stream: source }),
    ack: 'enabled',
    conversation_timeout: String(timeoutS),
    ...(startedAt === null ? {} : { started_at: new Date(startedAt).toISOString() }),
  }).toString();
  return url;
}
