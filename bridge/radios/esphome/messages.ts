import { decode, encode, type Shape, type ValuesOf } from './protobuf.ts';

/** Messages of ESPHome's native API that a Bluetooth proxy uses: numbers and fields as in its public api.proto. */

const MAX_ADVERTISEMENTS = 256;
const MAX_SERVICES = 64;
const MAX_CHARACTERISTICS = 128;
const MAX_DESCRIPTORS = 32;
const MAX_CONNECTIONS = 64;
/** A UUID is sent as two numbers of 64 bits. */
const UUID_NUMBERS = 2;

const DESCRIPTOR = {
  uuid: [1, 'numbers', UUID_NUMBERS],
  handle: [2, 'uint'],
  shortUuid: [3, 'uint'],
} as const satisfies Shape;

const CHARACTERISTIC = {
  uuid: [1, 'numbers', UUID_NUMBERS],
  handle: [2, 'uint'],
  properties: [3, 'uint'],
  descriptors: [4, DESCRIPTOR, MAX_DESCRIPTORS],
  shortUuid: [5, 'uint'],
} as const satisfies Shape;

const SERVICE = {
  uuid: [1, 'numbers', UUID_NUMBERS],
  handle: [2, 'uint'],
  characteristics: [3, CHARACTERISTIC, MAX_CHARACTERISTICS],
  shortUuid: [4, 'uint'],
} as const satisfies Shape;

const ADVERTISEMENT = {
  address: [1, 'address'],
  rssi: [2, 'sint'],
  addressType: [3, 'uint'],
  data: [4, 'bytes'],
} as const satisfies Shape;

const NOTHING = {} as const satisfies Shape;
const ADDRESS = { address: [1, 'address'] } as const satisfies Shape;
const HANDLE = { ...ADDRESS, handle: [2, 'uint'] } as const satisfies Shape;
const DATA = { ...HANDLE, data: [3, 'bytes'] } as const satisfies Shape;

/** Number and fields of each message. */
const MESSAGES = {
  helloRequest: [1, { client: [1, 'text'], major: [2, 'uint'], minor: [3, 'uint'] }],
  helloResponse: [2, { major: [1, 'uint'], minor: [2, 'uint'], server: [3, 'text'], name: [4, 'text'] }],
  /** Required before ESPHome 2026.1, even without a password; ignored since. */
  authenticationRequest: [3, { password: [1, 'text'] }],
  authenticationResponse: [4, { isInvalid: [1, 'bool'] }],
  disconnectRequest: [5, NOTHING],
  disconnectResponse: [6, NOTHING],
  pingRequest: [7, NOTHING],
  pingResponse: [8, NOTHING],
  deviceInfoRequest: [9, NOTHING],
  deviceInfoResponse: [
    10,
    { name: [2, 'text'], version: [4, 'text'], model: [6, 'text'], bluetoothFeatures: [15, 'uint'] },
  ],
  subscribeAdvertisements: [66, { flags: [1, 'uint'] }],
  deviceRequest: [
    68,
    { ...ADDRESS, type: [2, 'uint'], hasAddressType: [3, 'bool'], addressType: [4, 'uint'] },
  ],
  deviceConnection: [69, { ...ADDRESS, isConnected: [2, 'bool'], mtu: [3, 'uint'], error: [4, 'int'] }],
  getServices: [70, ADDRESS],
  services: [71, { ...ADDRESS, services: [2, SERVICE, MAX_SERVICES] }],
  servicesDone: [72, ADDRESS],
  readRequest: [73, HANDLE],
  readResponse: [74, DATA],
  writeRequest: [75, { ...HANDLE, response: [3, 'bool'], data: [4, 'bytes'] }],
  writeDescriptorRequest: [77, DATA],
  notifyRequest: [78, { ...HANDLE, enable: [3, 'bool'] }],
  notifyData: [79, DATA],
  subscribeConnectionsFree: [80, NOTHING],
  connectionsFree: [
    81,
    { free: [1, 'uint'], limit: [2, 'uint'], allocated: [3, 'numbers', MAX_CONNECTIONS] },
  ],
  gattError: [82, { ...HANDLE, error: [3, 'int'] }],
  writeResponse: [83, HANDLE],
  notifyResponse: [84, HANDLE],
  advertisements: [93, { advertisements: [1, ADVERTISEMENT, MAX_ADVERTISEMENTS] }],
  scannerState: [126, { state: [1, 'uint'], mode: [2, 'uint'] }],
  setConnectionParameters: [
    145,
    {
      ...ADDRESS,
      minInterval: [2, 'uint'],
      maxInterval: [3, 'uint'],
      latency: [4, 'uint'],
      timeout: [5, 'uint'],
    },
  ],
  connectionParameters: [146, { ...ADDRESS, error: [2, 'int'] }],
} as const satisfies Record<string, readonly [number, Shape]>;

export type MessageName = keyof typeof MESSAGES;
export type Content<Name extends MessageName> = ValuesOf<(typeof MESSAGES)[Name][1]>;
/** A message of any kind, discriminated by `name`. */
export type Message = { [Name in MessageName]: { name: Name; content: Content<Name> } }[MessageName];
export type GattService = ValuesOf<typeof SERVICE>;
export type RawAdvertisement = ValuesOf<typeof ADVERTISEMENT>;

/** An encoded message: its number and its fields. */
export interface Packet {
  type: number;
  body: Uint8Array;
}

const NAMES: ReadonlyMap<number, MessageName> = new Map(
  Object.entries(MESSAGES).map(([name, [type]]) => [type, name as MessageName]),
);

/** Decodes a message. Null: its kind is not used here. @throws Error if its fields are malformed */
export function messageOf({ type, body }: Packet): Message | null {
  const name = NAMES.get(type);
  if (name === undefined) return null;
  return { name, content: decode(MESSAGES[name][1], body) } as Message;
}

export function packetOf<Name extends MessageName>(name: Name, content: Partial<Content<Name>> = {}): Packet {
  const [type, shape]: readonly [number, Shape] = MESSAGES[name];
  return { type, body: encode(shape, content as Partial<ValuesOf<Shape>>) };
}

/** Bits of the features of a proxy. */
export const FEATURE = {
  activeConnections: 1 << 1,
  /** The client remembers the services of devices, and can connect without discovering them again. */
  remoteCaching: 1 << 2,
  rawAdvertisements: 1 << 5,
  connectionParameters: 1 << 7,
} as const;

/** Kinds of `deviceRequest`. */
export const DEVICE_REQUEST = { disconnect: 1, connectWithCache: 4, connectWithoutCache: 5 } as const;
export const RAW_ADVERTISEMENTS = 1;
