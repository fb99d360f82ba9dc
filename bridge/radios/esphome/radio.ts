import type { Logger } from 'pino';
import { createBackoff } from '../../backoff.ts';
import type { Clock } from '../../clock.ts';
import { guard } from '../../guard.ts';
import type { Link } from '../../link.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import type { OnFault, Radio, RadioCounts, RadioState } from '../../radio.ts';
import { createWatched } from '../../watched.ts';
import { createScans } from '../scans.ts';
import {
  type ConnectionLimits,
  openConnection,
  type ProxyAddress,
  type ProxyConnection,
} from './connection.ts';
import { describeDisconnection, describeGattError } from './errors.ts';
import { CONNECTION_LIMITS, checkFeatures } from './examination.ts';
import { createEsphomeLink, type EsphomeLink, type EsphomeLinkLimits } from './link.ts';
import { DEVICE_REQUEST, FEATURE, type GattService, type Message, RAW_ADVERTISEMENTS } from './messages.ts';
import { asProxyError, type ProxyError } from './proxy-error.ts';
import { createSightings } from './sightings.ts';

export interface EsphomeLimits extends ConnectionLimits, EsphomeLinkLimits {
  /** Time limit of a connection to a device, including the discovery of services. */
  connectMs: number;
  /** First pause before the proxy is tried again; doubles. */
  retryMs: number;
  /** Time without advertisements after which the proxy is assumed to serve another program. */
  deafMs: number;
  /** Advertisements beyond this rate are ignored. */
  advertisementsPerSecond: number;
}

const LIMITS: EsphomeLimits = {
  ...CONNECTION_LIMITS,
  attMs: 10_000,
  connectMs: 30_000,
  retryMs: 1000,
  deafMs: 20_000,
  advertisementsPerSecond: 1000,
};
const MAX_RETRY_MS = 60_000;
/** Devices whose services are remembered; beyond this number the least recently connected one is forgotten. */
const MAX_KNOWN = 64;
const MAX_SERVICES = 64;
/** Time limit for the confirmation that an attempt to connect was cancelled. */
const RELEASE_MS = 2000;
const KIND = 'esphome';
/** At most one fault is reported in this time; the others are only counted. */
const TELL_EVERY_MS = 60_000;
/** Connection parameters that suit live audio: 15 to 30 ms, no latency, timeout 4 s; in units of 1.25 and 10 ms. */
const AUDIO_PARAMETERS = { minInterval: 12, maxInterval: 24, latency: 0, timeout: 400 };

/** Facts about a device from its last connection. */
interface Known {
  services: GattService[];
  mtu: number;
}

/** A connected proxy. */
interface Session {
  proxy: ProxyConnection;
  /** Free and maximum number of connections to devices; null: not reported yet. */
  slots: { free: number; limit: number } | null;
}

/**
 * Creates a radio that uses a Bluetooth proxy of ESPHome: a board on the network that forwards advertisements and
 * connects to devices on request, over ESPHome's native API.
 */
export function createEsphomeRadio({
  host,
  port,
  key,
  log,
  clock,
  onFault = () => {},
  limits: given = {},
}: ProxyAddress & {
  log: Logger;
  clock: Clock;
  onFault?: OnFault;
  limits?: Partial<EsphomeLimits>;
}): Radio {
  const limits = { ...LIMITS, ...given };
  const state = createWatched<RadioState>({ name: 'starting', hint: '' });
  const counts = { malformed: {} as Record<string, number>, restarts: 0 } satisfies RadioCounts;
  const scans = createScans();
  const sightings = createSightings({ clock, perSecond: limits.advertisementsPerSecond });
  const links = new Map<string, EsphomeLink>();
  const known = new Map<string, Known>();
  const stopping = new AbortController();
  let session: Session | null = null;
  let connecting: { address: string; receive(message: Message): void; lose(reason: string): void } | null =
    null;
  const inTurn = oneAtATime();
  let toldAt = Number.NEGATIVE_INFINITY;
  let isDeaf = true;

  function become(next: RadioState): void {
    if (state.now.name === 'closed' || (state.now.name === next.name && state.now.hint === next.hint)) return;
    state.become(next);
  }

  function onMalformed(problem: string): void {
    const count = (counts.malformed[KIND] ?? 0) + 1;
    counts.malformed[KIND] = count;
    if (clock.now() - toldAt < TELL_EVERY_MS) return;
    toldAt = clock.now();
    log.warn({ host, count }, `the Bluetooth proxy breaks its protocol: ${problem}`);
    onFault({ kind: KIND, problem, from: host, count });
  }

  // ── the proxy ─────────────────────────────────────────────────────────────────────────────────────────────────

  async function run(): Promise<void> {
    const backoff = createBackoff({ firstMs: limits.retryMs, maxMs: MAX_RETRY_MS });
    while (!stopping.signal.aborted) {
      const reason = await serve(backoff.reset).catch(asProxyError);
      lose(`lost the Bluetooth proxy: ${reason.message}`);
      const hint = `the Bluetooth proxy ${host}:${port} cannot be used: ${reason.message}`;
      if (!stopping.signal.aborted) become({ name: reason.state, hint });
      await clock.sleep(backoff.next(), stopping.signal).catch(() => {});
    }
  }

  /** Uses the proxy until the connection ends. @returns the reason */
  async function serve(onSuccess: () => void): Promise<ProxyError> {
    const proxy = await openConnection(
      { host, port, key },
      { clock, limits, signal: stopping.signal, onMessage: receive, onMalformed },
    );
    try {
      checkFeatures(proxy.info);
      session = { proxy, slots: null };
      isDeaf = true;
      proxy.send('subscribeConnectionsFree');
      proxy.send('subscribeAdvertisements', { flags: RAW_ADVERTISEMENTS });
      const { name, version, isEncrypted } = proxy.info;
      log.info({ host, name, version, isEncrypted }, 'connected to a Bluetooth proxy');
      become({ name: 'ready', hint: '' });
      onSuccess();
      const timer = setTimeout(onSilence, limits.deafMs);
      timer.unref();
      try {
        return await proxy.closed;
      } finally {
        clearTimeout(timer);
      }
    } finally {
      session = null;
      proxy.close();
    }
  }

  function onSilence(): void {
    if (!session || !isDeaf || links.size > 0) return;
    const advice = 'a board serves one program only: remove it from Home Assistant, if it is there';
    become({ name: 'ready', hint: `the Bluetooth proxy ${host}:${port} reports no device; ${advice}` });
  }

  function lose(reason: string): void {
    connecting?.lose(reason);
    for (const { lose: loseOne } of links.values()) loseOne(reason);
    links.clear();
  }

  function receive(message: Message): void {
    const { name, content } = message;
    if (name === 'advertisements') {
      isDeaf = false;
      if (state.now.name === 'ready') become({ name: 'ready', hint: '' });
      hear(content.advertisements);
    } else if (name === 'connectionsFree') {
      if (session) session.slots = { free: content.free, limit: content.limit };
    } else if ('address' in content) {
      if (connecting?.address === content.address) connecting.receive(message);
      else links.get(content.address)?.receive(message);
    }
  }

  function hear(advertisements: Parameters<typeof sightings.hear>[0][]): void {
    for (const raw of advertisements) {
      const sighting = sightings.hear(raw);
      if (sighting && !links.has(raw.address)) scans.push(sighting);
    }
  }

  // ── connecting ────────────────────────────────────────────────────────────────────────────────────────────────

  async function connectNow(address: string, signal: AbortSignal): Promise<Link> {
    signal.throwIfAborted();
    const through = session;
    const addressType = sightings.addressTypeOf(address);
    if (!through || addressType === undefined) throw new Error(`the device ${address} is not in range`);
    if (through.slots && through.slots.free === 0)
      throw new Error(`all ${through.slots.limit} connections of the Bluetooth proxy ${host} are taken`);
    const lost = Promise.withResolvers<string>();
    const onAbort = () => lost.resolve('it was cancelled');
    signal.addEventListener('abort', onAbort);
    const cached = known.get(address);
    try {
      const reached = reach(through.proxy, { address, addressType, cached, lose: lost.resolve });
      const { mtu, services } = await guard('connecting', reached, {
        limitMs: limits.connectMs,
        lost: lost.promise,
      });
      remember(address, { mtu, services });
      return keep(through.proxy, address, { mtu, services });
    } catch (error) {
      known.delete(address);
      if (session === through) await release(through.proxy, address);
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      connecting = null;
    }
  }

  /** Lets the proxy connect, and discovers the services unless they are remembered. */
  async function reach(
    proxy: ProxyConnection,
    {
      address,
      addressType,
      cached,
      lose: give,
    }: { address: string; addressType: number; cached: Known | undefined; lose(reason: string): void },
  ): Promise<Known> {
    const connected = Promise.withResolvers<number>();
    const done = Promise.withResolvers<void>();
    const services: GattService[] = [];
    connecting = {
      address,
      lose: give,
      receive({ name, content }) {
        if (name === 'deviceConnection' && content.isConnected) connected.resolve(content.mtu);
        else if (name === 'deviceConnection') give(describeDisconnection(content.error));
        else if (name === 'gattError') give(describeGattError(content.error));
        else if (name === 'services') services.push(...content.services);
        else if (name === 'servicesDone') done.resolve();
        if (services.length > MAX_SERVICES) give(`the device has more than ${MAX_SERVICES} services`);
      },
    };
    const { connectWithCache, connectWithoutCache } = DEVICE_REQUEST;
    const type = cached ? connectWithCache : connectWithoutCache;
    proxy.send('deviceRequest', { address, type, hasAddressType: true, addressType });
    const mtu = await connected.promise;
    // With a cache, the proxy may report the connection before the MTU is negotiated, which will be the same as before.
    if (cached) return { ...cached, mtu: Math.max(mtu, cached.mtu) };
    proxy.send('getServices', { address });
    await done.promise;
    if (services.length === 0) throw new Error('connecting: the device reports no services');
    return { mtu, services };
  }

  /** Cancels a failed attempt, and waits for the confirmation, which would otherwise end the next attempt. */
  async function release(proxy: ProxyConnection, address: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const receive = ({ name }: Message) => {
      if (name === 'deviceConnection') resolve();
    };
    connecting = { address, receive, lose: () => resolve() };
    proxy.send('deviceRequest', { address, type: DEVICE_REQUEST.disconnect });
    await guard('cancelling', promise, { limitMs: RELEASE_MS }).catch(() => {});
  }

  function remember(address: string, one: Known): void {
    known.delete(address);
    known.set(address, one);
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value ?? '');
  }

  function keep(proxy: ProxyConnection, address: string, { mtu, services }: Known): Link {
    const made = createEsphomeLink({
      address,
      name: sightings.nameOf(address) || address,
      mtu,
      services,
      send: proxy.send,
      limits,
      onRefusal: () => known.delete(address),
    });
    links.set(address, made);
    void made.link.closed.then(() => {
      if (links.get(address) === made) links.delete(address);
    });
    if ((proxy.info.bluetoothFeatures & FEATURE.connectionParameters) !== 0)
      proxy.send('setConnectionParameters', { address, ...AUDIO_PARAMETERS });
    return made.link;
  }

  const running = run();
  return {
    get state() {
      return state.now;
    },
    counts,
    states: state.changes,
    scan: signal => scans.open(signal),
    connect(id, { signal }) {
      return inTurn(() => connectNow(id, signal));
    },
    failed() {},
    async close() {
      if (stopping.signal.aborted) return;
      scans.end();
      await Promise.all([...links.values()].map(({ link }) => link.disconnect()));
      session?.proxy.close();
      stopping.abort();
      await running;
      become({ name: 'closed', hint: '' });
      state.end();
    },
  };
}
