import type { Button, Driver, Ref, Session, Track, WireFormat } from '../driver.ts';
import {
  bytesOf,
  createAssembler,
  type Field,
  fieldsOf,
  messageOf,
  numberOf,
  packetOf,
} from './limitless-wire.ts';

const SERVICE = '632de001-604c-446b-a80f-7963e950f3fb';
const COMMANDS: Ref = { service: SERVICE, characteristic: '632de002-604c-446b-a80f-7963e950f3fb' };
const ANSWERS: Ref = { service: SERVICE, characteristic: '632de003-604c-446b-a80f-7963e950f3fb' };
const BATTERY: Ref = { service: '180f', characteristic: '2a19' };
const FORMAT: WireFormat = { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 };

/** Fields of a command. The one that un-pairs, 15, is never written. */
const COMMAND = { time: 6, stored: 7, mode: 8, request: 30 } as const;
/** Fields of what it says. */
const MESSAGE = { storage: 2, button: 8 } as const;
const BUTTONS: Readonly<Record<number, Button>> = { 1: 'single', 2: 'long', 3: 'double' };

/** First bytes of Opus frames that were seen. */
const FRAME_STARTS = new Set([0xb8, 0x78, 0xf8, 0xb0, 0x70, 0xf0]);
const LEAST_FRAME_BYTES = 10;
const MOST_FRAME_BYTES = 200;
const MAX_DEPTH = 4;

/** After so many it is told which ones are kept here. */
const ACKNOWLEDGED_PAGES = 16;
const FIRST_BYTE_OF_PACKET = 0x08;

/** The pendant of Limitless: protobuf over two characteristics, after the app of Omi. */
export default {
  api: 1,
  name: 'limitless',
  title: 'Limitless pendant',
  inferred: [
    'Pages that come after the live mode was asked for are live audio.',
    'Newer firmware (1.1.20) sends no live audio, and writes need a bonded connection.',
  ],
  match: {
    advertised: [{ serviceUuid: SERVICE }, { namePrefix: 'limitless' }, { namePrefix: 'pendant' }],
    confirm: [COMMANDS, { ...ANSWERS, properties: ['notify'] }],
  },
  writes: [{ ...COMMANDS, first: [FIRST_BYTE_OF_PACKET], releases: isAcknowledgement }],
  needs: { bonding: 'required' },
  async run(session) {
    const { link, clock, sink } = session;
    await clock.sleep(1000); // it answers nothing before
    const packets = await link.notifications(ANSWERS);
    await clock.sleep(1000);
    const send = createSender(session);
    await send(COMMAND.time, messageOf([[1, clock.now()]]));
    await clock.sleep(1000);
    await send(
      COMMAND.mode,
      messageOf([
        [1, 0],
        [2, 1],
      ]),
    );
    const track = sink.audio(FORMAT, { live: true });
    const battery = watchBattery(session);
    battery.catch(() => {}); // the connection is over then
    const assemble = createAssembler(() => sink.count('malformed'));
    const acknowledge = createAcknowledger(track, send);
    for await (const { bytes } of packets) {
      const message = assemble(bytes);
      if (message) await acknowledge(hear(message, track, sink));
    }
    track.end();
  },
} satisfies Driver;

type Send = (field: number, content: Uint8Array) => Promise<void>;

/** Commands are numbered, and so are the requests within them. */
function createSender({ link }: Session): Send {
  let number = 0;
  return async (field, content) => {
    const request = messageOf([
      [1, number],
      [2, 0],
    ]);
    const command = messageOf([
      [field, content],
      [COMMAND.request, request],
    ]);
    await link.write(COMMANDS, packetOf(number, 0, 1, command));
    number += 1;
  };
}

/** The index of the page that it was; null: none. */
function hear(message: Uint8Array, track: Track, sink: Session['sink']): number | null {
  const fields = fieldsOf(message);
  if (!fields) {
    sink.count('malformed');
    return null;
  }
  const button = BUTTONS[numberOf(fieldsOf(bytesOf(fields, MESSAGE.button) ?? new Uint8Array()), 1) ?? 0];
  if (button) sink.button(button);
  const storage = bytesOf(fields, MESSAGE.storage);
  const parts = storage && fieldsOf(storage);
  for (const frame of framesIn(parts ? (fieldsOf(bytesOf(parts, 6) ?? new Uint8Array()) ?? []) : fields))
    track.frame(frame);
  return parts ? numberOf(parts, 5) : null;
}

/** Frames stand at several depths, and no schema says at which. */
function framesIn(fields: readonly Field[], depth = 0): Uint8Array[] {
  return fields.flatMap(({ bytes }) => {
    if (!bytes) return [];
    if (isFrame(bytes)) return [bytes];
    return depth < MAX_DEPTH ? framesIn(fieldsOf(bytes) ?? [], depth + 1) : [];
  });
}

function isFrame(bytes: Uint8Array): boolean {
  const { length } = bytes;
  return length >= LEAST_FRAME_BYTES && length <= MOST_FRAME_BYTES && FRAME_STARTS.has(bytes[0] ?? 0);
}

/** Tells it which pages are on disk here, so that its memory does not fill. */
function createAcknowledger(track: Track, send: Send) {
  let pages = 0;
  return async (page: number | null): Promise<void> => {
    if (page === null) return;
    pages += 1;
    if (pages % ACKNOWLEDGED_PAGES !== 0) return;
    await track.stored();
    await send(COMMAND.stored, messageOf([[1, page]]));
  };
}

function isAcknowledgement(packet: Uint8Array): boolean {
  const command = bytesOf(fieldsOf(packet), 4);
  return command !== null && bytesOf(fieldsOf(command), COMMAND.stored) !== null;
}

async function watchBattery({ link, sink }: Session): Promise<void> {
  const level = await link.read(BATTERY, { optional: true });
  if (level) sink.battery(level[0] ?? null);
  const levels = await link.notifications(BATTERY, { optional: true });
  for await (const { bytes } of levels ?? []) sink.battery(bytes[0] ?? null);
}
