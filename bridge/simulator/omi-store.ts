import type { ServiceSpec } from './gatt-server.ts';

const SERVICE = '30295780-4301-eabd-2904-2849adfeae43';
const DATA = '30295781-4301-eabd-2904-2849adfeae43';
const STATUS = '30295782-4301-eabd-2904-2849adfeae43';
/** Constant: the status tells it whatever is stored. */
const FREE_BYTES = 123_456_789;
const BLOCK_BYTES = 440;
const ATT_HEADER_BYTES = 3;
/** Records sent in one turn of the event loop. */
const RECORDS_AT_ONCE = 8;

export type Generation = 'single' | 'files' | 'ring';

/** Simulated storage of a pendant of the Omi family, and the protocol to fetch the audio in it. */
export interface OmiStore {
  service: ServiceSpec;
  /** Version of the firmware that stores in this format. */
  firmware: string;
  /** Number of records that are still stored. */
  readonly left: number;
  /** Called before each notification; false: the transfer stops. */
  gate: () => boolean;
  /** Resets the state of the transfer for a new connection. */
  reset(): void;
}

export interface StoredRecord {
  /** UTC seconds. */
  time: number;
  frames: readonly Uint8Array[];
}

/** Packs frames into blocks as the firmware does: each preceded by its length, never using the last byte of a block. */
export function recordsOf(frames: readonly Uint8Array[], startS: number, frameMs: number): StoredRecord[] {
  const records: StoredRecord[] = [];
  let current: Uint8Array[] = [];
  let size = 0;
  let first = 0;
  const close = () => {
    if (current.length > 0)
      records.push({ time: startS + Math.floor((first * frameMs) / 1000), frames: current });
  };
  for (const [index, frame] of frames.entries()) {
    if (size + 1 + frame.length >= BLOCK_BYTES) {
      close();
      current = [];
      size = 0;
      first = index;
    }
    current.push(frame);
    size += 1 + frame.length;
  }
  close();
  return records;
}

function blockOf({ frames }: StoredRecord): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES, 0x5a); // stands for what earlier recordings have left there
  let at = 0;
  for (const frame of frames) {
    block[at] = frame.length;
    Buffer.from(frame).copy(block, at + 1);
    at += 1 + frame.length;
  }
  block[at] = 0xff;
  return block;
}

/** @param send sends a notification, truncated to `mtu` */
export function createOmiStore(
  generation: Generation,
  given: readonly StoredRecord[],
  { send, mtu }: { send(uuid: string, bytes: Uint8Array): void; mtu(): number },
): OmiStore {
  let records = [...given];
  let first = 0; // number of the oldest record in the ring
  let run = 0; // incremented by each command: the transfer of an earlier one ends
  const store: OmiStore = {
    firmware: { single: '3.0.15', files: '3.0.17', ring: '3.0.20' }[generation],
    gate: () => true,
    get left() {
      return records.length;
    },
    reset() {
      run += 1;
    },
    service: {
      uuid: SERVICE,
      characteristics: [
        { uuid: DATA, properties: ['write', 'notify'], write: take },
        { uuid: STATUS, properties: ['read', 'notify'], value: status },
      ],
    },
  };

  function status(): Buffer {
    const bytes = Buffer.alloc(generation === 'ring' ? 16 : 8);
    bytes.writeUInt32LE(records.length * (generation === 'ring' ? BLOCK_BYTES + 4 : BLOCK_BYTES), 0);
    bytes.writeUInt32LE(
      generation === 'single' ? 0 : generation === 'files' ? Number(records.length > 0) : records.length,
      4,
    );
    if (generation === 'ring') {
      bytes.writeUInt32LE(FREE_BYTES, 8);
      bytes.writeUInt32LE(1, 12);
    }
    return bytes;
  }

  function take(bytes: Buffer): undefined {
    run += 1;
    if (generation === 'ring') ring(bytes);
    else file(bytes);
  }

  /** Sends an answer in a later turn of the event loop, as a device would. */
  function later(step: () => void): void {
    const mine = run;
    setImmediate(() => {
      if (mine === run) step();
    });
  }

  function notify(bytes: Uint8Array): void {
    if (store.gate()) send(DATA, bytes.subarray(0, mtu() - ATT_HEADER_BYTES));
  }

  // ── files (the firmware with one file, and that with several) ─────────────────────────────────────────────────

  function file(bytes: Buffer): void {
    const [command = 0] = bytes;
    const isSingle = generation === 'single';
    if (command === 50) answer(0, true);
    else if (!isSingle && command === 0x10) later(() => notify(listing()));
    else if (command === (isSingle ? 0x00 : 0x11)) {
      answer(0);
      transfer(Math.floor(bytes.readUInt32BE(2) / BLOCK_BYTES));
    } else if (command === (isSingle ? 0x01 : 0x12)) remove();
    else answer(command === 0x03 ? 0 : 6);
  }

  function remove(): void {
    records = [];
    later(() => {
      notify(Buffer.of(0));
      if (generation === 'single') notify(Buffer.of(200));
    });
  }

  /** @param goesOn whether the current transfer continues */
  function answer(code: number, goesOn = false): void {
    if (goesOn) run -= 1;
    setImmediate(() => notify(Buffer.of(code)));
  }

  function listing(): Buffer {
    const bytes = Buffer.alloc(records.length > 0 ? 9 : 1);
    if (records.length === 0) return bytes;
    bytes[0] = 1;
    bytes.writeUInt32BE(records[0]?.time ?? 0, 1);
    bytes.writeUInt32BE(records.length * BLOCK_BYTES, 5);
    return bytes;
  }

  function transfer(from: number): void {
    later(() => {
      for (const record of records.slice(from, from + RECORDS_AT_ONCE)) notify(blockOf(record));
      if (from + RECORDS_AT_ONCE < records.length) transfer(from + RECORDS_AT_ONCE);
      else notify(Buffer.of(100));
    });
  }

  // ── a ring ────────────────────────────────────────────────────────────────────────────────────────────────────────

  function ring(bytes: Buffer): void {
    const [command] = bytes;
    if (command === 0x10) later(() => notify(info()));
    else if (command === 0x11) later(() => readRing(Number(bytes.readBigUInt64BE(1)), bytes.readUInt32BE(9)));
    else if (command === 0x15) later(() => advance(Number(bytes.readBigUInt64BE(9))));
    else later(() => notify(Buffer.of(0x01, 6)));
  }

  function info(): Buffer {
    const bytes = Buffer.alloc(41);
    bytes[0] = 0x02;
    bytes.writeBigUInt64BE(BigInt(first), 1);
    bytes.writeBigUInt64BE(BigInt(first + records.length), 9);
    bytes.writeUInt32BE(1_000_000, 17);
    bytes.writeUInt16BE(BLOCK_BYTES + 4, 29);
    bytes[31] = 8; // flag: the id is valid
    bytes[32] = 1;
    bytes.writeBigUInt64BE(RING_ID, 33);
    return bytes;
  }

  function readRing(start: number, count: number): void {
    const wanted = records.slice(start - first, start - first + count);
    const begin = Buffer.alloc(13);
    begin[0] = 0x05;
    begin.writeBigUInt64BE(BigInt(start), 1);
    begin.writeUInt32BE(wanted.length, 9);
    notify(Buffer.of(0x01, 0));
    notify(begin);
    const raw = Buffer.concat(wanted.flatMap(record => [uint32(record.time), blockOf(record)]));
    const room = mtu() - ATT_HEADER_BYTES - 1;
    for (let at = 0; at < raw.length; at += room)
      notify(Buffer.concat([Buffer.of(0x03), raw.subarray(at, at + room)]));
    const done = Buffer.alloc(10);
    done[0] = 0x04;
    done.writeBigUInt64BE(BigInt(start + wanted.length), 2);
    notify(done);
  }

  function advance(to: number): void {
    const gone = Math.max(0, Math.min(records.length, to - first));
    records = records.slice(gone);
    first += gone;
    notify(Buffer.of(0x01, 0));
  }

  return store;
}

const RING_ID = 0x1122334455667788n;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
