/** Pattern of UUIDs that Bluetooth assigns: a constant base, and 16 bits. */
const BASE = /^0000([0-9a-f]{4})00001000800000805f9b34fb$/;

/** Normalises a UUID for comparison: lower case, without dashes, 16-bit ones as four digits. */
export function plainUuid(uuid: string): string {
  const plain = uuid.replaceAll('-', '').toLowerCase();
  return BASE.exec(plain)?.[1] ?? (plain.length < 4 ? plain.padStart(4, '0') : plain);
}
