import type { Driver, Ref, Session, WireFormat } from '../driver.ts';

const SERVICE = '1910';
const COMMANDS: Ref = { service: SERVICE, characteristic: '2bb1' };
const ANSWERS: Ref = { service: SERVICE, characteristic: '2bb0' };
const FORMAT: WireFormat = { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 };
const FRAME_BYTES = 80;

/** Commands, in a packet [1][u16 command][payload]; answers look alike. */
const COMMAND = { battery: 9, record: 20, stop: 23, sendFile: 28 } as const;
const KIND = { command: 1, audio: 2 } as const;
/** Kind, a number without a known meaning, position, length. */
const AUDIO_HEADER_BYTES = 10;
const END = 0xffffffff;
const ALL = 0x7fffffff;

const TRIES = 3;
const BATTERY_MS = 60_000;

/**
 * PLAUD NotePin. It records and sends what it records at once, as soon as both are asked for. Its layout comes from
 * listening to the vendor's app; PLAUD's own kit binds a device to one application, so it may refuse this one.
 */
export default {
  api: 1,
  name: 'plaud',
  title: 'PLAUD NotePin',
  inferred: ['Positions of audio count bytes.'],
  match: {
    advertised: [{ namePrefix: 'PLAUD' }, { manufacturer: { id: 0x005d, prefix: '0456cf00' } }],
    confirm: [COMMANDS, { ...ANSWERS, properties: ['notify'] }],
  },
  writes: [{ ...COMMANDS, first: [KIND.command] }],
  async run(session) {
    const { link, clock, sink, signal } = session;
    await clock.sleep(2000); // it answers nothing before
    const packets = await link.notifications(ANSWERS);
    const startsAt = await begin(session);
    const track = sink.audio(FORMAT, { live: true });
    const cutter = createCutter(startsAt, (bytes, lostBefore) => track.frame(bytes, { lostBefore }));
    const battery = watchBattery(session);
    battery.catch(() => {}); // the connection is over then
    for await (const { bytes } of packets) {
      if (bytes[0] !== KIND.audio) continue;
      const audio = audioOf(Buffer.from(bytes));
      if (!audio) sink.count('malformed');
      else if (audio.position !== END) cutter.push(audio.position, audio.bytes);
    }
    track.end();
    if (!signal.aborted) await battery;
  },
} satisfies Driver;

function command(number: number, payload: Uint8Array = new Uint8Array()): Buffer {
  return Buffer.concat([Buffer.of(KIND.command, number & 0xff, number >> 8), payload]);
}

const answers = (number: number, least: number) => (bytes: Uint8Array) =>
  bytes[0] === KIND.command && bytes[1] === number && bytes[2] === 0 && bytes.length >= least;

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4);
  return bytes;
}

/** Ends what it recorded before, and has it record and send anew. @returns the position at which it begins */
async function begin({ link, clock, log, unfit }: Session): Promise<number> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    await link.write(COMMANDS, command(COMMAND.stop, words(0, 0)));
    await clock.sleep(500);
    const answer = Buffer.from(
      await link
        .ask(COMMANDS, command(COMMAND.record, words(1, 0, 0)), {
          on: ANSWERS,
          accepts: answers(COMMAND.record, 13),
        })
        .catch(() => []),
    );
    if (answer.length >= 13) {
      await clock.sleep(1000);
      const [session, start] = [answer.readUInt32LE(3), answer.readUInt32LE(7)];
      await link.write(COMMANDS, command(COMMAND.sendFile, words(session, 0, start, 0, ALL, 0)));
      return start;
    }
    log.info({ attempt }, 'it does not begin to record');
  }
  throw unfit('it does not begin to record; it may be bound to another application');
}

async function watchBattery({ link, sink, clock, signal }: Session): Promise<void> {
  while (!signal.aborted) {
    const answer = await link
      .ask(COMMANDS, command(COMMAND.battery), { on: ANSWERS, accepts: answers(COMMAND.battery, 5) })
      .catch(() => null);
    if (answer) sink.battery(answer[4] ?? null);
    await clock.sleep(BATTERY_MS);
  }
}

function audioOf(packet: Buffer): { position: number; bytes: Buffer } | null {
  if (packet.length < AUDIO_HEADER_BYTES) return null;
  const position = packet.readUInt32LE(5);
  const bytes = packet.subarray(AUDIO_HEADER_BYTES);
  return position === END || bytes.length === packet[9] ? { position, bytes } : null;
}

/** More cannot be lost before the first packet. */
const MOST_SKIPPED_BYTES = 100 * FRAME_BYTES;

/**
 * Frames of 80 bytes out of a stream of bytes. Inferred: positions count bytes; where the second packet shows that they
 * do not, losses are not told.
 * @param startsAt position of the first byte
 */
function createCutter(startsAt: number, onFrame: (bytes: Uint8Array, lostBefore: number) => void) {
  let origin: number | null = null;
  /** Where the next byte is expected, from the origin on. */
  let expected = 0;
  let waiting: Buffer = Buffer.alloc(0);
  let lost = 0;
  let countsBytes: boolean | null = null;

  function jump(at: number): number {
    const boundary = Math.ceil(at / FRAME_BYTES) * FRAME_BYTES;
    lost += (boundary - (expected - waiting.length)) / FRAME_BYTES;
    waiting = Buffer.alloc(0);
    return boundary - at;
  }

  return {
    push(position: number, bytes: Buffer): void {
      if (origin === null) {
        const skipped = position - startsAt;
        if (skipped > 0 && skipped <= MOST_SKIPPED_BYTES) countsBytes = true;
        origin = countsBytes ? startsAt : position;
      } else countsBytes ??= position - origin === expected;
      const at = countsBytes ? position - origin : expected;
      if (at < expected) return; // again
      const skipped = at > expected ? jump(at) : 0;
      expected = at + bytes.length;
      waiting = Buffer.concat([waiting, bytes.subarray(skipped)]);
      for (; waiting.length >= FRAME_BYTES; waiting = waiting.subarray(FRAME_BYTES)) {
        onFrame(new Uint8Array(waiting.subarray(0, FRAME_BYTES)), lost);
        lost = 0;
      }
    },
  };
}
