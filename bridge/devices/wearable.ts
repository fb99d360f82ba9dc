import type { Logger } from 'pino';
import { onOneLine } from '../../core/runtime/terminal.ts';
import type { Clock } from '../clock.ts';
import type {
  Button,
  Confirmed,
  Driver,
  DriverLog,
  DriverMemory,
  PacketCounts,
  Ref,
  Session,
  Sink,
  WireFormat,
} from '../driver.ts';
import { type DeclaredOptions, listenTo, smallMtu } from '../driver-host/declared.ts';
import type { CameraPhoto } from '../framing/photo.ts';
import { LinkLostError, TimeLimitError, Unfit } from '../guard.ts';
import type { Link } from '../link.ts';
import type { Recording, RecordingInfo } from '../spool/recording.ts';
import { type Controls, createControls } from './controls.ts';
import { createDeviceLink, type DriverLink } from './device-link.ts';
import { createSink, identityOf, type OpenSink } from './sink.ts';

/** A device that a driver recognised. */
export interface Wearable {
  address: string;
  name: string;
  /** Drivers whose `match` fits its advertisement, in order of preference. */
  candidates: readonly Driver[];
  /** Over all its connections. */
  counts: PacketCounts;
  /** True: reading its battery level has stalled or ended a connection before, and is not tried again. */
  keepsBatterySecret: boolean;
  /** Counts since it was first connected. */
  identified: Identified | null;
  /** Whether its model and firmware were read. */
  introduced: boolean;
}

/** Facts about a device that a driver has confirmed. */
export interface Identified {
  clientDeviceId: string;
  source: string;
  /** Its name. */
  driver: string;
  inferred: readonly string[];
}

export interface WearableStatus {
  state: 'streaming' | 'quiet' | 'muted';
  codec: string;
  /** Percent; null: not reported. */
  battery: number | null;
  /** Reason why it is quiet. */
  reason: string | null;
}

/** Reports of a wearable in addition to its audio. */
export type WearableNews =
  | { kind: 'button'; button: Button }
  | { kind: 'progress'; bytes: number; ofBytes: number }
  | { kind: 'about'; facts: Parameters<Sink['about']>[0] }
  | PhotoNews;

export interface PhotoNews extends CameraPhoto {
  kind: 'photo';
  /** UTC epoch ms. */
  atMs: number;
}

export interface ListenOptions {
  wearable: Wearable;
  link: Link;
  /** Opens the recordings of this connection. */
  begin(info: RecordingInfo): Recording;
  /** Resolves when there is room for more audio that a device has stored. */
  room(): Promise<void>;
  /** Small values of this device, by its id. */
  memoryOf(clientDeviceId: string): DriverMemory;
  clock: Clock;
  log: Logger;
  /** Time without any packet after which it is reported as quiet. */
  silentMs: number;
  /** Time without any packet after which it is asked whether it is still there. */
  probeMs: number;
  /** Called whenever its state changes. */
  onStatus(status: WearableStatus): void;
  /** Called once the device streams. */
  onControls?(controls: Controls): void;
  /** Resolves once the photo is stored. */
  onNews(news: WearableNews): Promise<void>;
}

/** Time limit for a driver to state why it ended, once the link is gone. */
const REASON_MS = 2000;
/**
 * Time limit for a driver to end. It may wait for a slow disk until it knows what it has stored; a connection that began
 * meanwhile would fetch that again.
 */
const END_MS = 30_000;

/**
 * Runs the driver until the link is gone, and stores what it reports.
 * @returns why it ended, and whether the connection was of any use
 * @throws Unfit, or the link's error
 */
export async function listen(options: ListenOptions): Promise<{ reason: string; worked: boolean }> {
  const { wearable, link, clock } = options;
  const driver = await confirm(wearable, link);
  const source = driver.source ?? driver.name;
  const { clientDeviceId } = identityOf(wearable, source);
  wearable.identified = { clientDeviceId, source, driver: driver.name, inferred: driver.inferred ?? [] };
  const watch = createWatch(options, driver);
  const ended = new AbortController();
  void link.closed.then(() => ended.abort());
  const { session, sink } = createSession({ ...options, driver }, watch, ended.signal);
  const program = runProgram(driver, session);
  const finished = program.then(
    () => (ended.signal.aborted ? link.closed : 'the driver has nothing more to do'),
    error => rejectUnlessLost(error, { name: driver.name, link, signal: ended.signal, watch }),
  );
  finished.catch(() => {}); // if the link was gone already
  try {
    const lost = watch
      .over(ended.signal)
      .then(reason => firstOf(finished, reason, { clock, withinMs: REASON_MS }));
    const reason = await Promise.race([finished, lost]);
    return { reason, worked: sink.hasRecorded || watch.hasAnswered() };
  } finally {
    ended.abort();
    await firstOf(
      program.catch(() => {}),
      undefined,
      { clock, withinMs: END_MS },
    );
    sink.end();
  }
}

/** Resolves to the result of `work`, or to `instead` if that takes long. */
async function firstOf<T>(
  work: Promise<T>,
  instead: T,
  { clock, withinMs }: { clock: Clock; withinMs: number },
): Promise<T> {
  const waiting = new AbortController();
  const late = clock.sleep(withinMs, waiting.signal).then(
    () => instead,
    () => instead,
  );
  return Promise.race([work, late]).finally(() => waiting.abort());
}

async function runProgram(driver: Driver, session: Session): Promise<void> {
  if (driver.run) await driver.run(session);
  else if (driver.stream) await session.listen(driver.stream);
}

/** Rejects with a driver's error, unless the link is gone, which is not the driver's fault. */
async function rejectUnlessLost(
  error: unknown,
  { name, link, signal, watch }: { name: string; link: Link; signal: AbortSignal; watch: Watch },
): Promise<string> {
  if (error instanceof Unfit) throw error;
  const isOfLink = error instanceof LinkLostError || error instanceof TimeLimitError;
  if (isOfLink && !watch.hasStreamed()) throw error;
  if (signal.aborted) return link.closed;
  if (isOfLink) return messageOf(error);
  throw new Unfit(`the driver ${name} failed: ${messageOf(error)}`);
}

/**
 * Returns the first driver that finds its services.
 * @throws Unfit with what the first driver misses
 */
export async function confirm({ candidates }: Pick<Wearable, 'candidates'>, link: Link): Promise<Driver> {
  const reasons: string[] = [];
  for (const driver of candidates) {
    const missing = await missingFor(driver, link);
    if (!missing) return driver;
    reasons.push(`${missing}, so it is not what ${driver.name} knows`);
  }
  throw new Unfit(reasons[0] ?? 'no driver knows it');
}

async function missingFor({ match }: Driver, link: Link): Promise<string | null> {
  for (const wanted of match.confirm) {
    const found = await link.properties(wanted.service, wanted.characteristic);
    const missing = missingOf(wanted, found);
    if (missing) return missing;
  }
  return null;
}

function missingOf(wanted: Confirmed, found: readonly string[]): string | null {
  const { characteristic, properties = [], absent } = wanted;
  if (absent) return found.length > 0 ? `it has a characteristic ${characteristic}` : null;
  if (found.length === 0) return `it has no characteristic ${characteristic}`;
  const lacking = properties.find(property => !found.includes(property));
  return lacking ? `its characteristic ${characteristic} lacks ${lacking}` : null;
}

function createSession(
  options: ListenOptions & { driver: Driver },
  watch: Watch,
  signal: AbortSignal,
): { session: Session; sink: OpenSink } {
  const { wearable, driver, link, clock, log: logger } = options;
  const { counts } = wearable;
  const identity = identityOf(wearable, driver.source ?? driver.name);
  const log = logOf(logger, wearable);
  const sink = createSink({
    identity,
    counts,
    begin: options.begin,
    room: options.room,
    clock,
    onStream(format) {
      watch.streams(format);
      void prepare();
    },
    onFrame: watch.heard,
    onBattery: battery => watch.change({ battery }),
    onButton: button => void options.onNews({ kind: 'button', button }),
    onState: watch.state,
    onPhoto: (jpeg, { atMs, quarterTurns }) => options.onNews({ kind: 'photo', jpeg, atMs, quarterTurns }),
    onProgress: done => void options.onNews({ kind: 'progress', ...done }),
    onAbout: facts => void options.onNews({ kind: 'about', facts }),
  });
  const memory = options.memoryOf(identity.clientDeviceId);
  let isPrepared = false;
  /** Postponed until the device streams, because audio that it sends before is lost. */
  async function prepare(): Promise<void> {
    if (isPrepared) return;
    isPrepared = true;
    const controls = createControls({ driver, link: device, memory, log });
    await introduce(options, device).catch(error => log.debug({ err: error }, 'it was not introduced'));
    await controls.restore();
    options.onControls?.(controls);
  }
  const device = createDeviceLink({
    driver,
    link,
    clock,
    released: sink.released,
    heard: () => {
      if (!driver.createDecoder && !driver.stream) counts.packets += 1;
    },
    log,
  });
  const declared: DeclaredOptions = {
    driver,
    link: device,
    sink,
    counts,
    clock,
    signal,
    keepsBatterySecret: () => wearable.keepsBatterySecret,
    onBatterySecret() {
      wearable.keepsBatterySecret = true;
    },
    onListening(format) {
      watch.streams(format);
      void prepare();
    },
    onPacket: watch.heard,
  };
  const session: Session = {
    link: device,
    sink,
    clock: { now: clock.now, sleep: ms => clock.sleep(ms, signal) },
    signal,
    log,
    memory,
    listen: stream => listenTo(stream, declared),
    unfit: reason => new Unfit(reason),
  };
  return { session, sink };
}

const MODEL: Ref = { service: '180a', characteristic: '2a24' };
const FIRMWARE: Ref = { service: '180a', characteristic: '2a26' };

/** Reads model and firmware, once: a device that does not answer this answers nothing after it. */
async function introduce(
  { wearable, onNews }: Pick<ListenOptions, 'wearable' | 'onNews'>,
  link: DriverLink,
): Promise<void> {
  if (wearable.introduced) return;
  wearable.introduced = true;
  const text = async (ref: Ref) => {
    if (link.isStalled) return undefined;
    const isThere = (await link.properties(ref).catch(() => null))?.has('read');
    const bytes = isThere ? await link.read(ref, { optional: true }) : undefined;
    return (
      onOneLine(Buffer.from(bytes ?? []).toString())
        .trim()
        .slice(0, MAX_FACT_CHARS) || undefined
    );
  };
  const [model, firmware] = [await text(MODEL), await text(FIRMWARE)];
  if (!model && !firmware) return;
  await onNews({ kind: 'about', facts: { ...(model && { model }), ...(firmware && { firmware }) } });
}

const MAX_FACT_CHARS = 100;

function logOf(log: Logger, { name }: Wearable): DriverLog {
  return {
    debug: (fields, text) => log.debug({ device: name, ...fields }, text),
    info: (fields, text) => log.info({ device: name, ...fields }, text),
    warn: (fields, text) => log.warn({ device: name, ...fields }, text),
  };
}

/** Factor for drivers with their own program, which talk to the device often enough. */
const PATIENCE = 6;

/** Watches whether the device is still there, and whether it sends anything. */
type Watch = ReturnType<typeof createWatch>;

function createWatch({ link, clock, silentMs, probeMs, onStatus }: ListenOptions, driver: Driver) {
  const status: WearableStatus = { state: 'streaming', codec: '', battery: null, reason: null };
  const probed = probeRef(driver);
  let hasStreamed = false;
  let heardAt = clock.now();
  let hasHeard = false;
  let isQuiet = false;
  let answered = false;

  function change(news: Partial<WearableStatus>): void {
    Object.assign(status, news);
    if (hasStreamed) onStatus({ ...status });
  }

  function becomeQuiet(state: 'quiet' | 'muted', reason: string): void {
    if (isQuiet && status.state === state) return;
    isQuiet = true;
    change({ state, reason });
  }

  function heard(): void {
    hasHeard = true;
    heardAt = clock.now();
    if (isQuiet) change({ state: 'streaming', reason: null });
    isQuiet = false;
  }

  return {
    change,
    heard,
    hasStreamed: () => hasStreamed,
    hasAnswered: () => answered,
    streams(format: WireFormat) {
      hasStreamed = true;
      change({ codec: format.codec });
    },
    state(state: 'listening' | 'quiet' | 'muted') {
      if (state === 'listening') heard();
      else becomeQuiet(state, state === 'muted' ? 'its microphone is muted' : 'its microphone is asleep');
    },
    /** Resolves with the reason when the link is gone. A silent device may be asleep or muted. */
    async over(signal: AbortSignal): Promise<string> {
      for (;;) {
        await clock.sleep(probeMs, signal).catch(() => {});
        const quietMs = clock.now() - heardAt;
        const isDue = quietMs >= (hasStreamed ? probeMs : probeMs * PATIENCE);
        if (!signal.aborted && isDue) await link.probe(probed.service, probed.characteristic);
        if (signal.aborted) return link.closed;
        answered = true;
        if (!isQuiet && hasStreamed && quietMs >= silentMs)
          becomeQuiet('quiet', whyQuiet(hasHeard, link, driver));
      }
    },
  };
}

/**
 * Characteristics that are read to find out whether a device is still there. By the specification every device has
 * the name.
 */
const DEVICE_NAME: Ref = { service: '1800', characteristic: '2a00' };

function probeRef({ stream }: Driver): Ref {
  return stream && 'from' in stream.format ? stream.format.from : DEVICE_NAME;
}

function whyQuiet(hasSentBefore: boolean, link: Link, { stream }: Driver): string {
  const tooSmall = hasSentBefore ? null : smallMtu(link, stream ?? {});
  if (tooSmall) return `it is connected and sends nothing: ${tooSmall}`;
  if (hasSentBefore || link.hasDataLength !== false)
    return 'it is connected and sends nothing: its microphone may be asleep or muted';
  return 'it is connected and sends nothing: this adapter has no data length extension (Bluetooth 4.0 or 4.1), without which some pendants never send audio; use an adapter with Bluetooth 4.2 or newer';
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
