import type { Clock } from '../clock.ts';
import { type Board, type BoardFaults, createBoard } from './board.ts';
import type { Frames } from './frames.ts';
import type { CharacteristicSpec, ServiceSpec } from './gatt-server.ts';
import { createOmiStore, type Generation, type OmiStore, type StoredRecord } from './omi-store.ts';

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
export const AUDIO_SERVICE = omi('0000');
export const AUDIO_DATA = omi('0001');
export const AUDIO_CODEC = omi('0002');
export const BATTERY_SERVICE = '180f';
export const BATTERY_LEVEL = '2a19';
const DEVICE_INFORMATION = '180a';

const PHOTO_DATA = omi('0005');
const PHOTO_CONTROL = omi('0006');
const PHOTO_PIECE_BYTES = 200;
const PHOTO_INDEX_BYTES = 2;
const PHOTO_END = Buffer.from('ffff', 'hex');

/** ATT MTU below which the firmware sends no audio. */
const AUDIO_MIN_MTU = 100;
const HEADER_BYTES = 3;
const ATT_HEADER_BYTES = 3;

/** Simulated faults of the pendant. Each can be changed at any time. */
export interface PendantFaults extends BoardFaults {
  /** Returns the value of the codec characteristic. */
  codec: () => Uint8Array;
}

/** Simulated wearable of the Omi family that plays a recording to a client that subscribes. */
export interface Pendant extends Board {
  readonly faults: PendantFaults;
  setBattery(percent: number): void;
  /**
   * Sends a photo as the glasses do, if the client has subscribed.
   * @param orientation quarter turns; null: none, as in firmware before 2.1.1
   */
  takePhoto(jpeg: Uint8Array, orientation?: number | null): void;
  /** Storage for audio recorded out of reach, if it has any. */
  readonly store: OmiStore | null;
}

export interface PendantOptions {
  address?: string;
  name?: string;
  codecId: number;
  /** Null: only what is passed to `notifyAudio` is sent. */
  frames: Frames | null;
  /** Repeats the recording; otherwise silence follows its end. */
  loop?: boolean;
  clock: Clock;
  /** Playback speed; 1: real time. */
  speed?: number;
  /** Largest ATT MTU. */
  maxMtu?: number;
  battery?: number;
  /** Address that the adapter reports for a connection, if it differs from the advertised one. */
  identity?: string;
  /** Stored audio, and the generation of firmware that defines its format. */
  stored?: { generation: Generation; records: readonly StoredRecord[] };
  /** Adds a camera, as in the glasses. */
  hasCamera?: boolean;
  /** Bits of the features characteristic: light, microphone gain and vibration. */
  features?: number;
  /** Called for each write of a control. @returns an ATT error code to refuse it */
  onControl?(uuid: string, byte: number | undefined): number | undefined;
  /** Changes the usual services. */
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
  hasCamera = false,
  features,
  onControl,
  ...more
}: PendantOptions): Pendant {
  let battery = startBattery;
  let packetId = 0; // is not reset by a new connection, as in the firmware
  let codec = () => Uint8Array.of(codecId);
  const text = (value: string) => () => Buffer.from(value);
  const store = stored
    ? createOmiStore(stored.generation, stored.records, {
        send: (uuid, bytes) => board.notify(uuid, bytes),
        mtu: () => board.mtu,
      })
    : null;
  const camera: CharacteristicSpec[] = [
    { uuid: PHOTO_DATA, properties: ['notify'] },
    { uuid: PHOTO_CONTROL, properties: ['write'], write: bytes => onControl?.(PHOTO_CONTROL, bytes[0]) },
  ];
  const controls = (service: string, ...uuids: string[]): ServiceSpec => ({
    uuid: service,
    characteristics: uuids.map(uuid => ({
      uuid,
      properties: ['write'],
      write: bytes => onControl?.(uuid, bytes[0]),
    })),
  });
  const mask = Buffer.alloc(4);
  mask.writeUInt32LE(features ?? 0);
  const controlled: ServiceSpec[] = [
    controls(omi('0010'), omi('0011'), omi('0012')),
    { uuid: omi('0020'), characteristics: [{ uuid: omi('0021'), properties: ['read'], value: () => mask }] },
    controls('cab1ab95-2ea5-4f4d-bb56-874b72cfc984', 'cab1ab96-2ea5-4f4d-bb56-874b72cfc984'),
  ];
  const services: ServiceSpec[] = [
    {
      uuid: AUDIO_SERVICE,
      characteristics: [
        { uuid: AUDIO_DATA, properties: ['read', 'notify'] },
        { uuid: AUDIO_CODEC, properties: ['read'], value: () => codec() },
        ...(hasCamera ? camera : []),
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
    services: change([
      ...services,
      ...(features === undefined ? [] : controlled),
      ...(store ? [store.service] : []),
    ]),
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
    takePhoto(jpeg: Uint8Array, orientation: number | null = 2) {
      const told = orientation === null ? jpeg : Buffer.concat([Buffer.of(orientation), jpeg]);
      const room = Math.min(PHOTO_PIECE_BYTES, board.mtu - ATT_HEADER_BYTES - PHOTO_INDEX_BYTES);
      for (let at = 0, index = 0; at < told.length; at += room, index += 1) {
        const number = Buffer.of(index & 0xff, index >> 8);
        board.notify(PHOTO_DATA, Buffer.concat([number, told.subarray(at, at + room)]));
      }
      board.notify(PHOTO_DATA, PHOTO_END);
    },
    setBattery(percent: number) {
      battery = percent;
      board.notify(BATTERY_LEVEL, Uint8Array.of(percent));
    },
  });
}
