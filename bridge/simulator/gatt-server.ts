import { plainUuid } from '../uuid.ts';

export type Property = 'read' | 'write' | 'writeWithoutResponse' | 'notify' | 'indicate';

export interface CharacteristicSpec {
  uuid: string;
  properties: readonly Property[];
  /** Returns the value of a read. */
  value?: () => Uint8Array;
  /**
   * Handles a write.
   * @returns an ATT error code to refuse it
   */
  write?: (bytes: Buffer) => number | undefined;
  /** Leaves out the CCCD, so that clients cannot subscribe. */
  withoutCccd?: boolean;
}

export interface ServiceSpec {
  uuid: string;
  characteristics: CharacteristicSpec[];
}

/** Simulated faults by UUID of the characteristic. They also apply to writes of its CCCD. */
export interface AttFaults {
  /** Reads and subscriptions are answered with this ATT error code. */
  errors: Map<string, number>;
  /** Reads and subscriptions are not answered at all. */
  silent: Set<string>;
}

/** ATT server with the attributes of one device (Bluetooth Core, Vol 3 Part F). */
export interface GattServer {
  /** Handles a request. @returns the answer; null: none */
  handle(pdu: Buffer): Buffer | null;
  /** Encodes a notification, truncated to the MTU; null if the client has not subscribed. */
  notification(uuid: string, bytes: Uint8Array): Buffer | null;
  /** Resets subscriptions and MTU for a new connection. */
  reset(): void;
  /** Negotiated MTU; 23 before the client has requested one. */
  readonly mtu: number;
}

const ERROR = {
  invalidHandle: 0x01,
  readNotPermitted: 0x02,
  writeNotPermitted: 0x03,
  notSupported: 0x06,
  invalidOffset: 0x07,
  notFound: 0x0a,
} as const;
const PROPERTY_BITS: Record<Property, number> = {
  read: 0x02,
  writeWithoutResponse: 0x04,
  write: 0x08,
  notify: 0x10,
  indicate: 0x20,
};
const NOTIFYING: readonly Property[] = ['notify', 'indicate'];
const TYPE = { service: '2800', characteristic: '2803', cccd: '2902' } as const;
export const SMALLEST_MTU = 23;
export const MTU_REQUEST = 0x02;

interface Attribute {
  handle: number;
  type: string;
  value(): Buffer;
  /** Last handle of the service, if this is its declaration. */
  endHandle?: number;
  /** The characteristic to which this value or CCCD belongs. */
  owner?: CharacteristicSpec;
}

/**
 * @param maxMtu largest ATT MTU of the device
 * @param agreesTo the MTU with which it answers the client's request; absent: its largest
 * @param onSubscription called when a CCCD was written
 */
export function createGattServer(
  services: ServiceSpec[],
  {
    maxMtu,
    agreesTo = () => maxMtu,
    faults,
    onSubscription,
  }: {
    maxMtu: number;
    agreesTo?: () => number;
    faults: AttFaults;
    onSubscription: (uuid: string, subscribed: boolean) => void;
  },
): GattServer {
  const attributes = layOut(services, owner => (subscribed.has(plainUuid(owner.uuid)) ? 1 : 0));
  const subscribed = new Set<string>();
  let mtu = SMALLEST_MTU;

  const inRange = (pdu: Buffer) =>
    attributes.filter(({ handle }) => handle >= pdu.readUInt16LE(1) && handle <= pdu.readUInt16LE(3));
  /** Applies a simulated fault. Null: there is none for this attribute. */
  function fault(pdu: Buffer, { owner, handle }: Attribute): { answer: Buffer | null } | null {
    if (!owner) return null;
    const uuid = plainUuid(owner.uuid);
    if (faults.silent.has(uuid)) return { answer: null };
    const code = faults.errors.get(uuid);
    return code === undefined ? null : { answer: refusal(pdu, code, handle) };
  }

  function agree(own: number, pdu: Buffer): void {
    mtu = Math.max(SMALLEST_MTU, Math.min(own, pdu.readUInt16LE(1)));
  }

  function exchangeMtu(pdu: Buffer): Buffer {
    const own = agreesTo();
    agree(own, pdu);
    return Buffer.concat([Buffer.of(MTU_REQUEST + 1), uint16(own)]);
  }

  /** The client's answer to the device's own request. */
  function mtuAnswered(pdu: Buffer): null {
    agree(maxMtu, pdu);
    return null;
  }

  /** Answers Read By Type and Read By Group Type with entries of equal length that fit into the MTU. */
  function readByType(pdu: Buffer): Buffer {
    const type = pdu.readUInt16LE(5).toString(16);
    const entries = inRange(pdu)
      .filter(attribute => attribute.type === type)
      .map(({ handle, endHandle, value }) => {
        const handles = endHandle === undefined ? [handle] : [handle, endHandle];
        return Buffer.concat([...handles.map(uint16), value()]).subarray(0, mtu - 2);
      });
    const length = entries[0]?.length;
    if (length === undefined) return refusal(pdu, ERROR.notFound, pdu.readUInt16LE(1));
    const same = entries.findIndex(entry => entry.length !== length);
    const fitting = entries
      .slice(0, same < 0 ? entries.length : same)
      .slice(0, Math.floor((mtu - 2) / length));
    return Buffer.concat([Buffer.from([(pdu[0] ?? 0) + 1, length]), ...fitting]);
  }

  function findInformation(pdu: Buffer): Buffer {
    const found = inRange(pdu);
    const size = found[0] && uuidBytes(found[0].type).length;
    if (!size) return refusal(pdu, ERROR.notFound, pdu.readUInt16LE(1));
    const entries = found
      .filter(({ type }) => uuidBytes(type).length === size)
      .slice(0, Math.floor((mtu - 2) / (2 + size)))
      .map(({ handle, type }) => Buffer.concat([uint16(handle), uuidBytes(type)]));
    return Buffer.concat([Buffer.from([0x05, size === 2 ? 1 : 2]), ...entries]);
  }

  function read(pdu: Buffer): Buffer | null {
    const handle = pdu.readUInt16LE(1);
    const attribute = attributes[handle - 1];
    if (!attribute) return refusal(pdu, ERROR.invalidHandle, handle);
    const broken = fault(pdu, attribute);
    if (broken) return broken.answer;
    if (attribute.owner && attribute.type !== TYPE.cccd && !attribute.owner.properties.includes('read'))
      return refusal(pdu, ERROR.readNotPermitted, handle);
    const offset = pdu[0] === 0x0c ? pdu.readUInt16LE(3) : 0;
    const value = attribute.value();
    if (offset > value.length) return refusal(pdu, ERROR.invalidOffset, handle);
    return Buffer.concat([Buffer.from([(pdu[0] ?? 0) + 1]), value.subarray(offset, offset + mtu - 1)]);
  }

  function write(pdu: Buffer): Buffer | null {
    const handle = pdu.readUInt16LE(1);
    const attribute = attributes[handle - 1];
    if (!attribute) return refusal(pdu, ERROR.invalidHandle, handle);
    const broken = fault(pdu, attribute);
    if (broken) return broken.answer;
    if (!attribute.owner) return refusal(pdu, ERROR.writeNotPermitted, handle);
    if (attribute.type !== TYPE.cccd) return writeValue(pdu, attribute.owner, handle);
    const uuid = plainUuid(attribute.owner.uuid);
    const on = (pdu[3] ?? 0) !== 0;
    if (on) subscribed.add(uuid);
    else subscribed.delete(uuid);
    setImmediate(onSubscription, uuid, on);
    return Buffer.from([0x13]);
  }

  function writeValue(pdu: Buffer, { write: take }: CharacteristicSpec, handle: number): Buffer | null {
    if (!take) return refusal(pdu, ERROR.writeNotPermitted, handle);
    const code = take(Buffer.from(pdu.subarray(3)));
    return code === undefined ? Buffer.from([0x13]) : refusal(pdu, code, handle);
  }

  /** Handles a write command, which is never answered. */
  function writeSilently(pdu: Buffer): null {
    write(pdu);
    return null;
  }

  const OPERATIONS: Record<number, (pdu: Buffer) => Buffer | null> = {
    2: exchangeMtu,
    3: mtuAnswered,
    4: findInformation,
    8: readByType,
    10: read,
    12: read,
    16: readByType,
    18: write,
    82: writeSilently,
    30: () => null, // confirmation of an indication
  };

  return {
    handle(pdu) {
      const opcode = pdu[0] ?? 0;
      const isCommand = (opcode & 0x40) !== 0;
      const operation = OPERATIONS[opcode];
      if (operation) return operation(pdu);
      return isCommand ? null : refusal(pdu, ERROR.notSupported);
    },
    notification(uuid, bytes) {
      const plain = plainUuid(uuid);
      const value = attributes.find(({ type, owner }) => owner && type === plain);
      if (!value || !subscribed.has(plain)) return null;
      return Buffer.concat([Buffer.from([0x1b]), uint16(value.handle), bytes]).subarray(0, mtu);
    },
    reset() {
      subscribed.clear();
      mtu = SMALLEST_MTU;
    },
    get mtu() {
      return mtu;
    },
  };
}

/** Assigns handles from 1: each service, then declaration, value and CCCD of each of its characteristics. */
function layOut(services: ServiceSpec[], cccd: (owner: CharacteristicSpec) => number): Attribute[] {
  const attributes: Attribute[] = [];
  const add = (attribute: Omit<Attribute, 'handle'>): Attribute => {
    const placed = { ...attribute, handle: attributes.length + 1 };
    attributes.push(placed);
    return placed;
  };
  for (const service of services) {
    const head = add({ type: TYPE.service, value: () => uuidBytes(service.uuid) });
    for (const owner of service.characteristics) addCharacteristic(owner);
    head.endHandle = attributes.length;
  }
  return attributes;

  function addCharacteristic(owner: CharacteristicSpec): void {
    const bits = owner.properties.reduce((sum, property) => sum | PROPERTY_BITS[property], 0);
    const valueHandle = attributes.length + 2;
    const declaration = Buffer.concat([Buffer.from([bits]), uint16(valueHandle), uuidBytes(owner.uuid)]);
    add({ type: TYPE.characteristic, value: () => declaration });
    add({ type: plainUuid(owner.uuid), owner, value: () => Buffer.from(owner.value?.() ?? []) });
    if (NOTIFYING.some(property => owner.properties.includes(property)) && !owner.withoutCccd)
      add({ type: TYPE.cccd, owner, value: () => uint16(cccd(owner)) });
  }
}

/** Encodes an error in answer to a request. */
export function refusal(pdu: Buffer, code: number, handle = 0): Buffer {
  return Buffer.concat([Buffer.of(0x01, pdu[0] ?? 0), uint16(handle), Buffer.of(code)]);
}

export function uint16(value: number): Buffer {
  return Buffer.from([value & 0xff, value >> 8]);
}

/** Encodes a UUID, little-endian, in 2 or 16 bytes. */
export function uuidBytes(uuid: string): Buffer {
  return Buffer.from(plainUuid(uuid), 'hex').reverse();
}
