import type { AirDevice } from '../../bridge/simulator/controller.ts';
import type { Property } from '../../bridge/simulator/gatt-server.ts';

/** A characteristic that was discovered. */
export interface Discovered {
  uuid: string;
  properties: Property[];
  handle: number;
}

/** The host's side of a connection to a simulated device: the Attribute Protocol without a radio. */
export interface AttSession {
  readonly mtu: number;
  readonly services: readonly { uuid: string; characteristics: Discovered[] }[];
  read(handle: number): Promise<Buffer>;
  /** @param response whether the device has to confirm the write */
  write(handle: number, bytes: Uint8Array, response: boolean): Promise<void>;
  subscribe(handle: number): Promise<void>;
  disconnect(): void;
}

/** An error response of the device. */
export class AttError extends Error {
  constructor(code: number) {
    super(`Operation failed with ATT error: 0x${code.toString(16).padStart(2, '0')}`);
  }
}

const HOST_MTU = 517;
const LAST_HANDLE = 0xffff;
const SERVICE = 0x2800;
const CHARACTERISTIC = 0x2803;
const CCCD = '2902';
const PROPERTY_BITS: readonly (readonly [number, Property])[] = [
  [0x02, 'read'],
  [0x04, 'writeWithoutResponse'],
  [0x08, 'write'],
  [0x10, 'notify'],
  [0x20, 'indicate'],
];

export async function connectAtt(
  device: AirDevice,
  { onNotification, onClosed }: { onNotification(handle: number, bytes: Buffer): void; onClosed(): void },
): Promise<AttSession> {
  const close = () => {
    device.disconnected();
    onClosed();
  };
  device.connected({
    send(pdu) {
      if (pdu[0] === 0x1b) onNotification(pdu.readUInt16LE(1), Buffer.from(pdu.subarray(3)));
    },
    close,
    forget: close,
  });

  /** Stays pending if the device does not answer. */
  async function request(...pdu: (number | Uint8Array)[]): Promise<Buffer> {
    const answer = device.receive(
      Buffer.concat(pdu.map(part => (typeof part === 'number' ? Buffer.of(part) : part))),
    );
    if (!answer) return new Promise(() => {});
    if (answer[0] === 0x01) throw new AttError(answer[4] ?? 0);
    return answer;
  }

  /** Lists all entries of a type between two handles. @param opcode 0x10 for groups, 0x08 for attributes */
  async function list(opcode: number, type: number, first: number, last: number): Promise<Buffer[]> {
    const entries: Buffer[] = [];
    for (let from = first; from <= last; ) {
      const answer = await request(opcode, uint16(from), uint16(last), uint16(type)).catch(nothingMore);
      if (!answer) break;
      const size = answer[1] ?? 1;
      for (let at = 2; at < answer.length; at += size) entries.push(answer.subarray(at, at + size));
      const end = entries.at(-1);
      from = (opcode === 0x10 ? end?.readUInt16LE(2) : end?.readUInt16LE(0)) ?? last;
      from += 1;
    }
    return entries;
  }

  async function discover() {
    const services = [];
    for (const entry of await list(0x10, SERVICE, 1, LAST_HANDLE)) {
      const [first, last] = [entry.readUInt16LE(0), entry.readUInt16LE(2)];
      const found = await list(0x08, CHARACTERISTIC, first, last);
      services.push({ uuid: uuidOf(entry.subarray(4)), characteristics: found.map(described) });
    }
    return services;
  }

  const agreed = await request(0x02, uint16(HOST_MTU));
  const mtu = Math.min(HOST_MTU, agreed.readUInt16LE(1));
  const services = await discover();

  return {
    mtu,
    services,
    async read(handle) {
      return (await request(0x0a, uint16(handle))).subarray(1);
    },
    async write(handle, bytes, response) {
      if (response) await request(0x12, uint16(handle), bytes);
      else device.receive(Buffer.concat([Buffer.of(0x52), uint16(handle), bytes]));
    },
    async subscribe(handle) {
      const next = await request(0x04, uint16(handle + 1), uint16(handle + 1));
      if (uuidOf(next.subarray(4)) !== CCCD) throw new AttError(0x0a);
      await request(0x12, uint16(handle + 1), uint16(1));
    },
    disconnect: close,
  };
}

/** A request for handles beyond the last one is answered with an error, which ends a list. */
function nothingMore(error: unknown): null {
  if (error instanceof AttError) return null;
  throw error;
}

/** Parses an entry: handle of the declaration, properties, handle of the value, UUID. */
function described(entry: Buffer): Discovered {
  const bits = entry[2] ?? 0;
  return {
    uuid: uuidOf(entry.subarray(5)),
    properties: PROPERTY_BITS.flatMap(([bit, name]) => (bits & bit ? [name] : [])),
    handle: entry.readUInt16LE(3),
  };
}

/** Formats the little-endian bytes of a UUID: 16 bits as `180f`, 128 bits with dashes. */
export function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).reverse().toString('hex');
  return hex.length === 4 ? hex : hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function uint16(value: number): Buffer {
  return Buffer.of(value & 0xff, value >> 8);
}
