import { guard, LinkLostError, TimeLimitError } from '../../guard.ts';
import type { CallOptions, Link } from '../../link.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import { plainUuid } from '../../uuid.ts';
import { describeDisconnection, describeGattError, NOT_CONNECTED } from './errors.ts';
import type { Content, GattService, Message, MessageName } from './messages.ts';
import { DEVICE_REQUEST } from './messages.ts';

export interface EsphomeLinkLimits {
  /** Time limit of one answer of the device. */
  attMs: number;
}

/** A link to a device through a proxy. */
export interface EsphomeLink {
  link: Link;
  /** Handles a message about the device. */
  receive(message: Message): void;
  lose(reason: string): void;
}

/** A characteristic and its handles. */
interface Characteristic {
  service: string;
  uuid: string;
  handle: number;
  properties: string[];
  /** Handle of the CCCD; null: there is none, so that subscribing is not possible. */
  cccd: number | null;
}

/** Bits of the properties of a characteristic, and the names that drivers know. */
const PROPERTIES: readonly (readonly [bit: number, name: string])[] = [
  [0x02, 'read'],
  [0x04, 'writeWithoutResponse'],
  [0x08, 'write'],
  [0x10, 'notify'],
  [0x20, 'indicate'],
];
const CCCD = '2902';
const SWITCH_ON = { notify: Uint8Array.of(1, 0), indicate: Uint8Array.of(2, 0) };

/** A request that the proxy or the device has refused. */
class GattError extends Error {}

/** @param onRefusal called when a request was refused: remembered services may be out of date */
export function createEsphomeLink({
  address,
  name,
  mtu,
  services,
  send,
  limits,
  onRefusal,
}: {
  address: string;
  name: string;
  mtu: number;
  services: readonly GattService[];
  send<Name extends MessageName>(name: Name, content: Partial<Content<Name>>): void;
  limits: EsphomeLinkLimits;
  onRefusal(): void;
}): EsphomeLink {
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  const characteristics = services.flatMap(characteristicsOf);
  const listeners = new Map<number, Set<(bytes: Buffer) => void>>();
  /** The current request. */
  let pending: {
    answer: MessageName;
    handle: number;
    /** Answers to earlier writes that must come before its own. */
    ahead: number;
    resolve(data: Buffer): void;
    reject(error: Error): void;
  } | null = null;
  /** Writes without response by handle: boards answer them, too, with the same message. */
  const unconfirmed = new Map<number, number>();
  let isOpen = true;
  /** Runs requests one at a time, as ATT requires. */
  const inTurn = oneAtATime();

  function lose(reason: string): void {
    if (!isOpen) return;
    isOpen = false;
    listeners.clear();
    resolve(reason);
  }

  /** Takes the answer to a write, which does not name the write. @returns false: to one without response */
  function isOfPending(handle: number): boolean {
    const isAsked = pending?.answer === 'writeResponse' && pending.handle === handle;
    if (isAsked && pending?.ahead === 0) return true;
    if (isAsked && pending) pending.ahead -= 1;
    unconfirmed.set(handle, Math.max(0, (unconfirmed.get(handle) ?? 0) - 1));
    return false;
  }

  /** Fails the current request. */
  function refuse(code: number): void {
    if (code === NOT_CONNECTED) lose(describeGattError(code));
    else onRefusal();
    pending?.reject(new GattError(describeGattError(code)));
  }

  function receive({ name: kind, content }: Message): void {
    if (kind === 'deviceConnection') {
      if (!content.isConnected) lose(describeDisconnection(content.error));
    } else if (kind === 'notifyData') {
      for (const listener of listeners.get(content.handle) ?? []) listener(bufferOf(content.data));
    } else if (kind === 'gattError') {
      const isWrite = pending?.answer === 'writeResponse';
      if (pending?.handle === content.handle && (!isWrite || isOfPending(content.handle)))
        refuse(content.error);
    } else if (kind === 'writeResponse' && !isOfPending(content.handle)) return;
    else if (kind === pending?.answer && 'handle' in content && content.handle === pending.handle)
      pending.resolve('data' in content ? bufferOf(content.data) : Buffer.of());
  }

  /** Sends a request and waits for the answer; closes the link if none comes in time. */
  function ask(
    what: string,
    { answer, handle, request }: { answer: MessageName; handle: number; request(): void },
    { optional = false }: CallOptions = {},
  ): Promise<Buffer> {
    return inTurn(async () => {
      if (!isOpen) throw new LinkLostError(`${what}: ${await closed}`);
      const { promise, ...settle } = Promise.withResolvers<Buffer>();
      pending = { answer, handle, ahead: unconfirmed.get(handle) ?? 0, ...settle };
      request();
      try {
        return await guard(what, promise, { limitMs: limits.attMs, lost: closed });
      } catch (error) {
        if (error instanceof GattError) throw new Error(`${what}: ${error.message}`);
        if (!(error instanceof TimeLimitError) || optional) throw error;
        void disconnect();
        throw new TimeLimitError(`${error.message}; the connection was dropped`);
      } finally {
        pending = null;
      }
    });
  }

  function find(service: string, uuid: string): Characteristic | undefined {
    const [wantedService, wanted] = [plainUuid(service), plainUuid(uuid)];
    return characteristics.find(each => each.service === wantedService && each.uuid === wanted);
  }

  function wanted(service: string, uuid: string): Characteristic {
    const one = find(service, uuid);
    if (!one) throw new Error(`the device has no characteristic ${uuid} in service ${service}`);
    return one;
  }

  async function read(service: string, uuid: string, options?: CallOptions): Promise<Buffer> {
    const { handle } = wanted(service, uuid);
    const request = () => send('readRequest', { address, handle });
    const value = await ask(`reading ${uuid}`, { answer: 'readResponse', handle, request }, options);
    if (value.length === 0) throw new Error(`the device sends no notifications at ${uuid}`);
    return value;
  }

  async function disconnect(): Promise<void> {
    if (!isOpen) return;
    send('deviceRequest', { address, type: DEVICE_REQUEST.disconnect });
    await guard('disconnecting', closed, { limitMs: limits.attMs }).catch(() => {});
    lose('disconnected');
  }

  const link: Link = {
    id: address,
    name,
    mtu,
    async properties(service, uuid) {
      return find(service, uuid)?.properties ?? [];
    },
    async offers() {
      return characteristics.map(({ service, uuid, properties }) => ({
        service,
        characteristic: uuid,
        properties,
      }));
    },
    read,
    async write(service, uuid, data, { response, ...options }) {
      const { handle } = wanted(service, uuid);
      const request = () => send('writeRequest', { address, handle, data, response });
      if (response) await ask(`writing ${uuid}`, { answer: 'writeResponse', handle, request }, options);
      else if (isOpen) {
        unconfirmed.set(handle, (unconfirmed.get(handle) ?? 0) + 1);
        request();
      } else throw new LinkLostError(`writing ${uuid}: ${await closed}`);
    },
    async subscribe(service, uuid, onData, options) {
      const { handle, properties, cccd } = wanted(service, uuid);
      const way = (['notify', 'indicate'] as const).find(each => properties.includes(each));
      if (!way || cccd === null) throw new Error(`the device does not notify of ${uuid}`);
      const own = listeners.get(handle) ?? new Set();
      listeners.set(handle, own.add(onData));
      const what = `subscribing to ${uuid}`;
      const register = () => send('notifyRequest', { address, handle, enable: true });
      await ask(what, { answer: 'notifyResponse', handle, request: register }, options);
      // The proxy now forwards notifications, but does not write the CCCD: that is left to its client.
      const enable = () => send('writeDescriptorRequest', { address, handle: cccd, data: SWITCH_ON[way] });
      await ask(what, { answer: 'writeResponse', handle: cccd, request: enable }, options);
    },
    async probe(service, uuid) {
      // A refusal shows that the device is there. If there is no answer, the read has closed the link.
      if (find(service, uuid)) await read(service, uuid).catch(() => {});
    },
    signal: async () => null, // the proxy does not measure it while a device is connected
    hasDataLength: null,
    closed,
    disconnect,
  };
  return { link, receive, lose };
}

function characteristicsOf(service: GattService): Characteristic[] {
  return service.characteristics.map(({ handle, properties, descriptors, ...characteristic }) => ({
    service: uuidOf(service),
    uuid: uuidOf(characteristic),
    handle,
    properties: PROPERTIES.filter(([bit]) => (properties & bit) !== 0).map(([, word]) => word),
    cccd: descriptors.find(each => uuidOf(each) === CCCD)?.handle ?? null,
  }));
}

/** Decodes a UUID: a short number, or two halves of 64 bits. */
function uuidOf({ uuid: [high = 0n, low = 0n], shortUuid }: { uuid: bigint[]; shortUuid: number }): string {
  if (shortUuid !== 0) return shortUuid.toString(16).padStart(4, '0');
  return plainUuid([high, low].map(half => half.toString(16).padStart(16, '0')).join(''));
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes);
}
