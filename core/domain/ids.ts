import { createHash, randomUUIDv7 } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Number of ids so far. */
let count = 0;
const MAX_COUNT = 0xfff;

/**
 * Returns a UUIDv7 of this instant (epoch ms). Ids sort by time, and within a millisecond by their order, as far as 12 bits
 * count. Node's own function uses the time of the machine, not the injected clock.
 */
export function newId(now: number): string {
  count = (count + 1) & MAX_COUNT;
  const stamp = now.toString(16).padStart(12, '0');
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${count.toString(16).padStart(3, '0')}${randomUUIDv7().slice(18)}`;
}

/** Instant of an id of `newId` (epoch ms). */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Namespace of derived ids. It must never change: existing ids would not be found again. */
const NAMESPACE = Buffer.from('b0f6c1d29a3e4d5785c47e1a6d20938f', 'hex');

/** Returns the UUIDv5 of a name: the same name gives the same id, at any time and on any server. */
export function derivedId(name: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Returns whether a text has the form of an id. Any other text counts as unknown, and never reaches a database. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
