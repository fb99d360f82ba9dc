import type { Clock } from '../clock.ts';
import { type Board, type BoardOptions, createBoard, type Sound } from './board.ts';
import { createLimitless } from './limitless.ts';

/** Options of all simulated wearables. */
export interface PeripheralOptions {
  sound: Sound | null;
  clock: Clock;
  address?: string;
  speed?: number;
  maxMtu?: number;
  loop?: boolean;
}

/**
 * Simulated wearable of one kind: its services, and the format of its frames. Based on docs/drivers.md, not on
 * hardware.
 */
type Kind = (options: PeripheralOptions) => Board;

type OwnOptions = Omit<BoardOptions, keyof PeripheralOptions>;

function board(own: OwnOptions, { address = 'c0:ff:ee:00:00:01', ...options }: PeripheralOptions): Board {
  return createBoard({ ...own, ...options, address });
}

const level = (percent: number) => ({
  uuid: '180f',
  characteristics: [
    { uuid: '2a19', properties: ['read', 'notify'] as const, value: () => Uint8Array.of(percent) },
  ],
});

const fieldy: Kind = options =>
  board(
    {
      name: 'compass',
      advertised: ['4fafc201-1fb5-459e-8fcc-c5c9c331914b'],
      services: [
        {
          uuid: '4fafc201-1fb5-459e-8fcc-c5c9c331914b',
          characteristics: [{ uuid: '82a48422-3ca9-4156-ae67-4170f58666e0', properties: ['notify'] }],
        },
        level(71),
      ],
      audio: '82a48422-3ca9-4156-ae67-4170f58666e0',
      framesPerPack: 6,
      pack: frames => [Buffer.concat(frames)],
    },
    options,
  );

const FRIEND_FOOTER = Buffer.from('a55a000000', 'hex');

const friend: Kind = options =>
  board(
    {
      name: 'friend_4711',
      advertised: ['1a3fd0e7-b1f3-ac9e-2e49-b647b2c4f8da'],
      services: [
        {
          uuid: '1a3fd0e7-b1f3-ac9e-2e49-b647b2c4f8da',
          characteristics: [{ uuid: '01000000-1111-1111-1111-111111111111', properties: ['notify'] }],
        },
      ],
      audio: '01000000-1111-1111-1111-111111111111',
      framesPerPack: 3,
      pack: frames => [Buffer.concat([...frames, FRIEND_FOOTER])],
    },
    options,
  );

const OWL_SERVICE = '03d5d5c4-a86c-11ee-9d89-8f2089a49e7e';
const OWL_AUDIO = 'b189a505-a86c-11ee-a5fb-8f2089a49e7e';
const OWL_PAYLOAD_BYTES = 180;

/** Splits frames into parts, each with the frame's number mod 16, the number of parts, and its index. */
function owlPacker(): BoardOptions['pack'] {
  let number = 0;
  return frames =>
    frames.flatMap(frame => {
      const parts = Math.ceil(frame.length / OWL_PAYLOAD_BYTES);
      const packets = Array.from({ length: parts }, (_, part) =>
        Buffer.concat([
          Buffer.of(number, (parts << 4) | part),
          frame.subarray(part * OWL_PAYLOAD_BYTES, (part + 1) * OWL_PAYLOAD_BYTES),
        ]),
      );
      number = (number + 1) % 16;
      return packets;
    });
}

const owl: Kind = options =>
  board(
    {
      name: 'Owl',
      advertised: [OWL_SERVICE],
      services: [
        {
          uuid: OWL_SERVICE,
          characteristics: [
            { uuid: OWL_AUDIO, properties: ['notify'] },
            {
              uuid: '01a7d889-b8cf-4bd6-bc66-169e2c9a1b1e',
              properties: ['read', 'notify'],
              value: () => Uint8Array.of(66),
            },
          ],
        },
      ],
      audio: OWL_AUDIO,
      pack: owlPacker(),
    },
    options,
  );

const BEE_CONTROL = '05e1f93c-d8d0-5ed8-dd88-379e4c1a3e3e';
const BEE_ANSWERS: Readonly<Record<number, string>> = { 5: '010002', 15: '5400' };

const bee: Kind = options => {
  function take(bytes: Buffer): undefined {
    const payload = BEE_ANSWERS[bytes[0] ?? 0];
    if (payload === undefined || bytes[1] !== 0xc0) return;
    const answer = Buffer.concat([Buffer.of(0x00, 0x80), bytes.subarray(0, 2), Buffer.from(payload, 'hex')]);
    setImmediate(() => device.notify(BEE_CONTROL, answer));
  }
  const device = board(
    {
      name: 'Bee',
      advertised: [OWL_SERVICE],
      services: [
        {
          uuid: OWL_SERVICE,
          characteristics: [
            { uuid: OWL_AUDIO, properties: ['notify'] },
            { uuid: BEE_CONTROL, properties: ['write', 'notify'], write: take },
          ],
        },
      ],
      audio: OWL_AUDIO,
      pack: owlPacker(),
    },
    options,
  );
  return device;
};

const PLAUD_PIECE_BYTES = 200;

/** Simulated PLAUD NotePin, which sends audio only after the command to record. */
const plaud: Kind = options => {
  let position = 0;
  let waiting = Buffer.alloc(0);
  const answer = (command: number, payload: string) =>
    setImmediate(() =>
      device.notify('2bb0', Buffer.concat([Buffer.of(1, command, 0), Buffer.from(payload, 'hex')])),
    );

  function take(bytes: Buffer): undefined {
    if (bytes[0] !== 1) return;
    if (bytes[1] === 9) answer(9, '0058');
    if (bytes[1] === 20) {
      position = 0;
      waiting = Buffer.alloc(0);
      answer(20, '7856341200000000000000');
    }
    if (bytes[1] === 28) device.play(true);
    if (bytes[1] === 23) device.play(false);
  }

  function pack(frames: readonly Uint8Array[]): Buffer[] {
    waiting = Buffer.concat([waiting, ...frames]);
    const packets: Buffer[] = [];
    for (; waiting.length >= PLAUD_PIECE_BYTES; waiting = waiting.subarray(PLAUD_PIECE_BYTES)) {
      const header = Buffer.alloc(10);
      header[0] = 2;
      header.writeUInt32LE(position, 5);
      header[9] = PLAUD_PIECE_BYTES;
      position += PLAUD_PIECE_BYTES;
      packets.push(Buffer.concat([header, waiting.subarray(0, PLAUD_PIECE_BYTES)]));
    }
    return packets;
  }

  const device = board(
    {
      name: 'PLAUD_NotePin',
      advertised: ['1910'],
      services: [
        {
          uuid: '1910',
          characteristics: [
            { uuid: '2bb1', properties: ['write', 'writeWithoutResponse'], write: take },
            { uuid: '2bb0', properties: ['notify'] },
          ],
        },
      ],
      audio: '2bb0',
      pack,
      waitsForStart: true,
    },
    options,
  );
  return device;
};

const limitless: Kind = options => createLimitless(options);

/** Simulated wearables by the name of their driver. */
export const PERIPHERALS = { fieldy, friend, owl, bee, plaud, limitless } satisfies Record<string, Kind>;
