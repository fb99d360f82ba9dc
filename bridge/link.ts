import { guard, TimeLimitError } from './guard.ts';
import type { Characteristic, Peripheral, Service } from './noble.ts';
import { plainUuid } from './uuid.ts';

/** A connection to one device. After any failure of a call that the device did not answer, it is closed. */
export interface Link {
  readonly id: string;
  readonly name: string;
  /** Agreed ATT MTU; a notification holds three bytes less. */
  readonly mtu: number;
  /** Does the device have it? Rejects when the device does not answer. */
  has(service: string, characteristic: string): Promise<boolean>;
  /** Rejects also for an empty value: that is how the libraries report a refusal. */
  read(service: string, characteristic: string): Promise<Buffer>;
  /** Notifications until the link closes. */
  subscribe(service: string, characteristic: string, onData: (data: Buffer) => void): Promise<void>;
  /** Resolves with the reason, in words, when the link is gone. */
  readonly closed: Promise<string>;
  /** Resolves when the link is gone. */
  disconnect(): Promise<void>;
}

export interface LinkLimits {
  /** Of one ATT exchange; the protocol itself allows 30 s. */
  attMs: number;
  /** Until a wanted end of the connection is taken for granted. */
  disconnectMs: number;
}

/** What both libraries ask for and what @abandonware/noble cannot change. */
const REQUESTED_MTU = 256;
const SMALLEST_MTU = 23;

/** Puts guards around a connected peripheral. `lose`: the adapter is gone, and the link with it. */
export function createLink(
  peripheral: Peripheral,
  limits: LinkLimits,
): { link: Link; lose(reason: string): void } {
  const closing = Promise.withResolvers<string>();
  const closed = closing.promise;
  const found = new Map<string, Promise<Map<string, Characteristic>>>();
  const listeners: (() => void)[] = [];
  let services: Promise<Map<string, Service>> | null = null;

  const onDisconnect = (reason: unknown) => closing.resolve(`disconnected${describe(reason)}`);
  peripheral.once('disconnect', onDisconnect);
  let isOpen = true;
  void closed.then(() => {
    isOpen = false;
    peripheral.removeListener('disconnect', onDisconnect);
    for (const remove of listeners) remove();
  });

  /** A call that did not come back may have stalled the whole queue of the connection: it is of no use any more. */
  async function call<T>(
    what: string,
    start: (done: (error: unknown, value: T) => void) => void,
  ): Promise<T> {
    const work = new Promise<T>((resolve, reject) => {
      start((error, value) => (error ? reject(asError(error)) : resolve(value)));
    });
    try {
      return await guard(what, work, { limitMs: limits.attMs, lost: closed });
    } catch (error) {
      if (error instanceof TimeLimitError) {
        await disconnect();
        throw new TimeLimitError(`${error.message}; the connection was dropped`);
      }
      throw error;
    }
  }

  function servicesOf(): Promise<Map<string, Service>> {
    services ??= call<Service[]>('service discovery', done => peripheral.discoverServices([], done)).then(
      byUuid,
    );
    return services;
  }

  async function characteristicsOf(service: string): Promise<Map<string, Characteristic>> {
    const uuid = plainUuid(service);
    const owner = (await servicesOf()).get(uuid);
    if (!owner) return new Map();
    const known =
      found.get(uuid) ??
      call<Characteristic[]>(`discovery of ${service}`, done => owner.discoverCharacteristics([], done)).then(
        byUuid,
      );
    found.set(uuid, known);
    return known;
  }

  async function characteristic(service: string, uuid: string): Promise<Characteristic> {
    const one = (await characteristicsOf(service)).get(plainUuid(uuid));
    if (!one) throw new Error(`the device has no characteristic ${uuid} in service ${service}`);
    return one;
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
    name: peripheral.advertisement.localName ?? peripheral.address,
    get mtu() {
      return Math.min(REQUESTED_MTU, peripheral.mtu ?? SMALLEST_MTU);
    },
    async has(service, uuid) {
      return (await characteristicsOf(service)).has(plainUuid(uuid));
    },
    async read(service, uuid) {
      const one = await characteristic(service, uuid);
      const value = await call<Buffer>(`reading ${uuid}`, done => one.read(done));
      if (value.length === 0) throw new Error(`the device refused to let ${uuid} be read`);
      return value;
    },
    async subscribe(service, uuid, onData) {
      const one = await characteristic(service, uuid);
      const listener = (data: Buffer, isNotification: boolean) => {
        if (isNotification) onData(data);
      };
      one.on('data', listener);
      listeners.push(() => one.removeListener('data', listener));
      await call<void>(`subscribing to ${uuid}`, done => one.subscribe(error => done(error, undefined)));
    },
    closed,
    disconnect,
  };
  return { link, lose: closing.resolve };
}

function byUuid<T extends { uuid: string }>(items: T[]): Map<string, T> {
  return new Map(items.map(item => [plainUuid(item.uuid), item]));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** HCI reasons worth words. */
const REASONS: Readonly<Record<number, string>> = {
  8: 'out of range',
  19: 'closed by the device',
  22: 'closed by this side',
  62: 'the connection failed to be established',
};

function describe(reason: unknown): string {
  if (typeof reason === 'number') return `: ${REASONS[reason] ?? `HCI reason ${reason}`}`;
  return reason === undefined || reason === null ? '' : `: ${reason}`;
}
