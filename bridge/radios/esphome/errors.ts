/** Error codes of the Attribute Protocol and of ESP-IDF, which proxies pass on. */

const ATT: Readonly<Record<number, string>> = {
  1: 'the device has no such attribute',
  2: 'the device does not let it be read',
  3: 'the device does not let it be written',
  4: 'the device takes the request for malformed',
  5: 'the device wants to be paired first',
  6: 'the device does not support it',
  7: 'the device does not know this offset',
  8: 'the device does not permit it',
  10: 'the device has no such attribute',
  12: 'the device wants a longer key of encryption',
  13: 'the device does not accept a value of this length',
  14: 'the device has failed at it',
  15: 'the device wants an encrypted connection',
  17: 'the device has no memory left for it',
  128: 'the proxy has no memory left for it',
  129: 'the proxy has failed at it',
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
  34: 'the device does not answer any more',
  62: 'the device did not answer',
  133: 'the device could not be reached',
  256: 'there was no connection',
};

/** Error code of a proxy that has no connection to the device. */
export const NOT_CONNECTED = -1;

export function describeGattError(code: number): string {
  if (code === NOT_CONNECTED) return 'the proxy is not connected to the device';
  const words = ATT[code] ?? 'an error that is not known here';
  return `${words} (${code})${WANTS_PAIRING.has(code) ? `; ${NO_PAIRING}` : ''}`;
}

/** @param code 0: the proxy does not say why */
export function describeDisconnection(code: number): string {
  if (code === 0) return 'disconnected';
  return `${CONNECTION[code] ?? 'disconnected'} (${code})`;
}
