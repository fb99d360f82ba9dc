/** A UUID as Bluetooth libraries and attribute tables compare it: lower case, no dashes, 16-bit ones as four digits. */
export function plainUuid(uuid: string): string {
  const plain = uuid.replaceAll('-', '').toLowerCase();
  return plain.length < 4 ? plain.padStart(4, '0') : plain;
}
