import { guard, LinkLostError, TimeLimitError } from './guard.ts';
import type { Refusal } from './hci-guard.ts';
import { REQUESTED_MTU } from './library.ts';
import type { Characteristic, Peripheral, Service } from './noble.ts';
import { isPairingWanted, pairingHint } from './pairing.ts';
import { advertisedName } from './scanner.ts';
import { plainUuid } from './uuid.ts';

/**
 * A connection to one device. After any call that the device did not answer it is closed, unless the call was
 * `optional`: for what a device may as well not have.
 */
export interface Link {
  readonly id: string;
  readonly name: string;
  /** Agreed ATT MTU; a notification holds three bytes less. */
  readonly mtu: number;
  /**
   * Returns the properties of a characteristic; empty: the device does not have it. Rejects when the device does not
   * answer.
   */
  properties(service: string, characteristic: string, options?: CallOptions): Promise<readonly string[]>;
  /** All characteristics, by service. */
  offers(): Promise<Offer[]>;
  /** Rejects also for an empty value: that is how the libraries report a refusal. */
  read(service: string, characteristic: string, options?: CallOptions): Promise<Buffer>;
  /** `response`: wait for the device to confirm it. */
  write(
    service: string,
    characteristic: string,
    bytes: Uint8Array,
    options: CallOptions & { response: boolean },
  ): Promise<void>;
  /** Notifications until the link closes. */
  subscribe(
    service: string,
    characteristic: string,
    onData: (data: Buffer) => void,
    options?: CallOptions,
  ): Promise<void>;
  /** Finds out whether the device is still there, by reading this, where it has it; closes the link when it is not. */
  probe(service: string, characteristic: string): Promise<void>;
  /** Strength of what is received, in dBm; null: the adapter does not tell. */
  signal(): Promise<number | null>;
  /** Can the adapter send long packets? See `Adapter`. */
  readonly hasDataLength: boolean | null;
  /** Resolves with the reason, in words, when the link is gone. */
  readonly closed: Promise<string>;
  /** Resolves when the link is gone. */
  disconnect(): Promise<void>;
}

/** A characteristic, and what can be done with it; UUIDs without dashes. */
export interface Offer {
  service: string;
  characteristic: string;
  properties: readonly string[];
}

export interface CallOptions {
  /** A failure does not cost the link. */
  optional?: boolean;
}

interface Call extends CallOptions {
  /** How many requests and answers it may take. */
  exchanges?: number;
  /** Reason for which the link counts as lost without an answer. */
  lostAs?: string;
  writes?: boolean;
}

/** The link, and what the radio tells it. */
export interface LinkControl {
  link: Link;
  /** The adapter is gone, and the link with it. */
  lose(reason: string): void;
  /** It is of no use any more, and is closed. */
  fail(reason: string): void;
  /** The device refused a request or pairing; the libraries do not tell. */
  refused(refusal: Refusal): void;
}

export interface LinkLimits {
  /** Time limit of one ATT exchange; the protocol itself allows 30 s. */
  attMs: number;
  /** Until a wanted end of the connection is taken for granted. */
  disconnectMs: number;
}

const SMALLEST_MTU = 23;
/** A discovery is several exchanges, of which each may take its time. */
const DISCOVERY_EXCHANGES = 6;

/** Puts guards around a connected peripheral. */
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
  /** The request under way was refused, and the library will not say so. `stalls`: nor take another request. */
  let refuse: (refusal: { reason: string; stalls: boolean }) => void = () => {};
  /** How to end each call that waits for an answer. */
  const underWay = new Set<(reason: string) => void>();
  /** A write is under way, a subscription among them: the libraries do not tell when it is refused. */
  let isWriting = false;
  let wantsPairing = false;
  let turn: Promise<unknown> = Promise.resolve();
  /** An optional request was never answered, and all later ones would wait behind it. */
  let isStalled = false;

  const onDisconnect = (reason: unknown) => closing.resolve(`disconnected${describe(reason)}`);
  peripheral.once('disconnect', onDisconnect);
  let isOpen = true;
  void closed.then(reason => {
    isOpen = false;
    for (const end of underWay) end(reason);
    peripheral.removeListener('disconnect', onDisconnect);
    for (const remove of listeners) remove();
  });

  /** One after the other, as the protocol has it: a refusal does not tell what was refused. */
  function call<T>(
    what: string,
    start: (done: (error: unknown, value: T) => void) => void,
    options: Call = {},
  ): Promise<T> {
    const mine = turn.then(() => callNow(what, start, options));
    turn = mine.catch(() => {});
    return mine;
  }

  /** A call that did not come back may have stalled the whole queue of the connection: it is of no use any more. */
  async function callNow<T>(
    what: string,
    start: (done: (error: unknown, value: T) => void) => void,
    { optional = false, exchanges = 1, lostAs, writes = false }: Call,
  ): Promise<T> {
    if (!isOpen) throw new LinkLostError(`${what}: ${await closed}`);
    const refusal = Promise.withResolvers<string>();
    underWay.add(refusal.resolve);
    isWriting = writes;
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
      return await guard(what, work, { limitMs: limits.attMs * exchanges, lost });
    } catch (error) {
      if (!(error instanceof TimeLimitError || error instanceof LinkLostError)) throw error;
      const message = `${error.message}${because()}`;
      if (optional) isStalled ||= stalls;
      if (!isOpen) throw new LinkLostError(message);
      if (optional) throw stalls ? new LinkLostError(message) : new Error(message);
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

  async function characteristicsOf(
    service: string,
    options?: CallOptions,
  ): Promise<Map<string, Characteristic>> {
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

  async function characteristic(
    service: string,
    uuid: string,
    options?: CallOptions,
  ): Promise<Characteristic> {
    const one = (await characteristicsOf(service, options)).get(plainUuid(uuid));
    if (!one) throw new Error(`the device has no characteristic ${uuid} in service ${service}`);
    return one;
  }

  async function read(
    service: string,
    uuid: string,
    options?: CallOptions & { lostAs?: string },
  ): Promise<Buffer> {
    const one = await characteristic(service, uuid, options);
    const value = await call<Buffer>(`reading ${uuid}`, done => one.read(done), options);
    if (value.length === 0) throw new Error(`the device refused to let ${uuid} be read`);
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
    const timer = setTimeout(() => closing.resolve('disconnected'), limits.disconnectMs);
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
      await call(`writing ${uuid}`, start, { ...options, writes: true });
    },
    async probe(service, uuid) {
      // A refusal is an answer, too; without one, the call has closed the link.
      const lostAs = 'the device does not answer any more';
      const isThere =
        !isStalled && (await characteristicsOf(service).catch(() => null))?.has(plainUuid(uuid));
      const lost = { lostAs: 'the adapter has no such connection any more' };
      await (isThere ? read(service, uuid, { lostAs }) : readSignal(lost)).catch(() => {});
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

/** HCI reasons worth words. */
const REASONS: Readonly<Record<number, string>> = {
  5: 'pairing failed',
  6: 'the device has a pairing with this adapter that the bridge does not know; remove it on the device',
  8: 'out of range',
  19: 'closed by the device',
  22: 'closed by this side',
  62: 'the connection failed to be established',
};

function describe(reason: unknown): string {
  if (typeof reason === 'number') return `: ${REASONS[reason] ?? `HCI reason ${reason}`}`;
  return reason === undefined || reason === null ? '' : `: ${reason}`;
}
