import type { Clock } from '../clock.ts';
import type { AirDevice, AirLink } from './controller.ts';
import {
  type AttFaults,
  createGattServer,
  MTU_REQUEST,
  refusal,
  type ServiceSpec,
  SMALLEST_MTU,
  uint16,
  uuidBytes,
} from './gatt-server.ts';

const PAIRING_FAILED = 0x05;
/** Interval at which frames that are due are sent; real devices send each frame when it is recorded. */
const TICK_MS = 5;
/** Longest time for which a late device sends without a pause, so that a slow machine still answers between its frames. */
const LONGEST_BURST_MS = 20;

/** Simulated faults of a device. Each can be changed at any time. */
export interface BoardFaults extends AttFaults {
  /** Returns what is sent instead of an audio notification: none, several, or another one. `id`: its number from 0. */
  packet: (packet: Buffer, id: number) => Buffer[];
  /** Result of connection attempts. */
  attempt: 'accept' | 'ignore' | number;
  /** Delay of every answer. */
  answerMs: number;
  /** Reason code (Security Manager Protocol) with which pairing fails; null: pairing is not answered. */
  pairing: number | null;
  /** The microphone sleeps: nothing is sent. */
  asleep: boolean;
  /** Decides what becomes of an ATT request: `drop` ends the link in place of an answer; a number is an ATT error. */
  request: (pdu: Buffer) => 'answer' | 'ignore' | 'drop' | number;
  /** It agrees to the smallest MTU only, and asks for its own this long after the connection; null: it agrees at once. */
  ownMtuMs: number | null;
}

/** Encoded audio that a device plays. */
export interface Sound {
  /** Number of frames in the recording. */
  readonly length: number;
  readonly frameMs: number;
  at(index: number): Uint8Array;
}

export interface BoardOptions {
  address: string;
  name: string;
  /** Advertised service UUIDs; 16-bit ones are in the scan response. */
  advertised: string[];
  /** Advertised manufacturer data: company identifier (little-endian), then its data. */
  manufacturerData?: Uint8Array;
  services: ServiceSpec[];
  /** UUID of the characteristic that notifies of audio. */
  audio: string;
  /** Null: only what is passed to `notify` is sent. */
  sound: Sound | null;
  /** Packs consecutive frames into notifications. `mtu`: ATT MTU. */
  pack(frames: readonly Uint8Array[], mtu: number): Buffer[];
  /** Number of frames passed to `pack` at once; default 1. */
  framesPerPack?: number;
  /** ATT MTU below which no audio is sent. */
  minMtu?: number;
  /** Audio starts only when `play` is called, not when the client subscribes. */
  waitsForStart?: boolean;
  /** Repeats the recording; otherwise silence follows its end. */
  loop?: boolean;
  clock: Clock;
  /** Playback speed; 1: real time. */
  speed?: number;
  /** Largest ATT MTU. */
  maxMtu?: number;
  /** Address that the adapter reports for a connection, if it differs from the advertised one. */
  identity?: string;
  onConnected?(): void;
}

/** A simulated device that plays a recording in the format of its model. */
export interface Board extends AirDevice {
  readonly faults: BoardFaults;
  /** Drops the link; the device continues to advertise. @param reason HCI status */
  dropLink(reason?: number): void;
  /** Drops the link without any report from the adapter. */
  slipAway(): void;
  /** Drops the link and stops advertising until `comeBack`. */
  vanish(): void;
  comeBack(): void;
  /** Sends these bytes as one notification if the client has subscribed. */
  notify(uuid: string, bytes: Uint8Array): void;
  /** Sends these bytes as one audio notification. */
  notifyAudio(bytes: Uint8Array): void;
  /** Starts or stops audio on a device that waits for a command. */
  play(on: boolean): void;
  readonly mtu: number;
  /** Resolves when the recording has been played once. */
  readonly finished: Promise<void>;
  /** Frames played so far, including those that a fault lost. */
  readonly played: number;
  /** Stops playing. */
  stop(): void;
}

export function createBoard(options: BoardOptions): Board {
  const { address, name, advertised, services, audio, sound, pack, clock, identity } = options;
  const { framesPerPack = 1, minMtu = 0, loop = false, speed = 1, maxMtu = 498 } = options;
  let link: AirLink | null = null;
  let away = false;
  let timer: NodeJS.Timeout | null = null;
  let startedAt = 0;
  let sentSinceStart = 0;
  let played = 0;
  let packets = 0;
  const finished = Promise.withResolvers<void>();
  const faults: BoardFaults = {
    errors: new Map(),
    silent: new Set(),
    packet: packet => [packet],
    attempt: 'accept',
    answerMs: 0,
    pairing: null,
    asleep: false,
    request: () => 'answer',
    ownMtuMs: null,
  };
  const server = createGattServer(services, {
    maxMtu,
    agreesTo: () => (faults.ownMtuMs === null ? maxMtu : SMALLEST_MTU),
    faults,
    onSubscription(uuid, on) {
      if (options.waitsForStart || uuid !== audio.replaceAll('-', '')) return;
      play(on);
    },
  });

  function play(on: boolean): void {
    stop();
    if (!on) return;
    startedAt = clock.now();
    sentSinceStart = 0;
    timer = setInterval(sendDue, TICK_MS);
  }

  function stop(): void {
    if (timer) clearInterval(timer);
    timer = null;
  }

  function sendDue(): void {
    if (!sound || server.mtu < minMtu) return;
    const due = Math.floor(((clock.now() - startedAt) * speed) / sound.frameMs);
    const pauseAt = performance.now() + LONGEST_BURST_MS;
    while (sentSinceStart + framesPerPack <= due && link && performance.now() < pauseAt) {
      if (!faults.asleep) sendPack(sound);
      sentSinceStart += framesPerPack;
    }
  }

  function sendPack(from: Sound): void {
    const frames = Array.from({ length: framesPerPack }, (_, index) =>
      from.at(loop ? (played + index) % from.length : played + index),
    );
    played += framesPerPack;
    for (const packet of pack(frames, server.mtu)) {
      for (const out of faults.packet(packet, packets)) notifyAudio(out);
      packets += 1;
    }
    if (played >= from.length) finished.resolve();
  }

  function notify(uuid: string, bytes: Uint8Array): void {
    const pdu = server.notification(uuid, bytes);
    if (pdu) link?.send(pdu);
  }
  /** Answers a request, or acts on its fault. */
  function receive(pdu: Buffer): Buffer | null {
    const fate = faults.request(pdu);
    if (typeof fate === 'number') return refusal(pdu, fate);
    if (fate === 'drop') dropLink();
    return fate === 'answer' ? server.handle(pdu) : null;
  }

  /** Asks for its own MTU. */
  function askForMtu(on: AirLink): void {
    if (link === on) on.send(Buffer.concat([Buffer.of(MTU_REQUEST), uint16(maxMtu)]));
  }

  const notifyAudio = (bytes: Uint8Array) => notify(audio, bytes);
  const dropLink = (reason = 0x08) => link?.close(reason);
  const short = advertised.filter(uuid => uuid.length === 4);
  const long = advertised.filter(uuid => uuid.length > 4);

  return {
    address,
    advertisement: () =>
      away
        ? null
        : Buffer.concat([Buffer.of(2, 0x01, 0x06), field(0x07, long), field(0xff, options.manufacturerData)]),
    scanResponse: () => Buffer.concat([field(0x09, Buffer.from(name)), field(0x03, short)]),
    attempt: () => (away ? 'ignore' : faults.attempt),
    connected(next) {
      link = next;
      server.reset();
      if (faults.ownMtuMs !== null) setTimeout(askForMtu, faults.ownMtuMs, next).unref();
      options.onConnected?.();
    },
    disconnected() {
      link = null;
      stop();
      server.reset();
    },
    receive,
    receivePairing: () => (faults.pairing === null ? null : Buffer.of(PAIRING_FAILED, faults.pairing)),
    answerMs: () => faults.answerMs,
    ...(identity ? { identity } : {}),
    faults,
    dropLink,
    slipAway: () => link?.forget(),
    vanish() {
      away = true;
      dropLink();
    },
    comeBack() {
      away = false;
    },
    notify,
    notifyAudio,
    play,
    get mtu() {
      return server.mtu;
    },
    finished: finished.promise,
    get played() {
      return played;
    },
    stop,
  };
}

/** Encodes one structure of an advertisement; empty if there is no content. */
function field(type: number, content: readonly string[] | Uint8Array | undefined): Buffer {
  const bytes = content instanceof Uint8Array ? content : Buffer.concat((content ?? []).map(uuidBytes));
  return bytes.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.of(bytes.length + 1, type), bytes]);
}
