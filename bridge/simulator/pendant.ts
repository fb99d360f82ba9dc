import type { Clock } from '../clock.ts';
import type { AirDevice, AirLink } from './controller.ts';
import type { Frames } from './frames.ts';
import { type AttFaults, createGattServer, type ServiceSpec, uuidBytes } from './gatt-server.ts';

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
const PAIRING_FAILED = 0x05;
/** How often what is due is sent; real devices send once a frame. */
const TICK_MS = 5;

/** What the pendant does wrong; to be changed at any time. */
export interface PendantFaults extends AttFaults {
  /** What goes out in place of a notification: nothing, two of it, another one. */
  packet: (packet: Buffer, id: number) => Buffer[];
  /** What a connection attempt meets. */
  attempt: 'accept' | 'ignore' | number;
  /** The value read from the codec characteristic. */
  codec: () => Uint8Array;
  /** How long each answer takes. */
  answerMs: number;
  /** Pairing fails with this reason of the Security Manager Protocol; null: it is not answered. */
  pairing: number | null;
  /** The microphone sleeps: nothing is sent. */
  asleep: boolean;
}

/** A wearable of the Omi family that plays a recording to whoever subscribes. */
export interface Pendant extends AirDevice {
  readonly faults: PendantFaults;
  setBattery(percent: number): void;
  /** Link lost; it goes on advertising. @param reason HCI status */
  dropLink(reason?: number): void;
  /** Link lost without a word from the adapter. */
  slipAway(): void;
  /** Link lost, and no advertising until `comeBack`. */
  vanish(): void;
  comeBack(): void;
  /** Sends one audio notification as it is. */
  notifyAudio(bytes: Uint8Array): void;
  /** Resolves when the recording has been played to its end once. */
  readonly finished: Promise<void>;
  /** Frames handed out, lost ones included. */
  readonly played: number;
  /** Ends its timer. */
  stop(): void;
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
  /** What it offers, made of what it usually does. */
  services?: (usual: ServiceSpec[]) => ServiceSpec[];
}

export function createPendant({
  address = 'c0:ff:ee:00:00:01',
  name = 'Omi',
  codecId,
  frames,
  loop = false,
  clock,
  speed = 1,
  maxMtu = 498,
  battery: startBattery = 87,
  identity,
  services: change = usual => usual,
}: PendantOptions): Pendant {
  let battery = startBattery;
  let packetId = 0; // counts on over connections, as in the firmware
  let link: AirLink | null = null;
  let away = false;
  let timer: NodeJS.Timeout | null = null;
  let startedAt = 0;
  let sentSinceStart = 0;
  let played = 0;
  const finished = Promise.withResolvers<void>();

  const faults: PendantFaults = {
    errors: new Map(),
    silent: new Set(),
    packet: packet => [packet],
    attempt: 'accept',
    codec: () => Uint8Array.of(codecId),
    answerMs: 0,
    pairing: null,
    asleep: false,
  };
  const text = (value: string) => () => Buffer.from(value);
  const services: ServiceSpec[] = [
    {
      uuid: AUDIO_SERVICE,
      characteristics: [
        { uuid: AUDIO_DATA, properties: ['read', 'notify'] },
        { uuid: AUDIO_CODEC, properties: ['read'], value: () => faults.codec() },
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
        { uuid: '2a26', properties: ['read'], value: text('3.0.15') },
        { uuid: '2a27', properties: ['read'], value: text('5.0') },
      ],
    },
  ];
  const server = createGattServer(change(services), {
    maxMtu,
    faults,
    onSubscription(uuid, on) {
      if (uuid !== AUDIO_DATA.replaceAll('-', '')) return;
      if (on) start();
      else stop();
    },
  });

  function start(): void {
    stop();
    startedAt = clock.now();
    sentSinceStart = 0;
    timer = setInterval(sendDue, TICK_MS);
  }

  function stop(): void {
    if (timer) clearInterval(timer);
    timer = null;
  }

  function sendDue(): void {
    if (!frames || server.mtu < AUDIO_MIN_MTU) return;
    const due = Math.floor(((clock.now() - startedAt) * speed) / frames.frameMs);
    for (; sentSinceStart < due && link; sentSinceStart += 1) {
      if (faults.asleep) continue;
      sendFrame(frames.at(loop ? played % frames.length : played));
      played += 1;
      if (played === frames.length) finished.resolve();
    }
  }

  function sendFrame(frame: Uint8Array): void {
    const room = server.mtu - ATT_HEADER_BYTES - HEADER_BYTES;
    for (let at = 0, index = 0; at < frame.length; at += room, index += 1) {
      const header = Buffer.from([packetId & 0xff, packetId >> 8, index]);
      const packet = Buffer.concat([header, frame.subarray(at, at + room)]);
      for (const out of faults.packet(packet, packetId)) notifyAudio(out);
      packetId = (packetId + 1) & 0xffff;
    }
  }

  function notifyAudio(bytes: Uint8Array): void {
    const pdu = server.notification(AUDIO_DATA, bytes);
    if (pdu) link?.send(pdu);
  }

  function setBattery(percent: number): void {
    battery = percent;
    const pdu = server.notification(BATTERY_LEVEL, Uint8Array.of(percent));
    if (pdu) link?.send(pdu);
  }

  const dropLink = (reason = 0x08) => link?.close(reason);

  return {
    address,
    advertisement: () => (away ? null : Buffer.from([2, 0x01, 0x06, 17, 0x07, ...uuidBytes(AUDIO_SERVICE)])),
    scanResponse: () =>
      Buffer.from([name.length + 1, 0x09, ...Buffer.from(name), 3, 0x03, ...uuidBytes(DEVICE_INFORMATION)]),
    attempt: () => (away ? 'ignore' : faults.attempt),
    connected(next) {
      link = next;
      server.reset();
    },
    disconnected() {
      link = null;
      stop();
      server.reset();
    },
    receive: pdu => server.handle(pdu),
    receivePairing: () => (faults.pairing === null ? null : Buffer.of(PAIRING_FAILED, faults.pairing)),
    answerMs: () => faults.answerMs,
    ...(identity ? { identity } : {}),
    faults,
    setBattery,
    dropLink,
    slipAway: () => link?.forget(),
    vanish() {
      away = true;
      dropLink();
    },
    comeBack() {
      away = false;
    },
    notifyAudio,
    finished: finished.promise,
    get played() {
      return played;
    },
    stop,
  };
}
