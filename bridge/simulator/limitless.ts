import { bytesOf, fieldsOf, messageOf, numberOf, packetOf } from '../drivers/limitless-wire.ts';
import { type Board, createBoard } from './board.ts';
import type { PeripheralOptions } from './peripherals.ts';

const LIMITLESS = (number: string) => `632de${number}-604c-446b-a80f-7963e950f3fb`;
const AUDIO = LIMITLESS('003');
/** So many that a page takes several notifications. */
const FRAMES_OF_PAGE = 8;
const FRAME_MS = 20;
const ATT_HEADER_BYTES = 3;
const WRAPPING_BYTES = 20;
/** Pages sent in one turn of the event loop. */
const PAGES_AT_ONCE = 4;
const BATTERY_PERCENT = 58;

/** Fields of a command. */
const COMMAND = { stored: 7, mode: 8, status: 21 } as const;

interface LimitlessOptions extends PeripheralOptions {
  /** Pages that were recorded while no client was connected. */
  stored?: readonly { atMs: number; frames: readonly Uint8Array[] }[];
}

/** Simulated Limitless pendant. It sends pages of frames in parts, live or from its storage. */
interface LimitlessPendant extends Board {
  /** Numbers of the stored pages. */
  readonly pages: readonly number[];
  /** Called before each notification of a stored page; false: the notification is lost. */
  gate: (page: number) => boolean;
}

/** Cuts frames into pages, as the pendant stores them. */
export function pagesOf(frames: readonly Uint8Array[], startMs: number) {
  return Array.from({ length: Math.ceil(frames.length / FRAMES_OF_PAGE) }, (_, page) => ({
    atMs: startMs + page * FRAMES_OF_PAGE * FRAME_MS,
    frames: frames.slice(page * FRAMES_OF_PAGE, (page + 1) * FRAMES_OF_PAGE),
  }));
}

export function createLimitless({ stored = [], ...options }: LimitlessOptions): LimitlessPendant {
  const memory = new Map<number, Uint8Array>();
  let index = 0;
  let nextPage = 0;
  let isStored = false;
  let run = 0; // incremented by each command: the transfer of an earlier one ends

  function record(frames: readonly Uint8Array[], atMs: number): number {
    const audio = frames.map((frame, at) => {
      const chunk = messageOf([
        [1, at * FRAME_MS],
        [2, messageOf([[1, frame]])],
      ]);
      return [3, chunk] as const;
    });
    const page = nextPage;
    const storage = messageOf([
      [2, 1],
      [4, page],
      [5, page],
      [6, messageOf([[1, atMs], [2, page], ...audio])],
    ]);
    memory.set(page, messageOf([[2, storage]]));
    nextPage += 1;
    return page;
  }

  function packets(message: Uint8Array): Buffer[] {
    index += 1;
    const room = device.mtu - ATT_HEADER_BYTES - WRAPPING_BYTES;
    const parts = room > 0 ? Math.ceil(message.length / room) : 0; // without a link the MTU is too small for any
    return Array.from({ length: parts }, (_, part) =>
      Buffer.from(packetOf(index, part, parts, message.subarray(part * room, (part + 1) * room))),
    );
  }

  function take(bytes: Buffer): undefined {
    const command = fieldsOf(bytesOf(fieldsOf(bytes), 4) ?? new Uint8Array());
    const acknowledged = numberOf(fieldsOf(bytesOf(command, COMMAND.stored) ?? new Uint8Array()), 1);
    for (const page of [...memory.keys()])
      if (acknowledged !== null && page <= acknowledged) memory.delete(page);
    if (bytesOf(command, COMMAND.status)) setImmediate(tell);
    const mode = fieldsOf(bytesOf(command, COMMAND.mode) ?? new Uint8Array());
    if (!mode?.length) return;
    run += 1;
    isStored = numberOf(mode, 1) === 1;
    const isLive = numberOf(mode, 2) === 1;
    if (isStored) sendFrom(run, 0);
    else device.play(isLive);
  }

  function tell(): void {
    const oldest = memory.keys().next().value ?? nextPage;
    const told = messageOf([
      [1, oldest],
      [2, Math.max(oldest, nextPage - 1)],
      [3, 1],
      [4, 1000],
      [5, memory.size],
    ]);
    for (const packet of packets(messageOf([[5, messageOf([[5, told]])]]))) device.notifyAudio(packet);
  }

  /** Sends stored pages, including those recorded during the transfer. */
  function sendFrom(mine: number, from: number): void {
    setImmediate(() => {
      if (mine !== run) return;
      const due = [...memory].filter(([page]) => page >= from).slice(0, PAGES_AT_ONCE);
      for (const [page, message] of due)
        if (device.gate(page)) for (const packet of packets(message)) device.notifyAudio(packet);
      const next = (due.at(-1)?.[0] ?? from - 1) + 1;
      if (due.length > 0) sendFrom(mine, next);
      else setTimeout(() => sendFrom(mine, next), 20).unref();
    });
  }

  const board = createBoard({
    address: 'c0:ff:ee:00:00:01',
    ...options,
    name: 'Pendant',
    advertised: [LIMITLESS('001')],
    services: [
      {
        uuid: LIMITLESS('001'),
        characteristics: [
          { uuid: LIMITLESS('002'), properties: ['write', 'writeWithoutResponse'], write: take },
          { uuid: AUDIO, properties: ['notify'] },
        ],
      },
      {
        uuid: '180f',
        characteristics: [
          { uuid: '2a19', properties: ['read', 'notify'], value: () => Uint8Array.of(BATTERY_PERCENT) },
        ],
      },
    ],
    audio: AUDIO,
    framesPerPack: FRAMES_OF_PAGE,
    pack(frames) {
      const page = record(frames, options.clock.now());
      return isStored ? [] : packets(memory.get(page) ?? new Uint8Array());
    },
    waitsForStart: true,
    onConnected() {
      run += 1;
      isStored = false;
    },
  });
  const device: LimitlessPendant = Object.defineProperty(
    Object.assign(board, { gate: () => true, pages: [] }),
    'pages',
    { get: () => [...memory.keys()] },
  );
  for (const { atMs, frames } of stored) record(frames, atMs);
  return device;
}
