import type { Clock } from '../clock.ts';
import type { AirDevice, AirLink } from './controller.ts';
import { type AttFaults, createGattServer, type ServiceSpec, uuidBytes } from './gatt-server.ts';

const PAIRING_FAILED = 0x05;
/** How often what is due is sent; real devices send once a frame. */
const TICK_MS = 5;

/** Faults of a device, which can be changed at any time. */
export interface BoardFaults extends AttFaults {
  /** Replaces a notification of audio by none, two, or another one. `id`: its number, from 0. */
  packet: (packet: Buffer, id: number) => Buffer[];
  /** Outcome of a connection attempt. */
  attempt: 'accept' | 'ignore' | number;
  /** How long each answer takes. */
  answerMs: number;
  /** Pairing fails with this reason of the Security Manager Protocol; null: it is not answered. */
  pairing: number | null;
  /** The microphone sleeps: nothing is sent. */
  asleep: boolean;
}

/** The sound of a device, frame by frame. */
export interface Sound {
  /** Length of the recording itself. */
  readonly length: number;
  readonly frameMs: number;
  at(index: number): Uint8Array;
}

export interface BoardOptions {
  address: string;
  name: string;
  /** Advertised; those of 16 bits in the scan response. */
  advertised: string[];
  /** Also advertised: the company's number, little-endian, and its data. */
  manufacturerData?: Uint8Array;
  services: ServiceSpec[];
  /** The characteristic that notifies of audio. */
  audio: string;
  /** Null: it sends only what `notify` is given. */
  sound: Sound | null;
  /** Notifications of some frames that follow on each other. `mtu`: ATT MTU. */
  pack(frames: readonly Uint8Array[], mtu: number): Buffer[];
  /** Frames that are packed together; default 1. */
  framesPerPack?: number;
  /** Below this ATT MTU it sends nothing. */
  minMtu?: number;
  /** It sends once this was written, and not as soon as it is subscribed to. */
  waitsForStart?: boolean;
  /** Again and again, instead of silence after the end. */
  loop?: boolean;
  clock: Clock;
  /** Times real speed. */
  speed?: number;
  /** Largest ATT MTU. */
  maxMtu?: number;
  /** Under which the adapter reports a connection to it. */
  identity?: string;
  onConnected?(): void;
}

/** A device on the air that plays a recording in its own way. */
export interface Board extends AirDevice {
  readonly faults: BoardFaults;
  /** Link lost; it goes on advertising. @param reason HCI status */
  dropLink(reason?: number): void;
  /** Link lost without a word from the adapter. */
  slipAway(): void;
  /** Link lost, and no advertising until `comeBack`. */
  vanish(): void;
  comeBack(): void;
  /** Sends one notification as it is, while it is subscribed to. */
  notify(uuid: string, bytes: Uint8Array): void;
  /** Sends one audio notification as it is. */
  notifyAudio(bytes: Uint8Array): void;
  /** Begins and ends to send audio, for a device that waits for it. */
  play(on: boolean): void;
  readonly mtu: number;
  /** Resolves when the recording has been played to its end once. */
  readonly finished: Promise<void>;
  /** Frames handed out, lost ones included. */
  readonly played: number;
  /** Ends its timer. */
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
  };
  const server = createGattServer(services, {
    maxMtu,
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
    for (; sentSinceStart + framesPerPack <= due && link; sentSinceStart += framesPerPack) {
      if (!faults.asleep) sendPack(sound);
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
      options.onConnected?.();
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

/** One entry of an advertisement; nothing, where there is nothing to say. */
function field(type: number, content: readonly string[] | Uint8Array | undefined): Buffer {
  const bytes = content instanceof Uint8Array ? content : Buffer.concat((content ?? []).map(uuidBytes));
  return bytes.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.of(bytes.length + 1, type), bytes]);
}
