/** Requirements for every driver, as plain checks that throw. Each plays a recorded trace to the driver. */
import assert from 'node:assert/strict';
import type { Driver } from '../driver.ts';
import { checkDriver } from '../driver-host/driver-check.ts';
import { alwaysForbidden } from '../driver-host/forbidden.ts';
import { declaredWrites } from '../driver-host/writes.ts';
import { countUnreadable } from './readable.ts';
import { fingerprint, type Replayed, replay } from './replay.ts';
import { placeOf, type Trace } from './trace.ts';

export { parseTrace, type Trace } from './trace.ts';

export interface DriverSubject {
  driver: Driver;
  trace: Trace;
  /** Number of mutated notifications; default 10,000. */
  mutations?: number;
}

export interface DriverCheck {
  title: string;
  run(subject: DriverSubject): Promise<void>;
}

export const driverChecks: readonly DriverCheck[] = [
  { title: 'has the fields that the contract requires', run: isWellFormed },
  { title: 'decodes all frames of its trace, and no others', run: getsFrames },
  { title: 'decodes frames that their codec can read', run: getsReadableFrames },
  { title: 'writes only what it declares, and what the trace expects', run: writesAsDeclared },
  { title: 'deletes nothing from the device before it is on disk', run: storesBeforeRelease },
  { title: 'reports losses exactly, if notifications are numbered', run: tellsLosses },
  { title: 'ignores duplicates, if notifications are numbered', run: dropsDuplicates },
  { title: 'neither fails nor invents audio, whatever the bytes', run: survives },
  { title: 'ends in time when the link is lost at any moment', run: endsAnywhere },
];

const MUTATIONS = 10_000;

async function isWellFormed({ driver }: DriverSubject): Promise<void> {
  checkDriver(driver.name, driver);
  for (const ref of declaredWrites(driver)) assert.equal(alwaysForbidden(ref), null, ref.characteristic);
}

async function getsFrames({ driver, trace }: DriverSubject): Promise<void> {
  const got = await replay(driver, trace);
  if (got.error) throw got.error;
  const { expect } = trace;
  assert.ok(expect, 'the trace does not say what is expected; add a line {"expect": …}');
  assert.equal(got.live.length, expect.frames, 'frames of live audio');
  assert.equal(got.stored.length, expect.stored, 'frames of stored audio');
  assert.equal(got.counts.lost, expect.lost, 'lost frames');
  assert.equal(got.photos.length, expect.photos ?? 0, 'photos');
  if (expect.sha256) assert.equal(fingerprint(got), expect.sha256, 'the bytes of the frames');
}

/** The audio of a connection that is bad loses frames; it does not fill them with other bytes. */
const MOST_UNREADABLE = 0.1;

async function getsReadableFrames({ driver, trace }: DriverSubject): Promise<void> {
  const { live, formats } = await replay(driver, trace);
  const [format] = formats;
  if (!format) return;
  const of = live.length;
  const bad = countUnreadable(
    format,
    live.map(({ bytes }) => bytes),
  );
  assert.ok(
    bad <= of * MOST_UNREADABLE,
    `${bad} of ${of} frames are no ${format.codec} of ${format.frameMs} ms; correct header, trailer, frameBytes or the codec`,
  );
}

async function writesAsDeclared({ driver, trace }: DriverSubject): Promise<void> {
  const { error, writes } = await replay(driver, trace);
  if (error) throw error;
  const expected = trace.events.filter(event => 'write' in event).length;
  assert.ok(
    writes.length >= expected,
    `it wrote ${writes.length} times, and the trace has ${expected} writes`,
  );
}

/** The disk is slow, so that a driver that does not wait for it is found. */
async function storesBeforeRelease({ driver, trace }: DriverSubject): Promise<void> {
  const { writes } = await replay(driver, trace, { settleMs: 1000 });
  for (const { place, value, unsettled } of writes) {
    const bytes = Buffer.from(value, 'hex');
    const releases = (driver.writes ?? []).some(one => one.releases?.(bytes) ?? false);
    assert.ok(!releases || unsettled === 0, `it wrote ${value} to ${place} while audio was not on disk yet`);
  }
}

/** Replays notifications with a running number and one frame each; no two frames are alike. */
async function numbered(subject: DriverSubject): Promise<Replayed | null> {
  const { driver, trace } = subject;
  const { stream } = driver;
  const isNumbered = driver.createDecoder !== undefined || stream?.framing?.kind === 'counted';
  if (!stream || !isNumbered) return null;
  const whole = await replay(driver, trace);
  const isPcm = whole.formats.some(({ codec }) => codec.startsWith('pcm'));
  const different = new Set(whole.live.map(({ bytes }) => Buffer.from(bytes).toString('hex')));
  return isPcm || whole.counts.lost > 0 || different.size < whole.live.length ? null : whole;
}

async function tellsLosses(subject: DriverSubject): Promise<void> {
  const whole = await numbered(subject);
  if (!whole) return;
  const frameMs = whole.formats[0]?.frameMs ?? 0;
  const keys = whole.live.map(({ bytes }) => Buffer.from(bytes).toString('hex'));
  for (const share of [0.02, 0.1, 0.2]) {
    const dice = createDice(Math.round(share * 100));
    const got = await replay(subject.driver, subject.trace, {
      change: (bytes, _, place) => (isAudio(subject, place) && dice() < share ? [] : [bytes]),
    });
    let last = -1;
    for (const { bytes, lostMs } of got.live) {
      const at = keys.indexOf(Buffer.from(bytes).toString('hex'), last + 1);
      assert.ok(at > last, 'a frame was not sent, or is out of order');
      const missing = last < 0 ? 0 : at - last - 1;
      assert.equal(Math.round(lostMs / frameMs), missing, `frames lost before frame ${at}`);
      last = at;
    }
    assert.ok(got.live.length > 0, 'it gave no frames at all');
  }
}

function isAudio({ driver: { stream } }: DriverSubject, place: string): boolean {
  return stream !== undefined && placeOf(stream.audio) === place;
}

async function dropsDuplicates(subject: DriverSubject): Promise<void> {
  const whole = await numbered(subject);
  if (!whole) return;
  const got = await replay(subject.driver, subject.trace, {
    change: (bytes, index, place) => (isAudio(subject, place) && index % 5 === 0 ? [bytes, bytes] : [bytes]),
  });
  assert.equal(fingerprint(got), fingerprint(whole), 'frames differ from those that were sent');
}

async function survives({ driver, trace, mutations = MUTATIONS }: DriverSubject): Promise<void> {
  const notifications = trace.events.filter(event => 'notify' in event).length;
  assert.ok(notifications > 0, 'the trace has no notifications');
  let bytesIn = 0;
  let packets = 0;
  // A driver may give up at the first notification, every time.
  for (let round = 0; packets < mutations && round < mutations; round += 1) {
    const mutate = mutator(round + 1);
    const got = await replay(driver, trace, {
      lenient: true,
      change(bytes) {
        const out = mutate(bytes);
        packets += out.length;
        for (const one of out) bytesIn += one.length;
        return out;
      },
    });
    if (got.error && !isUnfit(got.error)) throw got.error;
    const out = [...got.live, ...got.stored].map(({ bytes }) => bytes);
    const bytesOut = [...out, ...got.photos].reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytesOut <= bytesIn * MOST_EXPANSION, `it made ${bytesOut} bytes from ${bytesIn}`);
    for (const { lostMs } of got.live) assert.ok(lostMs >= 0 && Number.isFinite(lostMs), `${lostMs} ms lost`);
  }
}

/** ADPCM has four bits a sample, PCM sixteen. */
const MOST_EXPANSION = 4;

/** A driver may call a device unsuitable. A failure of the driver is worded differently. */
function isUnfit(error: Error): boolean {
  return !/^the driver \S+ failed: /.test(error.message);
}

async function endsAnywhere({ driver, trace }: DriverSubject): Promise<void> {
  const steps = Math.min(20, trace.events.length);
  for (let step = 0; step < steps; step += 1) {
    const events = trace.events.slice(0, Math.floor((step * trace.events.length) / steps));
    const reads = trace.events.filter(event => 'read' in event);
    const { error } = await replay(driver, { ...trace, events: [...reads, ...events] });
    if (error && !isUnfit(error)) throw error;
  }
}

function createDice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Bits that flip, bytes that are missing or too many, notifications that are doubled, lost or swapped for noise. */
function mutator(seed: number): (bytes: Buffer) => Buffer[] {
  const dice = createDice(seed);
  const below = (limit: number) => Math.floor(dice() * limit);
  const MUTATIONS_OF_ONE: ((bytes: Buffer) => Buffer[])[] = [
    bytes => [bytes],
    bytes => [bytes, bytes],
    () => [Buffer.alloc(0)],
    bytes => [bytes.subarray(0, below(bytes.length + 1))],
    bytes => [bytes.subarray(below(bytes.length + 1))],
    bytes => [Buffer.concat([bytes, bytes.subarray(0, below(bytes.length + 1))])],
    bytes => [Buffer.from(bytes.map(() => below(256)))],
    bytes => {
      const copy = Buffer.from(bytes);
      for (let flips = 1 + below(4); flips > 0 && copy.length > 0; flips -= 1) {
        const at = below(copy.length);
        copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
      }
      return [copy];
    },
    bytes => {
      const copy = Buffer.from(bytes);
      const at = below(Math.min(8, copy.length));
      if (copy.length > 0) copy[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)] ?? 0;
      return [copy];
    },
  ];
  return bytes => MUTATIONS_OF_ONE[below(MUTATIONS_OF_ONE.length)]?.(bytes) ?? [bytes];
}
