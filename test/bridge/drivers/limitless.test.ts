import test from 'ava';
import { replay } from '../../../bridge/conformance/replay.ts';
import type { Trace } from '../../../bridge/conformance/trace.ts';
import limitless from '../../../bridge/drivers/limitless.ts';
import { createAssembler, fieldsOf, messageOf, packetOf } from '../../../bridge/drivers/limitless-wire.ts';

const of = (number: string) =>
  `632de001-604c-446b-a80f-7963e950f3fb/632de${number}-604c-446b-a80f-7963e950f3fb`;

const LIVE = messageOf([
  [
    8,
    messageOf([
      [1, 0],
      [2, 1],
    ]),
  ],
  [
    30,
    messageOf([
      [1, 1],
      [2, 0],
    ]),
  ],
]);

/** Replays the pendant's messages once the driver has requested live audio. */
function heard(messages: Uint8Array[]) {
  const trace: Trace = {
    device: 'Pendant',
    origin: 'made by this test',
    mtu: 247,
    characteristics: { [of('002')]: ['write'], [of('003')]: ['notify'] },
    events: [
      { t: 0, write: of('002'), value: Buffer.from(packetOf(1, 0, 1, LIVE)).toString('hex') },
      ...messages.map((message, index) => ({
        t: index,
        notify: of('003'),
        value: Buffer.from(packetOf(index, 0, 1, message)).toString('hex'),
      })),
    ],
    expect: null,
  };
  return replay(limitless, trace);
}

const frame = (first: number, length = 40) => Uint8Array.of(first, ...Array(length - 1).fill(7));

test('parts are reassembled in order, and an incomplete message is malformed', t => {
  let malformed = 0;
  const assemble = createAssembler(() => {
    malformed += 1;
  });
  const part = (index: number, number: number, count: number) =>
    assemble(packetOf(index, number, count, Uint8Array.of(index, number)));
  t.is(part(1, 0, 2), null);
  t.deepEqual(part(1, 1, 2), Uint8Array.of(1, 0, 1, 1));
  t.is(part(2, 0, 3), null);
  t.is(part(2, 2, 3), null);
  t.is(malformed, 2, 'the message, and the part that has nothing before it');
  t.deepEqual(part(3, 0, 1), Uint8Array.of(3, 0));
  for (const wrong of [Buffer.from('ff'), Buffer.alloc(0), packetOf(4, 5, 2, Uint8Array.of(1))])
    t.is(assemble(wrong), null);
  t.is(malformed, 5);
});

test('bytes that are not a message have no fields, and 64-bit numbers keep their precision', t => {
  t.is(fieldsOf(Buffer.from('0aff01', 'hex')), null);
  t.deepEqual(fieldsOf(Buffer.from('08ffffffffffffffffff01', 'hex')), [
    { number: 1, value: 2n ** 64n - 1n, bytes: null },
  ]);
});

test('frames are found at any depth, and button presses are reported', async t => {
  const chunk = messageOf([[2, messageOf([[1, frame(0xb8)]])]]);
  const page = messageOf([
    [1, 1_780_000_000_000],
    [3, chunk],
  ]);
  const storage = messageOf([
    [5, 9],
    [6, page],
  ]);
  const got = await heard([
    messageOf([[2, storage]]),
    messageOf([[8, messageOf([[1, 3]])]]),
    messageOf([[4, frame(0x78)]]),
    messageOf([[4, frame(0x01)]]), // not a valid start of a frame
    messageOf([[8, messageOf([[1, 0]])]]),
  ]);
  t.is(got.error, null);
  t.deepEqual(
    got.live.map(({ bytes }) => bytes[0]),
    [0xb8, 0x78],
  );
  t.deepEqual(got.buttons, ['double']);
});

test('it sets the clock, requests live audio, and acknowledges pages, but never unpairs', async t => {
  const page = messageOf([[3, messageOf([[2, messageOf([[1, frame(0xb8)]])]])]]);
  const pages = Array.from({ length: 40 }, (_, index) =>
    messageOf([
      [
        2,
        messageOf([
          [5, index],
          [6, page],
        ]),
      ],
    ]),
  );
  const status = messageOf([
    [
      5,
      messageOf([
        [
          5,
          messageOf([
            [1, 0],
            [2, 0],
          ]),
        ],
      ]),
    ],
  ]);
  const { writes } = await heard([status, ...pages]);
  const commands = writes.map(({ value }) => {
    const packet = fieldsOf(Buffer.from(value, 'hex'));
    return fieldsOf(packet?.find(({ number }) => number === 4)?.bytes ?? new Uint8Array())?.[0]?.number;
  });
  t.deepEqual(commands, [6, 8, 21, 7, 7]);
});
