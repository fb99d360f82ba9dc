import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { createBackoff } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import type { DeviceStatus } from '../devices/devices.ts';
import type { Button } from '../driver.ts';
import type { KeySource } from './key.ts';
import type { CoreAddress } from './uplink.ts';

export interface ReportLimits {
  /** Interval of reports while nothing changes. */
  everyMs: number;
  /** Time for which changes are gathered into one report. */
  gatherMs: number;
  answerMs: number;
  firstRetryMs: number;
}

const LIMITS: ReportLimits = { everyMs: 60_000, gatherMs: 250, answerMs: 10_000, firstRetryMs: 1000 };
const FAREWELL_MS = 1000;
/** Button presses that wait for a report; beyond this number the oldest is dropped. */
const MAX_PRESSES = 100;
/** Button presses that core accepts in one report. */
const MAX_DEVICES = 64;

interface Press {
  id: string;
  button: Button;
  atMs: number;
}

export interface Reports {
  /** Schedules a report because the state of a wearable has changed. */
  changed(): void;
  pressed(clientDeviceId: string, button: Button): void;
  /** Sends a last report, that no wearable is connected, and stops. */
  stop(): Promise<void>;
}

/**
 * Reports the state of the bridge's wearables to core, on every change and once a minute. Audio does not depend on it.
 * @param bridge id of this bridge in core, and its display name
 */
export function startReports({
  bridge,
  statuses,
  core,
  keys,
  clock,
  log,
  limits: given = {},
}: {
  bridge: { id: string; name: string; version: string };
  statuses(): Promise<DeviceStatus[]>;
  core: CoreAddress;
  keys: KeySource;
  clock: Clock;
  log: Logger;
  limits?: Partial<ReportLimits>;
}): Reports {
  const limits = { ...LIMITS, ...given };
  const stopping = new AbortController();
  const { signal } = stopping;
  const backoff = createBackoff({ firstMs: limits.firstRetryMs, maxMs: limits.everyMs });
  let presses: Press[] = [];
  let news = new AbortController();
  let told = '';

  async function run(): Promise<void> {
    while (!signal.aborted) {
      news = new AbortController();
      const waitMs = (await attempt(signal)) ? limits.everyMs : backoff.next();
      const waking = waitMs === limits.everyMs ? AbortSignal.any([signal, news.signal]) : signal;
      await clock.sleep(waitMs, waking).catch(() => {});
      if (!signal.aborted) await clock.sleep(limits.gatherMs, signal).catch(() => {});
    }
  }

  /** Sends a report. @returns whether core accepted it */
  async function attempt(ending: AbortSignal): Promise<boolean> {
    const devices = (await statuses()).slice(0, MAX_DEVICES);
    if (devices.length === 0) return true;
    const sent = [...presses];
    const problem = await send({ devices, sent }, ending).catch(error => {
      log.debug({ err: error }, 'cannot report the wearables to core'); // the uplink logs it as a warning
      return '';
    });
    if (problem !== null) {
      if (problem !== '' && problem !== told) log.warn(`cannot report the wearables to core: ${problem}`);
      told = problem;
      return false;
    }
    told = '';
    backoff.reset();
    presses = presses.filter(press => !sent.includes(press));
    return true;
  }

  /** Sends a report. @returns why core did not accept it; null: it did */
  async function send(
    { devices, sent }: { devices: DeviceStatus[]; sent: Press[] },
    ending: AbortSignal,
  ): Promise<string | null> {
    const url = reportUrl(await core(ending), bridge.id);
    const key = await keys.get(ending);
    const response = await fetch(url, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(reportOf(bridge, devices, sent)),
      redirect: 'error',
      signal: AbortSignal.any([ending, AbortSignal.timeout(limits.answerMs)]),
    });
    await response.body?.cancel();
    if (response.ok) return null;
    return response.status === 404 ? 'it is older than the bridge' : `it answers ${response.status}`;
  }

  const running = run();
  return {
    changed: () => news.abort(),
    pressed(id, button) {
      const atMs = Math.max(clock.now(), (presses.at(-1)?.atMs ?? 0) + 1); // no two at the same time
      presses = [...presses, { id, button, atMs }].slice(-MAX_PRESSES);
      news.abort();
    },
    async stop() {
      stopping.abort();
      await running;
      await attempt(AbortSignal.timeout(FAREWELL_MS));
    },
  };
}

function reportUrl(core: string, bridgeId: string): URL {
  const url = new URL(core.replace(/^ws/, 'http'));
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/bridges/${encodeURIComponent(bridgeId)}`;
  return url;
}

function reportOf(
  { name, version }: { name: string; version: string },
  devices: DeviceStatus[],
  presses: Press[],
) {
  return {
    name,
    version,
    devices: devices.map(device => ({
      id: device.clientDeviceId,
      name: device.name,
      state: device.state,
      source: device.source,
      driver: device.driver,
      model: device.model,
      firmware: device.firmware,
      reason: device.reason,
      codec: device.codec,
      battery: device.battery,
      signal_dbm: device.rssi,
      storage_free_bytes: device.storageFreeBytes,
      frames: device.frames,
      lost: device.lost,
      notes: device.inferred,
    })),
    buttons: presses.map(({ id, button, atMs }) => ({ id, button, at: new Date(atMs).toISOString() })),
  };
}

const ID = /^[0-9a-f-]{36}$/;

/** Returns the permanent id of this bridge, which is created at its first start. */
export async function bridgeId(file: string): Promise<string> {
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (ID.test(kept)) return kept;
  const id = randomUUID();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, `${id}\n`, { mode: 0o600 });
  return id;
}
