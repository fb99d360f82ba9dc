import { guard, LinkLostError, TimeLimitError } from '../../guard.ts';
import type { CallOptions, Link, Offer } from '../../link.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import { plainUuid } from '../../uuid.ts';
import { type Bus, BusError } from './bus.ts';
import type { Objects } from './objects.ts';
import { pair } from './pairing.ts';

export interface BluezLinkLimits {
  /** Time limit of one answer of the device. */
  attMs: number;
  /** Until a device must be paired. */
  pairMs: number;
}

/** MTU that bluetoothd requests. It reports the negotiated one since version 5.62. */
const USUAL_MTU = 517;
const DEVICE = 'Device1';
const SERVICE = 'GattService1';
const CHARACTERISTIC = 'GattCharacteristic1';
/** Flags of bluetoothd, and the properties that drivers know. */
const PROPERTIES: Readonly<Record<string, string>> = {
  read: 'read',
  write: 'write',
  'write-without-response': 'writeWithoutResponse',
  notify: 'notify',
  indicate: 'indicate',
};

interface Found {
  path: string;
  service: string;
  uuid: string;
  properties: string[];
}

/** Creates a link to the device at this path, which bluetoothd has connected, and whose services are resolved. */
export function createBluezLink({
  bus,
  objects,
  path,
  name,
  limits,
}: {
  bus: Bus;
  objects: Objects;
  path: string;
  name: string;
  limits: BluezLinkLimits;
}): { link: Link; lose(reason: string): void } {
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  const listeners = new Map<string, Set<(bytes: Buffer) => void>>();
  /** Characteristics that are being read: bluetoothd signals their value exactly as it does a notification. */
  const reading = new Set<string>();
  let isOpen = true;
  /** Runs requests one at a time, as ATT requires. */
  const inTurn = oneAtATime();
  const forget = objects.onChange(change => {
    if (change.path === path && change.interface === DEVICE) {
      if (change.gone) lose('bluetoothd has removed the device');
      else if (change.properties.Connected === false) lose('disconnected');
    } else if (change.interface === CHARACTERISTIC && Buffer.isBuffer(change.properties.Value)) {
      if (!reading.has(change.path))
        for (const listener of listeners.get(change.path) ?? []) listener(change.properties.Value);
    }
  });

  function lose(reason: string): void {
    if (!isOpen) return;
    isOpen = false;
    forget();
    listeners.clear();
    resolve(reason);
  }

  function found(): Found[] {
    const services = new Map(
      objects
        .having(SERVICE)
        .filter(({ properties }) => properties.Device === path)
        .map(service => [service.path, plainUuid(String(service.properties.UUID))]),
    );
    return objects.having(CHARACTERISTIC).flatMap(({ path: at, properties }) => {
      const service = services.get(String(properties.Service));
      if (service === undefined) return [];
      const flags = (properties.Flags ?? []) as string[];
      const known = flags.flatMap(flag => PROPERTIES[flag] ?? []);
      return [{ path: at, service, uuid: plainUuid(String(properties.UUID)), properties: known }];
    });
  }

  function find(service: string, uuid: string): Found | undefined {
    return found().find(each => each.service === plainUuid(service) && each.uuid === plainUuid(uuid));
  }

  function wanted(service: string, uuid: string): Found {
    const one = find(service, uuid);
    if (!one) throw new Error(`the device has no characteristic ${uuid} in service ${service}`);
    return one;
  }

  /** Calls a method, pairs if the device requires it, and closes the link if no answer comes in time. */
  function call(
    what: string,
    request: { path: string; interface: string; member: string; signature?: string; body?: unknown[] },
    { optional = false, limitMs = limits.attMs }: CallOptions & { limitMs?: number } = {},
  ): Promise<unknown[]> {
    const ask = () =>
      guard(what, bus.call({ ...request, interface: `org.bluez.${request.interface}`, limitMs }), {
        limitMs,
        lost: closed,
      });
    return inTurn(async () => {
      if (!isOpen) throw new LinkLostError(`${what}: ${await closed}`);
      try {
        return await ask().catch(async error => {
          if (!wantsPairing(error)) throw error;
          await pair({ bus, path, limitMs: limits.pairMs });
          return ask();
        });
      } catch (error) {
        if (!(error instanceof TimeLimitError) || optional) throw asError(what, error);
        await disconnect();
        throw new TimeLimitError(`${error.message}; the connection was dropped`);
      }
    });
  }

  async function read(service: string, uuid: string, options?: CallOptions): Promise<Buffer> {
    const one = wanted(service, uuid);
    reading.add(one.path);
    try {
      const request = {
        path: one.path,
        interface: CHARACTERISTIC,
        member: 'ReadValue',
        signature: 'a{sv}',
        body: [{}],
      };
      const [value] = await call(`reading ${uuid}`, request, options);
      if (!Buffer.isBuffer(value) || value.length === 0)
        throw new Error(`the device sends no notifications at ${uuid}`);
      return value;
    } finally {
      reading.delete(one.path);
    }
  }

  async function disconnect(): Promise<void> {
    if (!isOpen) return;
    const request = { path, interface: 'org.bluez.Device1', member: 'Disconnect', limitMs: limits.attMs };
    await bus.call(request).catch(() => {});
    lose('disconnected');
  }

  const link: Link = {
    id: path,
    name,
    get mtu() {
      const agreed = found().map(each => Number(objects.get(each.path, CHARACTERISTIC)?.MTU));
      return agreed.find(mtu => mtu > 0) ?? USUAL_MTU;
    },
    async properties(service, uuid) {
      return find(service, uuid)?.properties ?? [];
    },
    async offers() {
      return found().map(
        ({ service, uuid, properties }): Offer => ({ service, characteristic: uuid, properties }),
      );
    },
    read,
    async write(service, uuid, bytes, { response, ...options }) {
      const { path: at } = wanted(service, uuid);
      const type = bus.variant('s', response ? 'request' : 'command');
      const request = { path: at, interface: CHARACTERISTIC, member: 'WriteValue', signature: 'aya{sv}' };
      await call(`writing ${uuid}`, { ...request, body: [Buffer.from(bytes), { type }] }, options);
    },
    async subscribe(service, uuid, onData, options) {
      const one = wanted(service, uuid);
      if (!one.properties.some(property => property === 'notify' || property === 'indicate'))
        throw new Error(`the device does not notify of ${uuid}`);
      const own = listeners.get(one.path) ?? new Set();
      listeners.set(one.path, own.add(onData));
      const request = { path: one.path, interface: CHARACTERISTIC, member: 'StartNotify' };
      await call(`subscribing to ${uuid}`, request, options);
    },
    async probe(service, uuid) {
      // A refusal shows that the device is there. If there is no answer, the read has closed the link.
      if (find(service, uuid)) await read(service, uuid).catch(() => {});
    },
    signal: async () => null, // bluetoothd does not measure it while a device is connected
    hasDataLength: null,
    closed,
    disconnect,
  };
  return { link, lose };
}

function wantsPairing(error: unknown): boolean {
  return (
    error instanceof BusError &&
    (error.errorName === 'org.bluez.Error.NotAuthorized' || /not paired/i.test(error.message))
  );
}

function asError(what: string, error: unknown): unknown {
  return error instanceof BusError ? new Error(`${what}: ${error.message}`) : error;
}
