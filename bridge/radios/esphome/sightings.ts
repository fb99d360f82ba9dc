import { onOneLine } from '../../../core/runtime/terminal.ts';
import type { Clock } from '../../clock.ts';
import type { Advertisement } from '../../radio.ts';
import type { RawAdvertisement } from './messages.ts';

/** Data of a device, collected from its advertisements. */
interface Heard {
  name: string;
  serviceUuids: Set<string>;
  manufacturerData: Uint8Array | null;
  addressType: number;
}

/** Devices in range of a proxy, with the data of all their advertisements. */
export interface Sightings {
  /** Handles an advertisement. Null: it is too long, or there were too many in this second. */
  hear(raw: RawAdvertisement): Advertisement | null;
  /** Returns the type of the address (0: public, 1: random); undefined: the device is unknown. */
  addressTypeOf(address: string): number | undefined;
  /** Returns the name; empty: not known. */
  nameOf(address: string): string;
}

/** Length of the UUIDs in a list by its AD type (Bluetooth Assigned Numbers, 2.3). */
const UUID_BYTES: Readonly<Record<number, number>> = { 2: 2, 3: 2, 4: 4, 5: 4, 6: 16, 7: 16 };
const [SHORT_NAME, NAME, MANUFACTURER] = [0x08, 0x09, 0xff];
/** Maximum length of advertising data: extended advertising, or an advertisement with its scan response. */
const MAX_DATA_BYTES = 255;
/** Devices that are remembered; beyond this number the least recently heard one is forgotten. */
const MAX_DEVICES = 1024;
const MAX_UUIDS = 32;

export function createSightings({ clock, perSecond }: { clock: Clock; perSecond: number }): Sightings {
  const devices = new Map<string, Heard>();
  let second = 0;
  let count = 0;

  function isTooMany(): boolean {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) count = 0;
    second = now;
    count += 1;
    return count > perSecond;
  }

  return {
    hear({ address, addressType, rssi, data }) {
      if (isTooMany() || data.length > MAX_DATA_BYTES) return null;
      const known = devices.get(address);
      const heard: Heard = known ?? {
        name: '',
        serviceUuids: new Set(),
        manufacturerData: null,
        addressType,
      };
      heard.addressType = addressType;
      learn(heard, Buffer.from(data.buffer, data.byteOffset, data.length));
      devices.delete(address);
      devices.set(address, heard);
      if (devices.size > MAX_DEVICES) devices.delete(devices.keys().next().value ?? '');
      const { name, serviceUuids, manufacturerData } = heard;
      return { id: address, address, name, serviceUuids: [...serviceUuids], manufacturerData, rssi };
    },
    addressTypeOf: address => devices.get(address)?.addressType,
    nameOf: address => devices.get(address)?.name ?? '',
  };
}

/** Reads the structures of an advertisement: length, type, content. */
function learn(heard: Heard, data: Buffer): void {
  for (let at = 0; at < data.length; ) {
    const length = data[at] ?? 0;
    const end = at + 1 + length;
    if (length === 0 || end > data.length) return; // the rest is padding or truncated
    learnPart(heard, data[at + 1] ?? 0, data.subarray(at + 2, end));
    at = end;
  }
}

function learnPart(heard: Heard, type: number, content: Buffer): void {
  const size = UUID_BYTES[type];
  if (size !== undefined)
    for (let at = 0; at + size <= content.length && heard.serviceUuids.size < MAX_UUIDS; at += size)
      heard.serviceUuids.add(
        Buffer.from(content.subarray(at, at + size))
          .reverse()
          .toString('hex'),
      );
  else if (type === MANUFACTURER && content.length > 0) heard.manufacturerData = Buffer.from(content);
  else if (type === NAME || (type === SHORT_NAME && heard.name === ''))
    heard.name = onOneLine(content.toString()).trim();
}
