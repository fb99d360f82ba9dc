import { guard, LinkLostError, TimeLimitError } from '../../guard.ts';
import type { CallOptions, Link, Offer } from '../../link.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import { plainUuid } from '../../uuid.ts';
import type { Refusal } from './hci-guard.ts';
import { REQUESTED_MTU } from './library.ts';
import type { Characteristic, Peripheral, Service } from './noble.ts';
import { isPairingWanted, NO_KEYS, pairingHint } from './pairing.ts';
import { advertisedName } from './scanner.ts';

interface Call extends CallOptions {
  /** Number of ATT exchanges for which it may take the time limit each. */
  exchanges?: number;
  /** Reason that is reported if the link is dropped because no answer came. */
  lostAs?: string;
  writes?: boolean;
  /** Rejects where an earlier request stalls the library, rather than waiting behind it. */
  unlessStalled?: boolean;
}

/** A link, and the events that its radio passes to it. */
export interface LinkControl {
  link: Link;
  /** The adapter is gone, and the link with it. */
  lose(reason: string): void;
  /** Closes a connection that cannot be used any more. */
  fail(reason: string): void;
  /** The device refused a request or pairing. The libraries do not report that. */
  refused(refusal: Refusal): void;
}

export interface LinkLimits {
  /** Time limit of one ATT exchange; the protocol itself allows 30 s. */
  attMs: number;
  /** Time after which a disconnection that was requested is assumed to have happened. */
  disconnectMs: number;
}

const SMALLEST_MTU = 23;
const ATT_HEADER_BYTES = 3;
/** ATT error "attribute not found", which ends a discovery. */
const END_OF_LIST = 0x0a;
/** Number of exchanges of a discovery, each with its own time limit. */
const DISCOVERY_EXCHANGES = 6;

/** Wraps a connected peripheral with time limits and the detection of refusals. */
export function createLink(
  peripheral: Peripheral,
  limits: LinkLimits,
  adapter: { readonly hasDataLength: boolean | null },
): LinkControl {
  const closing = Promise.withResolvers<string>();
  const closed = closing.promise;
  const found = new Map<string, Promise<Map<string, Characteristic>>>();
  const listeners: (() => void)[] = [];
  let services: Promise<Map<string, Service>> | null = null;
  /** Fails the current request, whose refusal the library does not report. `stalls`: it cannot send another one. */
  let refuse: (refusal: { reason: string; stalls: boolean }) => void = () => {};
  /** Rejects each call that waits for an answer. */
  const underWay = new Set<(reason: string) => void>();
  /** A write or subscription is in progress, whose refusal the libraries do not report. */
  let isWriting = false;
  let wantsPairing = false;
  /** ATT error of the current request; 0: none. */
  let attError = 0;
  const inTurn = oneAtATime();
  /** An optional request was never answered, so that all later ones would wait behind it. */
  let isStalled = false;

  /** Failed request because of which this side closes the link. */
  let cause: string | null = null;

  const onDisconnect = (reason: unknown) => closing.resolve(cause ?? `disconnected${describe(reason)}`);
  peripheral.once('disconnect', onDisconnect);
  let isOpen = true;
  void closed.then(reason => {
    isOpen = false;
    for (const end of underWay) end(reason);
    peripheral.removeListener('disconnect', onDisconnect);
    for (const remove of listeners) remove();
  });

  /** Runs requests one at a time: an ATT error does not name the request that it answers. */
  function call<T>(
    what: string,
    start: (done: (error: unknown, value: T) => void) => void,
    options: Call = {},
  ): Promise<T> {
    return inTurn(() => callNow(what, start, options));
  }

  /** Runs a request. If it is not answered, the link is closed: the library's queue for it may be stalled. */
  async function callNow<T>(
    what: string,
    start: (done: (error: unknown, value: T) => void) => void,
    { optional = false, exchanges = 1, lostAs, writes = false, unlessStalled = false }: Call,
  ): Promise<T> {
    if (!isOpen) throw new LinkLostError(`${what}: ${await closed}`);
    if (unlessStalled && isStalled) throw new Error(`${what}: the library can send no request any more`);
    const refusal = Promise.withResolvers<string>();
    underWay.add(refusal.resolve);
    isWriting = writes;
    attError = 0;
    let stalls = true;
    let because = () => (wantsPairing ? `; ${pairingHint()}` : '');
    refuse = refused => {
      stalls = refused.stalls;
      because = () => '';
      refusal.resolve(refused.reason);
    };
    const work = new Promise<T>((resolve, reject) => {
      start((error, value) => (error ? reject(asError(error)) : resolve(value)));
    });
    const lost = refusal.promise;
    try {
      const found = await guard(what, work, { limitMs: limits.attMs * exchanges, lost });
      // The libraries take any error for the end of a list.
      if (Array.isArray(found) && found.length === 0 && attError !== 0 && attError !== END_OF_LIST)
        throw new LinkLostError(`${what}: refused with ATT error ${attError}`);
      return found;
    } catch (error) {
      if (!(error instanceof TimeLimitError || error instanceof LinkLostError)) throw error;
      const message = `${error.message}${because()}`;
      if (optional) isStalled ||= stalls;
      if (!isOpen) throw new LinkLostError(cause ?? message);
      if (optional) throw stalls ? new LinkLostError(message) : new Error(message);
      cause ??= message;
      if (lostAs) closing.resolve(lostAs);
      await disconnect();
      throw new TimeLimitError(`${message}; the connection was dropped`);
    } finally {
      underWay.delete(refusal.resolve);
      isWriting = false;
    }
  }

  function servicesOf(): Promise<Map<string, Service>> {
    const discover = (done: (error: unknown, found: Service[]) => void) =>
      peripheral.discoverServices([], done);
    services ??= call('service discovery', discover, { exchanges: DISCOVERY_EXCHANGES }).then(byUuid);
    return services;
  }

  async function characteristicsOf(service: string, options?: Call): Promise<Map<string, Characteristic>> {
    const uuid = plainUuid(service);
    const owner = (await servicesOf()).get(uuid);
    if (!owner) return new Map();
    const discover = (done: (error: unknown, found: Characteristic[]) => void) =>
      owner.discoverCharacteristics([], done);
    const known =
      found.get(uuid) ??
      call(`discovery of ${service}`, discover, { ...options, exchanges: DISCOVERY_EXCHANGES }).then(byUuid);
    found.set(uuid, known);
    return known;
  }

  async function characteristic(service: string, uuid: string, options?: Call): Promise<Characteristic> {
    const one = (await characteristicsOf(service, options)).get(plainUuid(uuid));
    if (!one) throw new Error(`the device has no characteristic ${uuid} in service ${service}`);
    return one;
  }

  async function read(service: string, uuid: string, options?: Call): Promise<Buffer> {
    const one = await characteristic(service, uuid, options);
    const value = await call<Buffer>(`reading ${uuid}`, done => one.read(done), options);
    if (value.length === 0) throw new Error(`the device refused the read of ${uuid}`);
    return value;
  }

  /** Reads the signal strength from the adapter, which answers only while it has the link. */
  function readSignal(options: Call): Promise<number> {
    const ask = (done: (error: unknown, value: number) => void) => {
      peripheral.once('rssiUpdate', (rssi: number) => done(null, rssi));
      peripheral.updateRssi();
    };
    return call('reading the signal strength', ask, options);
  }

  async function disconnect(): Promise<void> {
    if (!isOpen) return;
    const timer = setTimeout(() => closing.resolve(cause ?? 'disconnected'), limits.disconnectMs);
    if (peripheral.state === 'connected') peripheral.disconnect();
    else closing.resolve('disconnected');
    await closed;
    clearTimeout(timer);
  }

  const link: Link = {
    id: peripheral.id,
    name: advertisedName(peripheral) || peripheral.address,
    get mtu() {
      return Math.min(REQUESTED_MTU, peripheral.mtu ?? SMALLEST_MTU);
    },
    read,
    async subscribe(service, uuid, onData, options) {
      const one = await characteristic(service, uuid, options);
      if (!NOTIFYING.some(property => one.properties.includes(property)))
        throw new Error(`the device does not notify of ${uuid}`);
      const listener = (data: Buffer, isNotification: boolean) => {
        if (isNotification) onData(data);
      };
      one.on('data', listener);
      listeners.push(() => one.removeListener('data', listener));
      const start = (done: (error: unknown, value: undefined) => void) =>
        one.subscribe(error => done(error, undefined));
      await call(`subscribing to ${uuid}`, start, { ...options, writes: true });
    },
    async properties(service, uuid, options) {
      return (await characteristicsOf(service, options)).get(plainUuid(uuid))?.properties ?? [];
    },
    async offers() {
      const offers: Offer[] = [];
      for (const service of (await servicesOf()).keys())
        for (const [characteristic, { properties }] of await characteristicsOf(service))
          offers.push({ service, characteristic, properties });
      return offers;
    },
    async write(service, uuid, bytes, { response, ...options }) {
      const one = await characteristic(service, uuid, options);
      const start = (done: (error: unknown, value: undefined) => void) =>
        one.write(Buffer.from(bytes), !response, error => done(error, undefined));
      const tooLong = bytes.length > link.mtu - ATT_HEADER_BYTES;
      const size = tooLong ? ` (${bytes.length} bytes, with an MTU of ${link.mtu})` : '';
      await call(`writing ${uuid}${size}`, start, { ...options, writes: true });
    },
    async probe(service, uuid) {
      // A refusal shows that the device is there. If there is no answer, the read has closed the link.
      const asked = { lostAs: 'the device no longer answers', unlessStalled: true };
      const known = isStalled ? null : await characteristicsOf(service, asked).catch(() => null);
      const isThere = known?.has(plainUuid(uuid)) === true;
      if (isThere) await read(service, uuid, asked).catch(() => {});
      const lost = { lostAs: 'the adapter no longer has this connection' };
      if (!isThere || isStalled) await readSignal(lost).catch(() => {});
    },
    signal: () => readSignal({ optional: true }).catch(() => null),
    get hasDataLength() {
      return adapter.hasDataLength;
    },
    closed,
    disconnect,
  };
  return {
    link,
    lose: closing.resolve,
    fail(reason) {
      closing.resolve(reason);
      if (peripheral.state === 'connected') peripheral.disconnect();
    },
    refused(refusal) {
      if ('att' in refusal) attError = refusal.att;
      if ('pairing' in refusal) refuse({ reason: pairingHint(refusal.pairing), stalls: true });
      else if (isPairingWanted(refusal.att)) wantsPairing = true;
      else if (isWriting)
        refuse({ reason: `refused with ATT error ${refusal.att}`, stalls: refusal.att === 4 });
    },
  };
}

const NOTIFYING = ['notify', 'indicate'];

function byUuid<T extends { uuid: string }>(items: T[]): Map<string, T> {
  return new Map(items.map(item => [plainUuid(item.uuid), item]));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Disconnection reasons (HCI error codes) in words. */
const REASONS: Readonly<Record<number, string>> = {
  5: `pairing failed; ${NO_KEYS}`,
  6: `the device has a pairing with this adapter that the bridge does not know; ${NO_KEYS}`,
  8: 'out of range',
  19: 'closed by the device',
  22: 'closed by this side',
  62: 'the connection failed to be established',
};

function describe(reason: unknown): string {
  if (typeof reason === 'number') return `: ${REASONS[reason] ?? `HCI reason ${reason}`}`;
  return reason === undefined || reason === null ? '' : `: ${reason}`;
}
