/**
 * Events of the Wyoming protocol as bytes: a line of JSON, then `data_length` bytes of further JSON, then
 * `payload_length` bytes of anything. Pure.
 */
import { isRecord, parseJson } from '../json.ts';

export interface WyomingEvent {
  type: string;
  data: Record<string, unknown>;
  /** The audio of an audio event; otherwise empty. */
  payload: Uint8Array;
}

/** Longest line that the protocol's own reader accepts. */
const MAX_LINE_BYTES = 64 * 1024;
const MAX_DATA_BYTES = 1024 * 1024;
const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** Chunks that wait to be joined. */
const MAX_PIECES = 1000;
const NEWLINE = 0x0a;

export function encodeEvent(type: string, data?: Record<string, unknown>, payload?: Uint8Array): Buffer {
  const body = data === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(data));
  const header = {
    type,
    ...(body.length > 0 ? { data_length: body.length } : {}),
    ...(payload ? { payload_length: payload.byteLength } : {}),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body, payload ?? Buffer.alloc(0)]);
}

/** Assembles bytes into events, in the order received. */
export function createEventReader() {
  let pending: Buffer = Buffer.alloc(0);
  let header: Header | null = null;
  /** Joined to `pending` later, so that an event received byte by byte is not copied for each byte. */
  const arrived: Buffer[] = [];
  let arrivedBytes = 0;

  /** @throws {Error} at the first bytes that violate the protocol or a limit; the message never quotes them */
  function push(bytes: Buffer): WyomingEvent[] {
    arrived.push(bytes);
    arrivedBytes += bytes.length;
    const missing = header === null ? 0 : header.dataBytes + header.payloadBytes - pending.length;
    if (arrivedBytes < missing && arrived.length < MAX_PIECES) return [];
    pending = Buffer.concat([pending, ...arrived.splice(0)]);
    arrivedBytes = 0;
    const events: WyomingEvent[] = [];
    for (let event = next(); event !== null; event = next()) events.push(event);
    return events;
  }

  function next(): WyomingEvent | null {
    header ??= takeHeader();
    if (header === null) return null;
    const { type, data, dataBytes, payloadBytes } = header;
    if (pending.length < dataBytes + payloadBytes) return null;
    const further = dataBytes === 0 ? {} : parseObject(pending.subarray(0, dataBytes));
    const payload = pending.subarray(dataBytes, dataBytes + payloadBytes);
    pending = pending.subarray(dataBytes + payloadBytes);
    header = null;
    return { type, data: { ...data, ...further }, payload };
  }

  function takeHeader(): Header | null {
    const end = pending.indexOf(NEWLINE);
    if ((end < 0 ? pending.length : end) > MAX_LINE_BYTES) throw new Error('a header is too long');
    if (end < 0) return null;
    const line = pending.subarray(0, end);
    pending = pending.subarray(end + 1);
    return readHeader(parseObject(line));
  }

  return { push };
}

interface Header extends Omit<WyomingEvent, 'payload'> {
  dataBytes: number;
  payloadBytes: number;
}

function readHeader({ type, data, data_length, payload_length }: Record<string, unknown>): Header {
  if (typeof type !== 'string') throw new Error('an event has no type');
  return {
    type,
    data: isRecord(data) ? data : {},
    dataBytes: readLength(data_length, MAX_DATA_BYTES),
    payloadBytes: readLength(payload_length, MAX_PAYLOAD_BYTES),
  };
}

function readLength(value: unknown, most: number): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new Error('a length is no number');
  if (value > most) throw new Error('an event is too long');
  return value;
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  const value = parseJson(bytes.toString('utf8'));
  if (!isRecord(value)) throw new Error('a part is not a JSON object');
  return value;
}
