import type { Driver, Ref, Session, Stream } from '../driver.ts';

const SERVICE = '03d5d5c4-a86c-11ee-9d89-8f2089a49e7e';
const AUDIO: Ref = { service: SERVICE, characteristic: 'b189a505-a86c-11ee-a5fb-8f2089a49e7e' };
const CONTROL: Ref = { service: SERVICE, characteristic: '05e1f93c-d8d0-5ed8-dd88-379e4c1a3e3e' };
const FIRMWARE = 0xc005;
const BATTERY = 0xc00f;
const ANSWER = 0x8000;
const BATTERY_MS = 300_000;

/** As Owl's, of which it descends: [number of the frame, 4 bits][how many notifications it has, and which one this is]. */
const STREAM: Stream = {
  audio: AUDIO,
  format: { codec: 'aac', sampleRate: 16000, frameMs: 64 },
  framing: {
    kind: 'counted',
    header: 2,
    counter: { at: 0, bits: 4, per: 'frame' },
    fragments: { at: 1, mask: 0xf0, shift: 4 },
    fragment: { at: 1, mask: 0x0f },
    // ADTS. Newer firmware is said to encrypt, and begins otherwise: such a device is told to be unfit.
    first: [0xff],
  },
  minMtu: 185,
};

/** Bee with firmware that does not encrypt. It is asked for its battery level, and never to mute or unmute. */
export default {
  api: 1,
  name: 'bee',
  title: 'Bee',
  inferred: ['Newer firmware encrypts its audio with a key from its own pairing.'],
  match: {
    advertised: [{ serviceUuid: SERVICE }, { namePrefix: 'bee' }],
    confirm: [{ ...AUDIO, properties: ['notify'] }, CONTROL],
  },
  writes: [{ ...CONTROL, first: [FIRMWARE & 0xff, BATTERY & 0xff] }],
  stream: STREAM,
  async run(session) {
    await Promise.all([session.listen(STREAM), watchItself(session)]);
  },
} satisfies Driver;

/** Watches the device's status messages; without them its audio continues. */
async function watchItself(session: Session): Promise<void> {
  const { sink, clock, signal } = session;
  const firmware = await ask(session, FIRMWARE, 3);
  if (firmware) sink.about({ firmware: `${firmware[2]}.${firmware[1]}.${firmware[0]}` });
  while (!signal.aborted) {
    const battery = await ask(session, BATTERY, 1);
    if (battery) sink.battery(battery[0] ?? null);
    await clock.sleep(BATTERY_MS);
  }
}

/** Bytes behind the answer's head; null: none came. */
async function ask({ link }: Session, command: number, least: number): Promise<Uint8Array | null> {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(command);
  const accepts = (answer: Uint8Array) => {
    const head = Buffer.from(answer);
    return head.length >= 4 + least && head.readUInt16LE(0) === ANSWER && head.readUInt16LE(2) === command;
  };
  const answer = await link.ask(CONTROL, bytes, { on: CONTROL, accepts, response: true }).catch(() => null);
  return answer?.subarray(4) ?? null;
}
