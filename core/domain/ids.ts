import { randomUUIDv7 } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * A UUIDv7 of this instant (epoch ms): ids sort by the time they were made. Node's own takes the machine's time, and
 * ours is handed in, so its first 48 bits are replaced.
 */
export function newId(now: number): string {
  const stamp = now.toString(16).padStart(12, '0');
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}${randomUUIDv7().slice(13)}`;
}

/** Whether this can be the id of anything here; what is none is an unknown id, and never reaches a database. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
