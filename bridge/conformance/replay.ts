import { createHash } from 'node:crypto';
import { pino } from 'pino';
import type { Clock } from '../clock.ts';
import { createMemories } from '../devices/driver-memory.ts';
import { listen, type Wearable } from '../devices/wearable.ts';
import type { Driver, PacketCounts } from '../driver.ts';
import { noCounts } from '../framing/packets.ts';
import { LinkLostError } from '../guard.ts';
import type { Link } from '../link.ts';
import type { Recording, RecordingInfo } from '../spool/recording.ts';
import { placeOf, plainPlace, type Trace, type TraceEvent } from './trace.ts';

/** Output of a driver for a trace. */
export interface Replayed {
  /** In order; `lostMs` before it. */
  live: { bytes: Uint8Array; lostMs: number }[];
  stored: { bytes: Uint8Array; lostMs: number; startedAtMs: number }[];
  formats: { codec: string; sampleRate: number; frameMs: number }[];
  counts: PacketCounts;
  writes: { place: string; value: string; unsettled: number }[];
  buttons: string[];
  battery: number | null;
  photos: Uint8Array[];
  /** Why it ended. */
  reason: string;
  /** Error that it threw. */
  error: Error | null;
  /** Memory after the trace, as far as it grows with notifications; only with `gauge`. */
}

export interface ReplayOptions {
  /** Replaces a notification by none, several, or another one. */
  change?(bytes: Buffer, index: number, place: string): Uint8Array[];
  /** Does not wait for the writes of the trace: the device sends its notifications in any case. */
  lenient?: boolean;
  /** Stored audio reaches the disk so many milliseconds after it was asked for. */
  settleMs?: number;
  /** Frames are counted, and not kept. */
  forget?: boolean;
  nowMs?: number;
}

const START_MS = Date.UTC(2026, 0, 1);
/** Simulated time in which nothing happens, after which a driver counts as stuck. */
const STUCK_MS = 120_000;
/** Notifications of a lenient replay between two turns of the event loop. */
const BATCH = 64;

/**
 * Plays a trace to a driver: everything above the Bluetooth library is the bridge's own code, and time passes as fast as
 * the driver lets it.
 */
export async function replay(driver: Driver, trace: Trace, options: ReplayOptions = {}): Promise<Replayed> {
  const time = createTime(options.nowMs ?? START_MS);
  const result: Replayed = {
    live: [],
    stored: [],
    formats: [],
    counts: noCounts(),
    writes: [],
    buttons: [],
    battery: null,
    photos: [],
    reason: '',
    error: null,
  };
  const unsettled = new Set<object>();
  const peer = createPeer(trace, result, unsettled);
  const wearable: Wearable = {
    address: 'c0:ff:ee:00:00:01',
    name: trace.device,
    candidates: [driver],
    counts: result.counts,
    keepsBatterySecret: false,
    identified: null,
    introduced: true, // a trace has no answers to these reads
  };
  let done = false;
  const ended = listen({
    wearable,
    link: peer.link,
    begin: info => collect(info, result, { ...options, unsettled, time }),
    room: async () => {},
    memoryOf: createMemories(null).of,
    clock: time.clock,
    log: pino({ level: 'silent' }),
    silentMs: 30_000,
    probeMs: 10_000,
    onStatus({ battery }) {
      result.battery = battery;
    },
    async onNews(news) {
      if (news.kind === 'button') result.buttons.push(news.button);
      if (news.kind === 'photo') result.photos.push(news.jpeg);
    },
  })
    .then(
      ({ reason }) => {
        result.reason = reason;
      },
      (error: unknown) => {
        result.error = error instanceof Error ? error : new Error(String(error));
      },
    )
    .finally(() => {
      done = true;
    });
  await play(trace.events, { peer, time, options, isDone: () => done });
  await turn();
  peer.close('the trace ended');
  while (!done) {
    await turn();
    time.next();
  }
  await ended;
  return result;
}

/** Over all frames, each after its length as 32 bits, little-endian; live ones first. */
export function fingerprint({ live, stored }: Pick<Replayed, 'live' | 'stored'>): string {
  const hash = createHash('sha256');
  for (const { bytes } of [...live, ...stored]) {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest('hex');
}

async function play(
  events: readonly TraceEvent[],
  { peer, time, options, isDone }: { peer: Peer; time: Time; options: ReplayOptions; isDone: () => boolean },
): Promise<void> {
  let notified = 0;
  let sinceTurn = 0;
  for (const event of events) {
    if (isDone()) return;
    if ('read' in event) continue;
    const isReady = () => ('write' in event ? peer.hasWritten(event) : peer.isSubscribed(event.notify));
    if (!isReady()) await waitFor(isReady, { time, isDone, limitMs: options.lenient ? 1000 : STUCK_MS });
    if ('write' in event) {
      if (!peer.takeWrite(event) && !options.lenient) return;
      continue;
    }
    const packets = options.change?.(Buffer.from(event.value, 'hex'), notified, plainPlace(event.notify)) ?? [
      Buffer.from(event.value, 'hex'),
    ];
    notified += 1;
    for (const packet of packets) peer.notify(event.notify, packet);
    sinceTurn += 1;
    if (sinceTurn % BATCH === 0 || !options.lenient) await turn();
  }
}

/** Lets the driver run, and simulated time pass, until a condition holds. */
async function waitFor(
  isReady: () => boolean,
  { time, isDone, limitMs }: { time: Time; isDone: () => boolean; limitMs: number },
): Promise<void> {
  const endMs = time.clock.now() + limitMs;
  for (let idle = 0; !isReady() && !isDone(); idle += 1) {
    await turn();
    if (isReady() || idle < 3) continue;
    if (time.clock.now() > endMs || !time.next()) return;
    idle = 0;
  }
}

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

// ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Time {
  clock: Clock;
  /** Advances to the end of the next sleep. False: nothing sleeps. */
  next(): boolean;
}

function createTime(startMs: number): Time {
  let nowMs = startMs;
  const sleepers = new Set<{ atMs: number; wake(): void }>();
  return {
    clock: {
      now: () => nowMs,
      sleep(ms, signal) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        if (signal?.aborted) return Promise.reject(signal.reason);
        const sleeper = { atMs: nowMs + Math.max(0, ms), wake: resolve };
        sleepers.add(sleeper);
        const onAbort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        return promise.finally(() => signal?.removeEventListener('abort', onAbort));
      },
    },
    next() {
      const first = [...sleepers].sort((a, b) => a.atMs - b.atMs)[0];
      if (!first) return false;
      sleepers.delete(first);
      nowMs = Math.max(nowMs, first.atMs);
      first.wake();
      return true;
    },
  };
}

// ── the device ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Peer = ReturnType<typeof createPeer>;

function createPeer(trace: Trace, result: Replayed, unsettled: ReadonlySet<object>) {
  const has = new Map(
    Object.entries(trace.characteristics).map(([place, properties]) => [plainPlace(place), properties]),
  );
  const values = valuesOf(trace.events);
  const listeners = new Map<string, Set<(data: Buffer) => void>>();
  const pending: { place: string; value: string }[] = [];
  const closing = Promise.withResolvers<string>();
  let isOpen = true;
  const needOpen = () => {
    if (!isOpen) throw new LinkLostError('the trace ended');
  };

  const link: Link = {
    id: 'trace',
    name: trace.device,
    mtu: trace.mtu,
    hasDataLength: true,
    closed: closing.promise,
    async properties(service, characteristic) {
      needOpen();
      return has.get(placeOf({ service, characteristic })) ?? [];
    },
    offers: async () => [],
    async read(service, characteristic) {
      needOpen();
      const left = values.get(placeOf({ service, characteristic }));
      const value = left && left.length > 1 ? left.shift() : left?.[0];
      if (!value || value.length === 0) throw new Error(`the device refused the read of ${characteristic}`);
      return value;
    },
    async write(service, characteristic, bytes) {
      needOpen();
      const written = {
        place: placeOf({ service, characteristic }),
        value: Buffer.from(bytes).toString('hex'),
      };
      if (!has.has(written.place)) throw new Error(`the device has no characteristic ${characteristic}`);
      pending.push(written);
      result.writes.push({ ...written, unsettled: unsettled.size });
    },
    async subscribe(service, characteristic, onData) {
      needOpen();
      const place = placeOf({ service, characteristic });
      if (!has.has(place)) throw new Error(`the device has no characteristic ${characteristic}`);
      listeners.set(place, (listeners.get(place) ?? new Set()).add(onData));
    },
    async probe() {},
    signal: async () => null,
    async disconnect() {
      close('closed by this side');
    },
  };

  function close(reason: string): void {
    isOpen = false;
    closing.resolve(reason);
  }

  function indexOf(event: { write: string; value: string }): number {
    const [wanted, text] = [plainPlace(event.write), event.value.toLowerCase()];
    const exact = pending.findIndex(({ place, value }) => place === wanted && value === text);
    if (exact >= 0) return exact;
    return pending.findIndex(({ place, value }) => place === wanted && differsByTime(value, text));
  }

  return {
    link,
    close,
    isSubscribed: (place: string) => listeners.has(plainPlace(place)),
    hasWritten: (event: { write: string; value: string }) => indexOf(event) >= 0,
    /** False: the driver has not written this. */
    takeWrite(event: { write: string; value: string }): boolean {
      const index = indexOf(event);
      if (index >= 0) pending.splice(index, 1);
      return index >= 0;
    },
    notify(place: string, bytes: Uint8Array): void {
      for (const listener of listeners.get(plainPlace(place)) ?? []) listener(Buffer.from(bytes));
    },
  };
}

/** Length of a time of day in ms, in hex digits of 8 bytes: protobuf takes 6 of them. */
const TIME_DIGITS = 16;
const HEAD_DIGITS = 8;

/** Tells whether two writes, in hex, say the same at different times. */
function differsByTime(one: string, other: string): boolean {
  if (one.length !== other.length || one.length <= HEAD_DIGITS + TIME_DIGITS) return false;
  const differing = [...one].flatMap((digit, at) => (digit === other[at] ? [] : [at]));
  const [first = 0, last = 0] = [differing[0], differing.at(-1)];
  return first >= HEAD_DIGITS && last - first < TIME_DIGITS;
}

/** Lists the values that reads of each characteristic return, one after the other; the last one repeats. */
function valuesOf(events: readonly TraceEvent[]): Map<string, Buffer[]> {
  const values = new Map<string, Buffer[]>();
  for (const event of events) {
    if (!('read' in event)) continue;
    const place = plainPlace(event.read);
    values.set(place, [...(values.get(place) ?? []), Buffer.from(event.value, 'hex')]);
  }
  return values;
}

// ── what it recorded ────────────────────────────────────────────────────────────────────────────────────────────────

function collect(
  info: RecordingInfo,
  result: Replayed,
  { forget, settleMs = 0, unsettled, time }: ReplayOptions & { unsettled: Set<object>; time: Time },
): Recording {
  const { codec, sampleRate, frameMs, stored, startedAtMs } = info;
  result.formats.push({ codec, sampleRate, frameMs });
  let next = 0;
  const mine = {};
  const recording: Partial<Recording> = {
    append(bytes, lostMs) {
      next += 1;
      if (stored) unsettled.add(mine);
      if (forget) return;
      const frame = { bytes: new Uint8Array(bytes), lostMs };
      if (stored) result.stored.push({ ...frame, startedAtMs: startedAtMs });
      else result.live.push(frame);
    },
    async settled() {
      const until = next;
      if (settleMs > 0) await time.clock.sleep(settleMs);
      if (until === next) unsettled.delete(mine);
    },
    end() {},
  };
  return recording as Recording; // what a sink needs of it
}
