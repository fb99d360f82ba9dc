const SIGNAL_DBM = -50;
const SCAN_RESPONSE = 0x04;
/** Event types in extended reports: legacy advertising of a connectable device, and its scan response. */
const EXTENDED_TYPE = { advertisement: 0x13, scanResponse: 0x1b } as const;

/**
 * Encodes the HCI event with which a controller reports an advertisement.
 * @param type 0: advertisement, 4: scan response
 * @param address a random address
 */
export function encodeReport(
  extended: boolean,
  type: number,
  address: string,
  data: Buffer,
  signalDbm = SIGNAL_DBM,
): Buffer {
  const signal = signalDbm & 0xff;
  const parameters = extended
    ? extendedReport(type, address, data, signal)
    : legacyReport(type, address, data, signal);
  return Buffer.from([0x04, 0x3e, parameters.length, ...parameters]);
}

function legacyReport(type: number, address: string, data: Buffer, signal: number): number[] {
  return [0x02, 1, type, 1, ...addressBytes(address), data.length, ...data, signal];
}

function extendedReport(type: number, address: string, data: Buffer, signal: number): number[] {
  const eventType = type === SCAN_RESPONSE ? EXTENDED_TYPE.scanResponse : EXTENDED_TYPE.advertisement;
  const [primaryPhy, secondaryPhy, set, txPower] = [1, 0, 0xff, 0x7f];
  const directAddress = [0, 0, 0, 0, 0, 0, 0];
  return [
    ...[0x0d, 1, eventType, 0, 1, ...addressBytes(address)],
    ...[primaryPhy, secondaryPhy, set, txPower, signal, 0, 0, ...directAddress],
    ...[data.length, ...data],
  ];
}

/** Encodes an address in the order of packets, last byte first. */
export function addressBytes(address: string): Buffer {
  return Buffer.from(address.replaceAll(':', ''), 'hex').reverse();
}
