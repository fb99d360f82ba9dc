/** Kinds of packets from the adapter, as messages name them. */
export type PacketKind =
  | 'advertisement'
  | 'data'
  | 'notification'
  | 'answer'
  | 'signalling'
  | 'pairing'
  | 'event';

/** A packet that breaks its own format (Bluetooth Core, Vol 3 Part A, F and H; Vol 4 Part E). */
export interface PacketFault {
  kind: PacketKind;
  /** In words, to follow "a malformed advertisement: ". */
  problem: string;
  /** Address of the sender of an advertisement; lower case, with colons. */
  address?: string;
  /** Handle of the connection. */
  handle?: number;
}

const PACKET = { command: 0x01, data: 0x02, event: 0x04 } as const;
const EVENT = { disconnection: 0x05, commandComplete: 0x0e, completedPackets: 0x13, leMeta: 0x3e } as const;
const META = { advertisingReport: 0x02, extendedAdvertisingReport: 0x0d } as const;
const SET_SCAN_ENABLE = [0x200c, 0x2042];
/** Statuses with which there is no connection any more: success, and an unknown connection. */
const DISCONNECTED = [0x00, 0x02];

/** Minimum parameter length of an event: disconnection, encryption change, command complete and status, credits. */
const EVENT_BYTES: Readonly<Record<number, number>> = { 5: 4, 8: 4, 14: 4, 15: 4, 19: 1, 62: 2 };
/** Minimum length of LE meta events with their subevent code: connection, update, data length, enhanced connection. */
const META_BYTES: Readonly<Record<number, number>> = { 1: 19, 3: 10, 7: 11, 10: 31 };
/** Minimum length of what a successful command returns after its status. */
const RESULT_BYTES: Readonly<Record<number, number>> = {
  3180: 2, // LE host support
  4097: 8, // version
  4098: 64, // supported commands
  4101: 7, // buffer size
  4105: 6, // address
  5125: 3, // RSSI
  8194: 3, // LE buffer size
  8195: 8, // LE features
};
/** Commands whose answers the libraries read even if the status is an error. */
const READ_REGARDLESS = new Set([0x1001, 0x1009]);
/** Minimum length of a structure by its AD type: TX power, service data with UUIDs of 2, 4 and 16 bytes. */
const AD_BYTES: Readonly<Record<number, number>> = { 10: 1, 22: 2, 32: 4, 33: 16 };

/** Finds what is wrong with a packet. Null: nothing, or the libraries ignore packets of this kind. */
export function inspectPacket(packet: Buffer): PacketFault | null {
  const type = packet[0];
  if (type === PACKET.event) return inspectEvent(packet);
  if (type === PACKET.data) return inspectData(packet);
  if (type === PACKET.command) return inspectCommand(packet);
  return type === undefined ? { kind: 'event', problem: 'an empty packet' } : null;
}

/** Recognises an event that only returns command credits: it carries no status, and the libraries cannot handle it. */
export function isFlowControl(packet: Buffer): boolean {
  return packet[0] === PACKET.event && packet[1] === EVENT.commandComplete && packet.length === 6;
}

/** Reads the result of a command; null: another packet. Expects a packet without a fault. */
export function commandResult(packet: Buffer): { opcode: number; status: number } | null {
  if (packet[0] !== PACKET.event || packet[1] !== EVENT.commandComplete) return null;
  return { opcode: packet.readUInt16LE(4), status: packet[6] ?? 0 };
}

const READ_LE_FEATURES = 0x2003;
/** Feature bit 5 of the first byte: LE Data Packet Length Extension. */
const DATA_LENGTH_BIT = 0x20;

/** Whether the adapter has the data length extension, where this is its answer to that question; else null. */
export function dataLengthOf(packet: Buffer): boolean | null {
  const result = commandResult(packet);
  if (result?.opcode !== READ_LE_FEATURES || result.status !== 0) return null;
  return ((packet[7] ?? 0) & DATA_LENGTH_BIT) !== 0;
}

export function isAdvertisement(packet: Buffer): boolean {
  const isMeta = packet[0] === PACKET.event && packet[1] === EVENT.leMeta;
  return isMeta && (packet[3] === META.advertisingReport || packet[3] === META.extendedAdvertisingReport);
}

// ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────

function inspectEvent(packet: Buffer): PacketFault | null {
  const code = packet[1] ?? 0;
  const parameters = packet.subarray(3);
  const problem = (words: string): PacketFault => ({ kind: 'event', problem: `event ${hex(code)} ${words}` });
  const declared = packet[2];
  if (declared === undefined || parameters.length < declared) return problem('is truncated');
  if (isFlowControl(packet)) return null;
  if (parameters.length < (EVENT_BYTES[code] ?? 0)) return problem(`has only ${parameters.length} bytes`);
  if (code === EVENT.completedPackets && parameters.length < 1 + (parameters[0] ?? 0) * 4)
    return problem('names more connections than it holds');
  if (code === EVENT.disconnection && !DISCONNECTED.includes(parameters[0] ?? 0))
    return problem('reports a disconnection that failed'); // the libraries take it for one that succeeded
  if (code === EVENT.commandComplete) return inspectResult(parameters);
  if (code === EVENT.leMeta) return inspectMeta(parameters);
  return null;
}

function inspectResult(parameters: Buffer): PacketFault | null {
  const opcode = parameters.readUInt16LE(1);
  const failed = parameters[3] !== 0;
  const least = failed && !READ_REGARDLESS.has(opcode) ? 0 : (RESULT_BYTES[opcode] ?? 0);
  if (parameters.length - 4 >= least) return null;
  return { kind: 'event', problem: `the answer to command ${hex(opcode)} is truncated` };
}

function inspectMeta(parameters: Buffer): PacketFault | null {
  const code = parameters[0] ?? 0;
  if (code === META.advertisingReport) return inspectReports(parameters, 8, 9);
  if (code === META.extendedAdvertisingReport) return inspectReports(parameters, 23, 24);
  if (parameters.length >= (META_BYTES[code] ?? 0)) return null;
  return { kind: 'event', problem: `LE event ${hex(code)} has only ${parameters.length} bytes` };
}

/**
 * Checks the advertising reports of an event, which follow each other.
 * @param lengthAt where the length of the advertising data stands in a report
 * @param dataAt where the data stand; after them, in a legacy report, the signal strength
 */
function inspectReports(parameters: Buffer, lengthAt: number, dataAt: number): PacketFault | null {
  const isLegacy = dataAt === 9;
  let at = 2;
  for (let left = parameters[1] ?? 0; left > 0; left -= 1) {
    const length = parameters[at + lengthAt];
    const end = at + dataAt + (length ?? 0) + (isLegacy ? 1 : 0);
    const address = addressAt(parameters, at + (isLegacy ? 2 : 3));
    if (length === undefined || end > parameters.length)
      return { kind: 'advertisement', problem: 'it is truncated', ...address };
    const problem = inspectAdvertisingData(parameters.subarray(at + dataAt, at + dataAt + length));
    if (problem) return { kind: 'advertisement', problem, ...address };
    at = end;
  }
  return null;
}

function addressAt(bytes: Buffer, at: number): { address?: string } {
  const address = bytes.subarray(at, at + 6);
  return address.length === 6 ? { address: addressText(address) } : {};
}

/** Checks structures of [length][type][bytes]. A length of zero, or beyond the end, ends the list. */
function inspectAdvertisingData(data: Buffer): string | null {
  for (let at = 0; at + 1 < data.length; ) {
    const length = data[at] ?? 0;
    const type = data[at + 1] ?? 0;
    if (length < 1 || at + length + 1 > data.length) return null;
    if (length - 1 < (AD_BYTES[type] ?? 0)) return `its structure of type ${hex(type)} is too short`;
    at += length + 1;
  }
  return null;
}

// ── data ────────────────────────────────────────────────────────────────────────────────────────────────────────

const CONTINUATION = 0x1;
const ACL_HEADER_BYTES = 5;
const L2CAP_HEADER_BYTES = 4;

function inspectData(packet: Buffer): PacketFault | null {
  if (packet.length < ACL_HEADER_BYTES) return { kind: 'data', problem: 'a data packet is truncated' };
  const header = packet.readUInt16LE(1);
  const handle = header & 0x0fff;
  const fault = (problem: string): PacketFault => ({ kind: 'data', problem, handle });
  const length = packet.length - ACL_HEADER_BYTES;
  if (packet.readUInt16LE(3) !== length)
    return fault('the length of a data packet is not that in its header');
  if (header >> 12 === CONTINUATION) return null;
  if (length < L2CAP_HEADER_BYTES) return null;
  if (length - L2CAP_HEADER_BYTES > packet.readUInt16LE(5))
    return fault('a message is longer than its header says');
  return null;
}

/**
 * Completes first parts of messages that are shorter than the header of a message. The specification allows them, and
 * the libraries would throw.
 */
export function createBeginnings(onFault: (fault: PacketFault) => void) {
  const held = new Map<number, Buffer>();

  return {
    /** Returns a packet without a fault, completed by what was kept for its connection; null: it is kept. */
    complete(packet: Buffer): Buffer | null {
      if (packet[0] !== PACKET.data) return packet;
      const header = packet.readUInt16LE(1);
      const handle = header & 0x0fff;
      const isContinuation = header >> 12 === CONTINUATION;
      const before = held.get(handle);
      held.delete(handle);
      if (before && !isContinuation)
        onFault({ kind: 'data', problem: `a message ended after ${before.length} bytes`, handle });
      if (isContinuation && !before) return packet;
      const part = packet.subarray(ACL_HEADER_BYTES);
      const start = isContinuation && before ? Buffer.concat([before, part]) : part;
      if (start.length >= L2CAP_HEADER_BYTES) return isContinuation ? firstPart(handle, start) : packet;
      held.set(handle, Buffer.from(start));
      return null;
    },
    forget(handle: number): void {
      held.delete(handle);
    },
  };
}

function firstPart(handle: number, content: Buffer): Buffer {
  const head = Buffer.alloc(ACL_HEADER_BYTES);
  head[0] = PACKET.data;
  head.writeUInt16LE(handle | 0x2000, 1);
  head.writeUInt16LE(content.length, 3);
  return Buffer.concat([head, content]);
}

const CHANNEL = { att: 0x0004, signalling: 0x0005, pairing: 0x0006 } as const;
const ATT = {
  error: 0x01,
  mtu: 0x03,
  byType: 0x09,
  byGroup: 0x11,
  notification: 0x1b,
  indication: 0x1d,
} as const;
const ATT_BYTES: Readonly<Record<number, number>> = { 1: 5, 3: 3, 27: 3, 29: 3 };
/** Lengths of one entry with a 2-byte and a 16-byte UUID: [first handle][last handle][UUID]. */
const SERVICE_BYTES = [6, 20];
const SMALLEST_ENTRY_BYTES = 3;
const SMALLEST_MTU = 23;
const PAIRING_BYTES: Readonly<Record<number, number>> = { 2: 7, 3: 17, 4: 17, 5: 2, 6: 17, 7: 11 };
const UPDATE_REQUEST = 0x12;

/** Finds what is wrong with a reassembled message of a connected device. Null: nothing. */
export function inspectMessage(channel: number, message: Buffer): Omit<PacketFault, 'handle'> | null {
  if (channel === CHANNEL.att) return inspectAtt(message);
  if (channel === CHANNEL.signalling) {
    const isShort = message.length < (message[0] === UPDATE_REQUEST ? 12 : 4);
    return isShort ? { kind: 'signalling', problem: `it has only ${message.length} bytes` } : null;
  }
  if (channel === CHANNEL.pairing) {
    const isShort = message.length < (PAIRING_BYTES[message[0] ?? 0] ?? 1);
    return isShort ? { kind: 'pairing', problem: `it has only ${message.length} bytes` } : null;
  }
  return null;
}

/** Classifies a message by its L2CAP channel. */
export function kindOfMessage(channel: number, message: Buffer): PacketKind {
  if (channel === CHANNEL.signalling) return 'signalling';
  if (channel === CHANNEL.pairing) return 'pairing';
  if (channel !== CHANNEL.att) return 'data';
  const opcode = message[0] ?? 0;
  if (opcode === ATT.notification || opcode === ATT.indication) return 'notification';
  return opcode % 2 === 1 ? 'answer' : 'data';
}

function inspectAtt(message: Buffer): Omit<PacketFault, 'handle'> | null {
  const kind = kindOfMessage(CHANNEL.att, message);
  const opcode = message[0];
  if (opcode === undefined) return { kind, problem: 'it is empty' };
  if (message.length < (ATT_BYTES[opcode] ?? 1))
    return { kind, problem: `it has only ${message.length} bytes` };
  if (opcode === ATT.mtu && message.readUInt16LE(1) < SMALLEST_MTU)
    return { kind, problem: `an MTU of ${message.readUInt16LE(1)}` };
  if (opcode !== ATT.byType && opcode !== ATT.byGroup) return null;
  const entry = message[1] ?? 0;
  const list = message.length - 2;
  // The libraries divide by the length of an entry: with zero they would loop for ever.
  const isEntry = opcode === ATT.byGroup ? SERVICE_BYTES.includes(entry) : entry >= SMALLEST_ENTRY_BYTES;
  if (list <= 0) return { kind, problem: 'its list is empty' };
  return isEntry && list % entry === 0 ? null : { kind, problem: `its list has entries of ${entry} bytes` };
}

/** MTU that a device itself asks for. Null: another message. Expects one without a fault. */
export function mtuAskedFor(channel: number, message: Buffer): number | null {
  const isIt = channel === CHANNEL.att && message[0] === ATT.mtu - 1 && message.length >= 3;
  return isIt ? Math.max(SMALLEST_MTU, message.readUInt16LE(1)) : null;
}

/** Reads an ATT error or a failed pairing from a message. Null: it is neither. */
export function refusalOf(channel: number, message: Buffer): { att: number } | { pairing: number } | null {
  const [opcode, reason] = message;
  if (channel === CHANNEL.att && opcode === ATT.error) return { att: message[4] ?? 0 };
  if (channel === CHANNEL.pairing && opcode === 0x05) return { pairing: reason ?? 0 };
  return null;
}

// ── commands, as the system echoes them ─────────────────────────────────────────────────────────────────────────

function inspectCommand(packet: Buffer): PacketFault | null {
  const isShort =
    packet.length < 4 || (SET_SCAN_ENABLE.includes(packet.readUInt16LE(1)) && packet.length < 6);
  return isShort ? { kind: 'event', problem: 'an echoed command is truncated' } : null;
}

export function isSetScanEnable(opcode: number): boolean {
  return SET_SCAN_ENABLE.includes(opcode);
}

/** @param bytes in the order of packets, last byte first */
export function addressText(bytes: Uint8Array): string {
  return [...bytes]
    .reverse()
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join(':');
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(2, '0')}`;
}
