import type { Clock } from '../clock.ts';
import { type Board, type BoardFaults, createBoard } from './board.ts';
import type { Frames } from './frames.ts';
import type { ServiceSpec } from './gatt-server.ts';
import { createOmiStore, type Generation, type OmiStore, type StoredRecord } from './omi-store.ts';

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
export const AUDIO_SERVICE = omi('0000');
export const AUDIO_DATA = omi('0001');
export const AUDIO_CODEC = omi('0002');
export const BATTERY_SERVICE = '180f';
export const BATTERY_LEVEL = '2a19';
const DEVICE_INFORMATION = '180a';

/** Firmware sends no audio at all below this ATT MTU. */
const AUDIO_MIN_MTU = 100;
const HEADER_BYTES = 3;
const ATT_HEADER_BYTES = 3;

/** Faults of the pendant, which can be changed at any time. */
export interface PendantFaults extends BoardFaults {
  /** The value read from the codec characteristic. */
  codec: () => Uint8Array;
}

/** A wearable of the Omi family that plays a recording to whoever subscribes. */
export interface Pendant extends Board {
  readonly faults: PendantFaults;
  setBattery(percent: number): void;
  /** Storage for audio recorded out of reach, if it has any. */
  readonly store: OmiStore | null;
}

export interface PendantOptions {
  address?: string;
  name?: string;
  codecId: number;
  /** Null: it sends only what `notifyAudio` is given. */
  frames: Frames | null;
  /** Again and again, instead of silence after the end. */
  loop?: boolean;
  clock: Clock;
  /** Times real speed. */
  speed?: number;
  /** Largest ATT MTU. */
  maxMtu?: number;
  battery?: number;
  /** Under which the adapter reports a connection to it. */
  identity?: string;
  /** Audio recorded out of reach, and the format of its firmware. */
  stored?: { generation: Generation; records: readonly StoredRecord[] };
  /** Changes the services that it usually offers. */
  services?: (usual: ServiceSpec[]) => ServiceSpec[];
}

export function createPendant({
  address = 'c0:ff:ee:00:00:01',
  name = 'Omi',
  codecId,
  frames,
  battery: startBattery = 87,
  services: change = usual => usual,
  stored,
  ...more
}: PendantOptions): Pendant {
  let battery = startBattery;
  let packetId = 0; // counts on over connections, as in the firmware
  let codec = () => Uint8Array.of(codecId);
  const text = (value: string) => () => Buffer.from(value);
  const store = stored
    ? createOmiStore(stored.generation, stored.records, {
        send: (uuid, bytes) => board.notify(uuid, bytes),
        mtu: () => board.mtu,
      })
    : null;
  const services: ServiceSpec[] = [
    {
      uuid: AUDIO_SERVICE,
      characteristics: [
        { uuid: AUDIO_DATA, properties: ['read', 'notify'] },
        { uuid: AUDIO_CODEC, properties: ['read'], value: () => codec() },
      ],
    },
    {
      uuid: BATTERY_SERVICE,
      characteristics: [
        { uuid: BATTERY_LEVEL, properties: ['read', 'notify'], value: () => Uint8Array.of(battery) },
      ],
    },
    {
      uuid: DEVICE_INFORMATION,
      characteristics: [
        { uuid: '2a29', properties: ['read'], value: text('Based Hardware') },
        { uuid: '2a24', properties: ['read'], value: text('Omi CV 1') },
        { uuid: '2a26', properties: ['read'], value: text(store?.firmware ?? '3.0.15') },
        { uuid: '2a27', properties: ['read'], value: text('5.0') },
      ],
    },
  ];

  function pack(packed: readonly Uint8Array[], mtu: number): Buffer[] {
    const room = mtu - ATT_HEADER_BYTES - HEADER_BYTES;
    const packets: Buffer[] = [];
    for (const frame of packed)
      for (let at = 0, index = 0; at < frame.length; at += room, index += 1) {
        const header = Buffer.from([packetId & 0xff, packetId >> 8, index]);
        packets.push(Buffer.concat([header, frame.subarray(at, at + room)]));
        packetId = (packetId + 1) & 0xffff;
      }
    return packets;
  }

  const board = createBoard({
    ...more,
    address,
    name,
    advertised: [AUDIO_SERVICE, DEVICE_INFORMATION],
    services: change([...services, ...(store ? [store.service] : [])]),
    audio: AUDIO_DATA,
    sound: frames,
    pack,
    minMtu: AUDIO_MIN_MTU,
    onConnected: () => store?.reset(),
  });
  const faults: PendantFaults = Object.defineProperty(board.faults as PendantFaults, 'codec', {
    get: () => codec,
    set(next: typeof codec) {
      codec = next;
    },
  });
  return Object.assign(board, {
    faults,
    store,
    setBattery(percent: number) {
      battery = percent;
      board.notify(BATTERY_LEVEL, Uint8Array.of(percent));
    },
  });
}
