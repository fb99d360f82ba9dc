import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';
import { z } from 'zod';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { withoutEscapedControls } from '../core/runtime/terminal.ts';
import { type Clock, createClock } from './clock.ts';
import { type DeviceLimits, type Devices, startDevices } from './devices/devices.ts';
import { createMemories } from './devices/driver-memory.ts';
import { pairedOf, readPaired } from './devices/paired.ts';
import { inOrder, loadDrivers } from './driver-host/driver-check.ts';
import { builtInDrivers } from './driver-host/drivers.ts';
import { type BridgeEvent, type Counts, changedCounts, type OnEvent } from './events.ts';
import type { Health, HealthSource } from './health.ts';
import { lockDirectory } from './lock.ts';
import { divertPrinting } from './printed.ts';
import type { LoadNoble } from './radios/noble/library.ts';
import type { RadioLimits } from './radios/noble/radio.ts';
import { openRadio } from './radios/open.ts';
import type { CodecId } from './simulator/frames.ts';
import { openPhotos } from './spool/photos.ts';
import { openSpool } from './spool/spool.ts';
import { fixedKey, keyFromCore } from './uplink/key.ts';
import { askLocalCore, type LocalCore } from './uplink/local-core.ts';
import { bridgeId, type ReportLimits, startReports } from './uplink/report.ts';
import { type CoreAddress, startUplink, type Uplink, type UplinkLimits } from './uplink/uplink.ts';
import { versionOf } from './version.ts';

export interface BridgeOptions {
  config: Config;
  log: Logger;
  clock: Clock;
  /** Play a recording from a simulated pendant over a virtual adapter, instead of using real ones. */
  simulate?: { audio: string; codecId?: CodecId; speed?: number; loop?: boolean; name?: string };
  /** Loads the Bluetooth library; default: the installed one. */
  load?: LoadNoble;
  onEvent?: OnEvent;
  /** Base of relative paths of drivers; default: the working directory. */
  configDir?: string;
  limits?: {
    radio?: Partial<RadioLimits>;
    devices?: Partial<DeviceLimits>;
    uplink?: Partial<UplinkLimits>;
    report?: Partial<ReportLimits>;
    countsMs?: number;
  };
}

export interface Bridge {
  /** Called for an uncaught error of the Bluetooth library, which is then restarted. */
  radioFailed(error: unknown): void;
  /** Ends every connection properly; audio that core has not confirmed stays on disk. */
  stop(): Promise<void>;
}

/** The system's clock. */
export const systemClock = createClock(Date.now);

const COUNTS_EVERY_MS = 60_000;
const RECORDING = fileURLToPath(new URL('./simulator/recording.wav', import.meta.url));

/**
 * Starts the bridge: wearables on one side, core on the other, the spool in between.
 * @throws Error when a driver or the recording of the simulation cannot be loaded
 */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { config, log, clock, simulate, onEvent = () => {}, limits = {} } = options;
  const users = await loadDrivers(config.bridge.drivers, options.configDir ?? process.cwd());
  const drivers = inOrder(users, await builtInDrivers());
  const dataDir = resolve(config.dataDir);
  const paired = await readPaired(join(dataDir, 'bridge'));
  const simulator =
    simulate && (await (await import('./simulator/simulator.ts')).createSimulator(simulate, clock));
  const load = simulator?.load ?? options.load;
  await mkdir(join(dataDir, 'bridge'), { recursive: true, mode: 0o700 });
  let carried: Devices | null = null;
  const unlock = await lockDirectory(join(dataDir, 'bridge'), async request => {
    if (!carried) throw new Error('the bridge is starting; ask again');
    return carried.control(request);
  });
  const spool = await openSpool({
    dir: join(dataDir, 'bridge', 'spool'),
    maxBytes: config.bridge.spoolBytes,
    clock,
    log,
  }).catch(async error => {
    await unlock();
    throw error;
  });

  const photos = await openPhotos({ dir: join(dataDir, 'bridge', 'photos'), log }).catch(async error => {
    await spool.close();
    await unlock();
    throw error;
  });

  const self = {
    id: await bridgeId(join(dataDir, 'bridge', 'id')),
    name: config.bridge.name ?? hostname(),
    version: versionOf(),
  };
  const uplinks = new Map<string, Uplink>();
  const keys = config.bridge.key
    ? fixedKey(config.bridge.key)
    : keyFromCore({ dataDir, account: config.account, clock, log });
  const core = coreAddress(config, { dataDir, clock, log });
  const ownersKeys = new Map(
    paired.flatMap(({ key }) => (key === null ? [] : [[key, fixedKey(key)] as const])),
  );
  /** Returns the keys of the account that owns this wearable. */
  const keysOf = (clientDeviceId: string) =>
    ownersKeys.get(pairedOf(paired, clientDeviceId)?.key ?? '') ?? keys;
  const uplinkOptions = {
    spool,
    photos,
    core,
    language: config.bridge.language,
    conversationTimeoutS: config.bridge.conversationTimeoutS,
    clock,
    log,
    onEvent,
    ...(limits.uplink ? { limits: limits.uplink } : {}),
  };
  const carry = (clientDeviceId: string) => {
    if (!uplinks.has(clientDeviceId))
      uplinks.set(
        clientDeviceId,
        startUplink({ clientDeviceId, keys: keysOf(clientDeviceId), ...uplinkOptions }),
      );
  };
  for (const clientDeviceId of [...spool.devices(), ...photos.devices()]) carry(clientDeviceId);

  const radio = await openRadio({
    config,
    log,
    clock,
    onFault: fault => onEvent({ event: 'malformed', ...fault }),
    load,
    limits: limits.radio,
  });
  const watching = tellStates(radio.states(), log, onEvent);
  const devices = startDevices({
    radio,
    drivers,
    only: [...config.bridge.devices, ...paired.map(({ address }) => address)],
    nameOf: address => paired.find(each => each.address === address)?.name,
    begin(info) {
      carry(info.clientDeviceId);
      return spool.begin(info);
    },
    room: spool.room,
    async keepPhoto({ name, clientDeviceId, source }, { atMs, ...photo }) {
      carry(clientDeviceId);
      await photos.add({ clientDeviceId, deviceName: name, source, atMs }, photo);
    },
    memoryOf: createMemories(join(dataDir, 'bridge', 'devices')).of,
    onButton(clientDeviceId, button) {
      const own = keysOf(clientDeviceId);
      for (const each of allReports) if (each.own === own) each.reports.pressed(clientDeviceId, button);
    },
    clock,
    log,
    onEvent(event) {
      if (event.event === 'device' || event.event === 'about')
        for (const { reports } of allReports) reports.changed();
      onEvent(event);
    },
    ...(limits.devices ? { limits: limits.devices } : {}),
  });
  carried = devices;
  /** Reports by account. */
  const allReports = [keys, ...ownersKeys.values()].map(own => ({
    own,
    reports: startReports({
      bridge: self,
      statuses: async () =>
        (await devices.statuses()).filter(({ clientDeviceId }) => keysOf(clientDeviceId) === own),
      core,
      keys: own,
      clock,
      log,
      ...(limits.report ? { limits: limits.report } : {}),
    }),
  }));
  const countsNow = (): Counts => {
    const { bytes, ...losses } = spool.counts;
    return {
      spool: { bytes, oldestMs: spool.oldestMs(), ...losses },
      photos: photos.counts,
      core: totalOf([...uplinks.values()]),
      radio: radio.counts,
      devices: devices.counts(),
    };
  };
  const tell = (counts: Counts) => {
    log.info(counts, 'counts');
    onEvent({ event: 'counts', ...counts });
  };
  const tellCounts = changedCounts(countsNow(), tell);
  const health = startHealth(config, log, { counts: countsNow, radio: () => radio.state });
  const timer = setInterval(() => tellCounts(countsNow()), limits.countsMs ?? COUNTS_EVERY_MS);

  return {
    radioFailed: radio.failed,
    async stop() {
      clearInterval(timer);
      await (await health)?.close();
      await devices.stop();
      await Promise.all(allReports.map(({ reports }) => reports.stop()));
      simulator?.stop();
      await Promise.all([...uplinks.values()].map(uplink => uplink.stop()));
      tell(countsNow());
      await spool.close();
      await unlock();
      await watching;
    },
  };
}

function totalOf(uplinks: Uplink[]) {
  const total = { connections: 0, failures: 0 };
  for (const { counts } of uplinks) {
    total.connections += counts.connections;
    total.failures += counts.failures;
  }
  return total;
}

/** Opens the health port; null: it is not configured, or in use, which does not affect audio. */
async function startHealth(
  { bridge: { health } }: Config,
  log: Logger,
  source: HealthSource,
): Promise<Health | null> {
  const { host, port } = health;
  if (port === undefined) return null;
  try {
    const { serveHealth } = await import('./health.ts');
    const served = await serveHealth({ host, port }, source);
    log.info({ host, port }, 'health and metrics');
    return served;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.error(`no health and metrics: ${reason}; choose another bridge.health.port`);
    return null;
  }
}

async function tellStates(
  states: AsyncIterable<{ name: string; hint: string }>,
  log: Logger,
  onEvent: OnEvent,
): Promise<void> {
  for await (const { name, hint } of states) {
    if (hint) log.warn({ radio: name }, hint);
    else log.info({ radio: name }, 'Bluetooth');
    onEvent({ event: 'radio', state: name, hint });
  }
}

/** Returns the address of core: as configured, otherwise on this machine; with port 0, core listens on another port at each start. */
function coreAddress({ bridge, host, port }: Config, core: LocalCore): CoreAddress {
  if (bridge.core) return fixed(bridge.core);
  if (port === 0) return signal => addressOf(core, signal);
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return fixed(`ws://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`);
}

function fixed(address: string): CoreAddress {
  return async () => address;
}

async function addressOf(core: LocalCore, signal: AbortSignal): Promise<string> {
  const question = {
    command: 'status',
    args: {},
    result: z.object({ url: z.string() }),
    missing: 'address of core',
    wayOut: `its port is 0: start core on the data directory ${core.dataDir}, or set port or bridge.core`,
  };
  const { url } = await askLocalCore(core, question, signal);
  return url.replace(/^http/, 'ws');
}

/**
 * Runs the bridge until a signal, or the end of a parent process with an IPC channel. The caller exits then, because Bluetooth
 * libraries keep the process alive.
 * @param options `simulate`: a recording; true: the bundled one. `loop`: repeats it. `json`: events on standard output, one per
 * line
 */
export async function runBridge(
  { config, dir }: Pick<LoadedConfig, 'config' | 'dir'>,
  options: {
    simulate?: string | boolean | undefined;
    loop?: boolean | undefined;
    json?: boolean | undefined;
  },
): Promise<void> {
  const { simulate, loop = false, json } = options;
  const stopped = stopRequest();
  const log = createLog(config.log);
  divertPrinting(log);
  const bridge = await startBridge({
    config,
    log,
    clock: systemClock,
    ...(simulate ? { simulate: { audio: simulate === true ? RECORDING : simulate, loop } } : {}),
    configDir: dir,
    onEvent: event => {
      if (json) process.stdout.write(`${JSON.stringify(event)}\n`);
      else log.debug(withoutWords(event), 'event');
    },
  });
  const failed = Promise.withResolvers<never>();
  process.on('uncaughtException', error => {
    if (isOfLibrary(error)) bridge.radioFailed(error);
    else {
      log.fatal({ err: error }, 'the bridge failed');
      failed.reject(error);
    }
  });
  log.info({ reason: await Promise.race([stopped, failed.promise]) }, 'stopping');
  await bridge.stop();
}

/** Handles errors from timers and native callbacks of a Bluetooth library, which the radio cannot catch. */
function isOfLibrary(error: unknown): boolean {
  return error instanceof Error && /[\\/](noble|bluetooth-hci-socket)[\\/]/.test(error.stack ?? '');
}

/** Removes personal data: the log shows only the names of core's messages. */
function withoutWords(event: BridgeEvent): object {
  return OWN_EVENTS.has(event.event) || !('device' in event)
    ? event
    : { event: event.event, device: event.device };
}
const OWN_EVENTS: ReadonlySet<BridgeEvent['event']> = new Set([
  'connected',
  'disconnected',
  'button',
  'photo',
  'stored_audio',
  'about',
]);

/** Resolves to the reason to stop. */
function stopRequest(): Promise<string> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, resolve);
    process.on('disconnect', () => resolve('parent gone'));
  });
}

function createLog({ level, format }: Config['log']): Logger {
  const settings = {
    level,
    timestamp: stdTimeFunctions.isoTime,
    base: null,
    hooks: { streamWrite: withoutEscapedControls },
  };
  if (format === 'json') return pino(settings, process.stderr);
  return pino(
    settings,
    pretty({
      destination: process.stderr,
      sync: true,
      singleLine: true,
      colorize: process.stderr.isTTY === true,
      translateTime: 'HH:MM:ss.l',
    }),
  );
}
