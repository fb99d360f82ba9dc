/** Bluetooth's own UUIDs are these with 16 bits of their own. */
const BASE = /^0000([0-9a-f]{4})00001000800000805f9b34fb$/;

/** A UUID as Bluetooth libraries and attribute tables compare it: lower case, no dashes, 16-bit ones as four digits. */
export function plainUuid(uuid: string): string {
  const plain = uuid.replaceAll('-', '').toLowerCase();
  return BASE.exec(plain)?.[1] ?? (plain.length < 4 ? plain.padStart(4, '0') : plain);
}
