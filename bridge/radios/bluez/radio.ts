import type { Logger } from 'pino';
import { onOneLine } from '../../../core/runtime/terminal.ts';
import { createBackoff } from '../../backoff.ts';
import type { Clock } from '../../clock.ts';
import { guard } from '../../guard.ts';
import type { Link } from '../../link.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import type { Advertisement, Radio, RadioCounts, RadioState } from '../../radio.ts';
import { createWatched } from '../../watched.ts';
import { createScans } from '../scans.ts';
import { type Bus, BusError, DBUS, openBus } from './bus.ts';
import { type BluezLinkLimits, createBluezLink } from './link.ts';
import { createObjects, type Objects, type Properties } from './objects.ts';

export interface BluezLimits extends BluezLinkLimits {
  /** Time limit of a connection, including the discovery of services. */
  connectMs: number;
  /** Time limit of a call that bluetoothd answers without asking a device. */
  callMs: number;
  /** First pause before the bus or bluetoothd is tried again; doubles. */
  retryMs: number;
  /** Interval at which devices in range are reported again. */
  announceMs: number;
}

const LIMITS: BluezLimits = {
  attMs: 10_000,
  pairMs: 30_000,
  connectMs: 30_000,
  callMs: 5000,
  retryMs: 1000,
  announceMs: 2000,
};
const MAX_RETRY_MS = 60_000;
const [ADAPTER, DEVICE] = ['Adapter1', 'Device1'];
/** Assumed signal of a device that is connected already, and therefore does not advertise. */
const CONNECTED_DBM = -60;

const HINTS = {
  stopped: 'bluetoothd does not run; start it: sudo systemctl start bluetooth',
  denied: 'this account may not use bluetoothd; add it to the group: sudo usermod -aG bluetooth $USER',
  missing: 'bluetoothd has no such adapter; bluetoothctl list shows what it has',
  off: 'the Bluetooth adapter is off; switch it on: bluetoothctl power on',
} as const;

/**
 * Creates a radio that uses an adapter through bluetoothd (BlueZ) over D-Bus. Needed for devices that must be paired,
 * and where bluetoothd uses the adapter itself.
 * @param adapter such as `hci1`; default: the first
 * @param address of the bus; default: the system bus
 */
export function createBluezRadio({
  adapter,
  address,
  log,
  clock,
  limits: given = {},
}: {
  adapter?: string | undefined;
  address?: string | undefined;
  log: Logger;
  clock: Clock;
  limits?: Partial<BluezLimits>;
}): Radio {
  const limits = { ...LIMITS, ...given };
  const state = createWatched<RadioState>({ name: 'starting', hint: '' });
  const counts: RadioCounts = { malformed: {}, restarts: 0 };
  const scans = createScans();
  const links = new Set<ReturnType<typeof createBluezLink>>();
  const stopping = new AbortController();
  let session: { bus: Bus; objects: Objects; owner: string } | null = null;
  let connecting: { path: string; lose(reason: string): void } | null = null;
  const inTurn = oneAtATime();
  let discovery: Promise<void> = Promise.resolve();
  let isDiscovering = false;

  function become(next: RadioState): void {
    if (state.now.name === 'closed' || (state.now.name === next.name && state.now.hint === next.hint)) return;
    const was = state.now.name;
    state.become(next);
    if (was === 'ready' && next.name !== 'ready') lose(next.hint || 'the radio was closed');
    if (next.name === 'ready') void discover();
  }

  function lose(reason: string): void {
    isDiscovering = false;
    connecting?.lose(reason);
    for (const link of [...links]) link.lose(reason);
    links.clear();
  }

  // ── the bus and bluetoothd ────────────────────────────────────────────────────────────────────────────────────

  async function run(): Promise<void> {
    const backoff = createBackoff({ firstMs: limits.retryMs, maxMs: MAX_RETRY_MS });
    while (!stopping.signal.aborted) {
      try {
        const bus = await openBus(address);
        try {
          backoff.reset();
          become({ name: 'off', hint: await follow(bus) });
        } finally {
          session = null;
          bus.close();
        }
      } catch (error) {
        become(stateFromError(error));
      }
      if (!stopping.signal.aborted) await clock.sleep(backoff.next(), stopping.signal).catch(() => {});
    }
  }

  /** Follows bluetoothd on this bus, also through its restarts. @returns the reason why the bus connection ended */
  async function follow(bus: Bus): Promise<string> {
    const objects = createObjects(bus);
    const mine = { bus, objects, owner: '' };
    bus.onSignal(signal => {
      if (signal.sender === DBUS && signal.member === 'NameOwnerChanged') {
        const [name, , owner] = signal.body;
        if (name === 'org.bluez') void onOwner(mine, String(owner));
      } else if (signal.sender === mine.owner) objects.receive(signal);
    });
    objects.onChange(change => {
      if (mine.owner === '') return;
      if (change.interface === ADAPTER) judge(objects);
      else if (change.interface === DEVICE) onDevice(change.path, change.properties);
    });
    for (const rule of [
      "type='signal',sender='org.bluez'",
      `type='signal',sender='${DBUS}',member='NameOwnerChanged',arg0='org.bluez'`,
    ])
      await toBus(bus, 'AddMatch', rule);
    session = mine;
    const owner = await toBus(bus, 'GetNameOwner', 'org.bluez').catch(() => ['']);
    await onOwner(mine, String(owner[0] ?? ''));
    const aborted = new Promise<string>(resolve =>
      stopping.signal.addEventListener('abort', () => resolve('stopped'), { once: true }),
    );
    return Promise.race([bus.closed, aborted]);
  }

  function toBus(bus: Bus, member: string, text: string): Promise<unknown[]> {
    return bus.call({
      destination: DBUS,
      path: '/org/freedesktop/DBus',
      interface: DBUS,
      member,
      signature: 's',
      body: [text],
      limitMs: limits.callMs,
    });
  }

  async function onOwner(mine: NonNullable<typeof session>, owner: string): Promise<void> {
    mine.owner = owner;
    if (owner === '') {
      become({ name: 'off', hint: HINTS.stopped });
      mine.objects.clear();
      return;
    }
    try {
      await mine.objects.load(limits.callMs);
      judge(mine.objects);
    } catch (error) {
      become(stateFromError(error));
    }
  }

  function adapterOf(objects: Objects): { path: string; properties: Properties } | undefined {
    const all = objects.having(ADAPTER).sort((a, b) => a.path.localeCompare(b.path));
    return adapter === undefined ? all[0] : all.find(({ path }) => path === `/org/bluez/${adapter}`);
  }

  function judge(objects: Objects): void {
    const mine = adapterOf(objects);
    if (!mine) become({ name: 'unsupported', hint: HINTS.missing });
    else if (mine.properties.Powered !== true) become({ name: 'off', hint: HINTS.off });
    else become({ name: 'ready', hint: '' });
  }

  // ── scanning ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Starts or stops discovery to match the present state. */
  function discover(): Promise<void> {
    discovery = discovery.then(async () => {
      const mine = session && adapterOf(session.objects);
      const wanted = scans.size > 0 && connecting === null && state.now.name === 'ready';
      if (!session || !mine || wanted === isDiscovering) return;
      const call = (member: string, signature = '', body: unknown[] = []) =>
        session?.bus.call({
          path: mine.path,
          interface: `org.bluez.${ADAPTER}`,
          member,
          signature,
          body,
          limitMs: limits.callMs,
        });
      const { variant } = session.bus;
      const filter = { Transport: variant('s', 'le'), DuplicateData: variant('b', true) };
      try {
        if (wanted) await call('SetDiscoveryFilter', 'a{sv}', [filter]);
        await call(wanted ? 'StartDiscovery' : 'StopDiscovery');
        isDiscovering = wanted;
      } catch (error) {
        if (!wanted) isDiscovering = false;
        log.warn({ reason: messageOf(error) }, 'bluetoothd does not scan');
      }
    });
    return discovery;
  }

  /** Handles changed properties of a device. */
  function onDevice(path: string, changed: Properties): void {
    if ('RSSI' in changed || 'ManufacturerData' in changed || 'Connected' in changed) announce(path);
  }

  function announce(path: string): void {
    const known = session?.objects.get(path, DEVICE);
    if (!known || scans.size === 0 || state.now.name !== 'ready' || !isOfAdapter(path)) return;
    if ([...links].some(({ link }) => link.id === path) || connecting?.path === path) return;
    if (known.RSSI === undefined && known.Connected !== true) return; // bluetoothd remembers it, but it is not in range
    const sighting = advertisementOf(path, known);
    scans.push(sighting);
  }

  function isOfAdapter(path: string): boolean {
    const mine = session && adapterOf(session.objects);
    return mine !== null && mine !== undefined && path.startsWith(`${mine.path}/`);
  }

  function onScansChanged(): void {
    for (const { path } of session?.objects.having(DEVICE) ?? []) announce(path);
    void discover();
  }

  const announcing = setInterval(() => {
    if (scans.size > 0) onScansChanged(); // also retries a discovery that was refused
  }, limits.announceMs);
  announcing.unref();

  // ── connecting ────────────────────────────────────────────────────────────────────────────────────────────────

  async function connectNow(id: string, signal: AbortSignal): Promise<Link> {
    signal.throwIfAborted();
    const mine = session;
    const known = mine?.objects.get(id, DEVICE);
    if (!mine || !known || state.now.name !== 'ready') throw new Error(`the device ${id} is not in range`);
    const lost = Promise.withResolvers<string>();
    const onAbort = () => lost.resolve('it was cancelled');
    signal.addEventListener('abort', onAbort);
    connecting = { path: id, lose: lost.resolve };
    const device = (member: string) =>
      mine.bus.call({ path: id, interface: `org.bluez.${DEVICE}`, member, limitMs: limits.connectMs });
    try {
      await discover(); // many adapters cannot scan and connect at once
      await guard(
        'connecting',
        device('Connect').then(() => resolved(mine.objects, id)),
        {
          limitMs: limits.connectMs,
          lost: lost.promise,
        },
      );
      const { name } = advertisementOf(id, known);
      const made = createBluezLink({ ...mine, path: id, name: name || id, limits });
      links.add(made);
      void made.link.closed.then(() => links.delete(made));
      return made.link;
    } catch (error) {
      void device('Disconnect').catch(() => {});
      throw error instanceof BusError ? new Error(`connecting: ${error.message}`) : error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      connecting = null;
      void discover();
    }
  }

  const running = run();
  return {
    get state() {
      return state.now;
    },
    counts,
    states: state.changes,
    scan: signal => scans.open(signal, onScansChanged),
    connect(id, { signal }) {
      return inTurn(() => connectNow(id, signal));
    },
    failed() {},
    async close() {
      if (stopping.signal.aborted) return;
      clearInterval(announcing);
      scans.end();
      await discover();
      await Promise.all([...links].map(({ link }) => link.disconnect()));
      stopping.abort();
      await running;
      become({ name: 'closed', hint: '' });
      state.end();
    },
  };
}

/** Resolves when bluetoothd knows all services of the device. */
async function resolved(objects: Objects, path: string): Promise<void> {
  if (objects.get(path, DEVICE)?.ServicesResolved === true) return;
  await new Promise<void>((resolve, reject) => {
    const forget = objects.onChange(change => {
      if (change.path !== path || change.interface !== DEVICE) return;
      const { ServicesResolved, Connected } = change.properties;
      if (ServicesResolved === true) resolve();
      else if (Connected === false || change.gone) reject(new Error('the device disconnected at once'));
      else return;
      forget();
    });
  });
}

function advertisementOf(path: string, known: Properties): Advertisement {
  const manufacturers = Object.entries((known.ManufacturerData ?? {}) as Record<string, unknown>);
  const [manufacturer] = manufacturers;
  return {
    id: path,
    address: String(known.Address ?? path).toLowerCase(),
    name: onOneLine(String(known.Name ?? '')).trim(),
    serviceUuids: (known.UUIDs ?? []) as string[],
    manufacturerData: manufacturer ? withNumber(Number(manufacturer[0]), manufacturer[1]) : null,
    rssi: typeof known.RSSI === 'number' ? known.RSSI : CONNECTED_DBM,
  };
}

/** Puts the company identifier (little-endian) in front of the data, as in an advertisement. */
function withNumber(company: number, data: unknown): Uint8Array {
  const bytes = Buffer.isBuffer(data) ? data : Buffer.of();
  return Buffer.concat([Buffer.of(company & 0xff, company >> 8), bytes]);
}

function stateFromError(error: unknown): RadioState {
  const name = error instanceof BusError ? error.errorName : '';
  if (/AccessDenied/.test(name)) return { name: 'unauthorized', hint: HINTS.denied };
  if (/ServiceUnknown|NameHasNoOwner|NoReply/.test(name)) return { name: 'off', hint: HINTS.stopped };
  return { name: 'unsupported', hint: `bluetoothd cannot be reached: ${messageOf(error)}` };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
