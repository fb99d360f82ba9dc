/** Error codes of the Attribute Protocol and of ESP-IDF, which proxies pass on. */

const ATT: Readonly<Record<number, string>> = {
  1: 'the device has no such attribute',
  2: 'the device does not allow reading it',
  3: 'the device does not allow writing it',
  4: 'the device considers the request malformed',
  5: 'the device has to be paired first',
  6: 'the device does not support it',
  7: 'the device does not know this offset',
  8: 'the device does not permit it',
  10: 'the device has no such attribute',
  12: 'the device requires a longer encryption key',
  13: 'the device does not accept a value of this length',
  14: 'the device failed',
  15: 'the device requires an encrypted connection',
  17: 'the device is out of memory',
  128: 'the proxy is out of memory',
  129: 'the proxy failed',
  132: 'the proxy is busy',
  133: 'the proxy could not do it',
  143: 'the connection is congested',
};

/** Errors that pairing may resolve. */
const WANTS_PAIRING: ReadonlySet<number> = new Set([5, 8, 12, 15]);
const NO_PAIRING =
  'the radio esphome does not pair: use a Bluetooth adapter of this machine, with bluez in bridge.radios';

/** Reasons for which a connection ended or was not made. */
const CONNECTION: Readonly<Record<number, string>> = {
  8: 'the connection was lost',
  19: 'closed by the device',
  22: 'closed by the proxy',
  34: 'the device no longer answers',
  62: 'the device did not answer',
  133: 'the device could not be reached',
  256: 'there was no connection',
};

/** Error code of a proxy that has no connection to the device. */
export const NOT_CONNECTED = -1;

export function describeGattError(code: number): string {
  if (code === NOT_CONNECTED) return 'the proxy is not connected to the device';
  const words = ATT[code] ?? 'an unknown error';
  return `${words} (${code})${WANTS_PAIRING.has(code) ? `; ${NO_PAIRING}` : ''}`;
}

/** @param code 0: the proxy does not say why */
export function describeDisconnection(code: number): string {
  if (code === 0) return 'disconnected';
  return `${CONNECTION[code] ?? 'disconnected'} (${code})`;
}
