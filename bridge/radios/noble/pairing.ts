/** ATT errors by which a device asks for an encrypted or paired connection. */
const WANTS_PAIRING = new Set([0x05, 0x08, 0x0c, 0x0f]);

/** Reasons of the Security Manager Protocol (Bluetooth Core, Vol 3 Part H 3.5.5). */
const REASONS: Readonly<Record<number, string>> = {
  1: 'a code must be entered',
  3: 'it requires Secure Connections or a code',
  5: 'it does not pair',
  6: 'it requires another key length',
  9: 'too many attempts',
};

/** The way out for a device that must bond. */
export const NO_KEYS =
  'the radio noble pairs without a code, and keeps no keys: for a device that must bond, set bridge.radios to [bluez], which pairs through the system; else remove old pairings from the device';

export function isPairingWanted(attError: number): boolean {
  return WANTS_PAIRING.has(attError);
}

/** @param reason why pairing failed; absent: it was not answered */
export function pairingHint(reason?: number): string {
  const code = reason === undefined ? '' : `0x${reason.toString(16).padStart(2, '0')}`;
  const why = reason === undefined ? 'it did not answer' : (REASONS[reason] ?? `reason ${code}`);
  return `the device requires an encrypted connection, and pairing failed: ${why}; ${NO_KEYS}`;
}
