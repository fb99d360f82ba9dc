import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { checkDevice } from '../../bridge/commands/device-check.ts';
import { driverChecks, parseTrace } from '../../bridge/conformance/driver.ts';
import { replay } from '../../bridge/conformance/replay.ts';
import type { Trace } from '../../bridge/conformance/trace.ts';
import type { Driver, Framing, Session, Stream, WireFormat } from '../../bridge/driver.ts';
import { checkDriver } from '../../bridge/driver-host/driver-check.ts';
import omi from '../../bridge/drivers/omi.ts';
import { createFraming } from '../../bridge/framing/framing.ts';
import { conversionOf } from '../../bridge/framing/to-pcm.ts';

const OMI_TRACE = parseTrace(
  readFileSync(new URL('../fixtures/drivers/omi.trace.jsonl', import.meta.url), 'utf8'),
);
const SERVICE = '6e400001-b5a3-f393-e0a9-e50e24dcca9e';
const AUDIO = { service: SERVICE, characteristic: '6e400003-b5a3-f393-e0a9-e50e24dcca9e' };
const CONTROL = { service: SERVICE, characteristic: '6e400002-b5a3-f393-e0a9-e50e24dcca9e' };
const OPUS: WireFormat = { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 };

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

// ── framing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface FramingCase {
  title: string;
  framing: Framing;
  format?: WireFormat;
  packets: string[];
  /** `n×` in front: this many were lost before it. */
  frames: string[];
  counts?: Partial<Record<'lost' | 'duplicates' | 'malformed' | 'resets', number>>;
}

const OWL: Framing = {
  kind: 'counted',
  header: 2,
  counter: { at: 0, bits: 4, per: 'frame' },
  fragments: { at: 1, mask: 0xf0, shift: 4 },
  fragment: { at: 1, mask: 0x0f },
};

const FRAMINGS: FramingCase[] = [
  {
    title: 'fixed frames, several per notification, between a header and a trailer',
    framing: { kind: 'fixed', frameBytes: 2, header: 1, trailer: 2 },
    packets: ['00 b801 b802 ffff', '00 b803 ffff', '00'],
    frames: ['b801', 'b802', 'b803'],
  },
  {
    title: 'a partial fixed frame is malformed if frames do not continue in the next notification',
    framing: { kind: 'fixed', frameBytes: 2 },
    packets: ['b801 b8', 'b802'],
    frames: ['b801', 'b802'],
    counts: { malformed: 1 },
  },
  {
    title: 'fixed frames that continue in the next notification',
    framing: { kind: 'fixed', frameBytes: 3, across: true },
    packets: ['b80102 b8', '03', '04 b80506'],
    frames: ['b80102', 'b80304', 'b80506'],
  },
  {
    title: 'frames with a one-byte length in front',
    framing: { kind: 'length-prefixed', bytes: 1 },
    packets: ['02b801 03b80203', '05b8'],
    frames: ['b801', 'b80203'],
    counts: { malformed: 1 },
  },
  {
    title: 'frames with a two-byte length in front, high byte first',
    framing: { kind: 'length-prefixed', bytes: 2, endian: 'be', header: 1 },
    packets: ['aa 0002b801', 'aa 0003b80203'],
    frames: ['b801', 'b80203'],
  },
  {
    title: 'AAC by its own lengths, across notifications and garbage',
    framing: { kind: 'adts' },
    format: { codec: 'aac', sampleRate: 16000, frameMs: 64 },
    packets: ['fff1604001 1ffc aa fff1', '604001 3ffc bbcc 00 01', 'fff16040001ffcdd'],
    frames: ['fff16040011ffcaa', 'fff16040013ffcbbcc'],
    counts: { malformed: 2 },
  },
  {
    title: 'samples in pieces, independent of notifications',
    framing: { kind: 'raw', frameBytes: 4 },
    format: { codec: 'pcm16', sampleRate: 16000, frameMs: 10 },
    packets: ['010203', '04050607', '08'],
    frames: ['01020304', '05060708'],
  },
  {
    title: 'frames in parts that state their number',
    framing: OWL,
    packets: ['0020 aa', '0021 bb', '0110 cc', '0230 d1', '0231 d2', '0232 d3'],
    frames: ['aabb', 'cc', 'd1d2d3'],
  },
  {
    title: 'a lost part drops its frame, and four-bit numbers wrap',
    framing: OWL,
    packets: ['0e20 aa', '0e21 bb', '0f20 cc', '0020 dd', '0021 ee', '0110 ff', '0310 f3'],
    frames: ['aabb', '1×ddee', 'ff', '1×f3'],
    counts: { lost: 2 },
  },
  {
    title: 'one-byte numbers, one frame each, and duplicates',
    framing: { kind: 'counted', header: 1, counter: { at: 0, bits: 8, per: 'packet' } },
    packets: ['fe b801', 'ff b802', 'ff b802', '02 b803'],
    frames: ['b801', 'b802', '2×b803'],
    counts: { lost: 2, duplicates: 1 },
  },
  {
    title: '32-bit numbers with the high byte first, several frames each',
    framing: {
      kind: 'counted',
      header: 4,
      counter: { at: 0, bits: 32, endian: 'be', per: 'packet' },
      frameBytes: 2,
    },
    packets: ['ffffffff b801b802', '00000001 b803b804', '00000002 b8'],
    frames: ['b801', 'b802', '2×b803', 'b804'],
    counts: { lost: 2, malformed: 1 },
  },
  {
    title: 'frames with another beginning are lost',
    framing: { kind: 'fixed', frameBytes: 2, first: [0xb8] },
    packets: ['b801 0102 b803'],
    frames: ['b801', '1×b803'],
    counts: { lost: 1, malformed: 1 },
  },
];

for (const { title, framing, format = OPUS, packets, frames, counts = {} } of FRAMINGS)
  test(`framing: ${title}`, t => {
    const decoder = createFraming(framing, format, { mtu: 247 });
    const decoded = [...packets.map(packet => decoder.push(hex(packet))), decoder.flush()];
    const shown = decoded
      .flatMap(({ frames: some }) => some)
      .map(
        ({ bytes, lostBefore }) =>
          `${lostBefore ? `${lostBefore}×` : ''}${Buffer.from(bytes).toString('hex')}`,
      );
    t.deepEqual(shown, frames);
    const none = { lost: 0, duplicates: 0, malformed: 0, resets: 0 };
    t.deepEqual(
      { ...decoder.counts },
      { ...none, ...counts, packets: packets.length, frames: frames.length },
    );
  });

test('µ-law becomes 16-bit samples as in G.711', t => {
  const conversion = conversionOf({ codec: 'mulaw', sampleRate: 8000, frameMs: 20 });
  t.deepEqual(conversion?.format, { codec: 'pcm16', sampleRate: 8000, frameMs: 20 });
  const pcm = Buffer.from(conversion?.convert(Uint8Array.of(0xff, 0x7f, 0x00, 0x80, 0xe7, 0x55)) ?? []);
  const samples = Array.from({ length: pcm.length / 2 }, (_, index) => pcm.readInt16LE(index * 2));
  t.deepEqual(samples, [0, 0, -32124, 32124, 260, -716]);
});

test('IMA ADPCM becomes 16-bit samples, with continuous state or state in each frame', t => {
  const samplesOf = (adpcm: NonNullable<WireFormat['adpcm']>, ...frames: string[]) => {
    const conversion = conversionOf({ codec: 'ima-adpcm', sampleRate: 16000, frameMs: 10, adpcm });
    const pcm = Buffer.concat(frames.map(frame => conversion?.convert(hex(frame)) ?? Buffer.alloc(0)));
    return Array.from({ length: pcm.length / 2 }, (_, index) => pcm.readInt16LE(index * 2));
  };
  // From 0 with step 7: nibble 7 adds 7/8 + 7 + 7/2 + 7/4 = 11, and the step becomes 16.
  t.deepEqual(samplesOf({}, '77'), [11, 41]);
  t.deepEqual(samplesOf({}, '77', 'f0'), samplesOf({}, '77f0'));
  t.deepEqual(samplesOf({ nibbles: 'high-first' }, '70'), samplesOf({}, '07'));
  t.deepEqual(samplesOf({ state: 'in-frame' }, 'e8030000 08', 'e8030000 08'), [1000, 1000, 1000, 1000]);
});

// ── drivers may do only what they declare ───────────────────────────────────────────────────────────────────────────

/** A device that sends stored blocks on request, and deletes them on command. */
const STORED: Trace = {
  device: 'Box',
  origin: 'made for the test',
  mtu: 247,
  characteristics: {
    [`${AUDIO.service}/${AUDIO.characteristic}`]: ['notify'],
    [`${CONTROL.service}/${CONTROL.characteristic}`]: ['write'],
  },
  events: [
    { t: 0, write: `${CONTROL.service}/${CONTROL.characteristic}`, value: '01' },
    { t: 1, notify: `${AUDIO.service}/${AUDIO.characteristic}`, value: 'b8010203' },
    { t: 2, notify: `${AUDIO.service}/${AUDIO.characteristic}`, value: 'b8040506' },
    { t: 3, write: `${CONTROL.service}/${CONTROL.characteristic}`, value: '02' },
  ],
  expect: { frames: 0, stored: 2, lost: 0 },
};

async function fetchStored({ link, sink, clock }: Session, release: boolean): Promise<void> {
  const blocks = await link.notifications(AUDIO);
  await link.write(CONTROL, Uint8Array.of(1));
  const track = sink.audio(OPUS, { live: false, startedAtMs: clock.now() - 60_000 });
  let count = 0;
  for await (const { bytes } of blocks) {
    track.frame(bytes);
    count += 1;
    if (count < 2) continue;
    if (release) await track.stored();
    await link.write(CONTROL, Uint8Array.of(2));
  }
}

const box: Driver = {
  api: 1,
  name: 'box',
  title: 'A box with a memory',
  match: { advertised: [{ name: 'Box' }], confirm: [AUDIO] },
  writes: [{ ...CONTROL, first: [1, 2], releases: bytes => bytes[0] === 2 }],
  run: session => fetchStored(session, true),
};

for (const { title, run } of driverChecks)
  test(`a driver that is a program passes: ${title}`, async t => {
    await t.notThrowsAsync(run({ driver: box, trace: STORED, mutations: 2000 }));
  });

test('the link delays a release until stored audio is on disk, even if the driver does not wait', async t => {
  const hasty: Driver = { ...box, run: session => fetchStored(session, false) };
  const { writes, error } = await replay(hasty, STORED, { settleMs: 5000 });
  t.is(error, null);
  t.deepEqual(
    writes.map(({ value, unsettled }) => [value, unsettled]),
    [
      ['01', 0],
      ['02', 0],
    ],
  );
});

function withHeader(header: number): Stream {
  const { framing } = omi.stream;
  return framing ? { ...omi.stream, framing: { ...framing, header } } : omi.stream;
}

/** Each has one fault, which the check with this title detects. */
const BROKEN: Record<string, { caught: RegExp; driver: Driver; trace?: Trace }> = {
  'that leaves notification numbers in the frames': {
    caught: /codec can read/,
    driver: { ...omi, run: session => session.listen(withHeader(0)) },
  },
  'that throws': {
    caught: /neither fails/,
    driver: {
      ...omi,
      createDecoder(format, link) {
        const decoder = createFraming(omi.stream.framing ?? t404(), format, link);
        const push = (packet: Uint8Array) => {
          if (packet.length < 3) throw new RangeError('too short');
          return decoder.push(packet);
        };
        return { ...decoder, push };
      },
    },
  },
  'that drops a frame': {
    caught: /decodes all frames/,
    driver: {
      ...omi,
      createDecoder: (format, link) => skipping(createFraming(omi.stream.framing ?? t404(), format, link)),
    },
  },
  'that reports no losses': {
    caught: /reports losses exactly/,
    driver: {
      ...omi,
      stream: { ...omi.stream, framing: { kind: 'fixed', frameBytes: 1 } },
      createDecoder: () => headerless(),
    },
  },
  'that makes undeclared writes': {
    caught: /writes only what it declares/,
    driver: {
      ...box,
      writes: [{ ...CONTROL, first: [1] }],
    },
    trace: STORED,
  },
  'that has stored audio deleted without declaring it': {
    caught: /deletes nothing/,
    driver: {
      ...box,
      writes: [{ ...CONTROL, first: [1, 2], releases: honestLater() }],
      run: s => fetchStored(s, false),
    },
    trace: STORED,
  },
  'that would update firmware': {
    caught: /has the fields/,
    driver: {
      ...box,
      writes: [
        {
          service: '00001530-1212-efde-1523-785feabcd123',
          characteristic: '00001531-1212-efde-1523-785feabcd123',
        },
      ],
    },
    trace: STORED,
  },
};

function t404(): never {
  throw new Error('the driver of Omi declares no framing');
}

/** Answers false to the link, and true to the check afterwards. */
function honestLater() {
  const seen = new Set<string>();
  return (bytes: Uint8Array) => {
    const key = Buffer.from(bytes).toString('hex');
    if (seen.has(key)) return bytes[0] === 2;
    seen.add(key);
    return false;
  };
}

function skipping(decoder: ReturnType<typeof createFraming>) {
  let count = 0;
  return {
    ...decoder,
    push(packet: Uint8Array) {
      const { frames } = decoder.push(packet);
      count += 1;
      return { frames: count === 7 ? [] : frames };
    },
  };
}

function headerless() {
  const counts = { packets: 0, frames: 0, lost: 0, duplicates: 0, malformed: 0, resets: 0 };
  return {
    counts,
    push(packet: Uint8Array) {
      counts.packets += 1;
      counts.frames += 1;
      return { frames: [{ bytes: packet.slice(3), lostBefore: 0 }] };
    },
    flush: () => ({ frames: [] }),
  };
}

for (const [what, { caught, driver, trace = OMI_TRACE }] of Object.entries(BROKEN))
  test(`the suite catches a driver ${what}`, async t => {
    const check = driverChecks.find(({ title }) => caught.test(title));
    await t.throwsAsync(async () => check?.run({ driver, trace, mutations: 2000 }));
  });

test('a driver that updates firmware or wipes a device is refused when it is loaded', t => {
  for (const [service, characteristic, what] of [
    ['8d53dc1d-1db7-4cd3-868b-8a527460aa84', 'da2e7828-fbce-4e01-ae9e-261174997c48', /firmware update/],
    ['0000fe59-0000-1000-8000-00805f9b34fb', '8ec90001-f315-4f60-9fb8-838830daea50', /firmware update/],
    ['19b10040-e8f2-537e-4f6c-d104768a1214', '19b10042-e8f2-537e-4f6c-d104768a1214', /un-bonding/],
  ] as const)
    t.throws(() => checkDriver('x', { ...box, writes: [{ service, characteristic }] }), { message: what });
});

test('settings of a pendant are not written to glasses, where they would be a firmware update', async t => {
  const led = {
    service: '19b10010-e8f2-537e-4f6c-d104768a1214',
    characteristic: '19b10011-e8f2-537e-4f6c-d104768a1214',
  };
  const photo = '19b10000-e8f2-537e-4f6c-d104768a1214/19b10006-e8f2-537e-4f6c-d104768a1214';
  const dim: Driver = { ...box, writes: [led], run: ({ link }) => link.write(led, Uint8Array.of(20)) };
  const characteristics = { ...STORED.characteristics, [`${led.service}/${led.characteristic}`]: ['write'] };
  const pendant = await replay(dim, { ...STORED, characteristics, events: [] });
  t.is(pendant.writes.length, 1);
  const glasses = await replay(dim, {
    ...STORED,
    characteristics: { ...characteristics, [photo]: ['write'] },
    events: [],
  });
  t.is(glasses.writes.length, 0);
  t.regex(glasses.error?.message ?? '', /a firmware update of glasses/);
});

// ── a board in YAML ─────────────────────────────────────────────────────────────────────────────────────────────────

const BOARD = `
api: 1
name: my-board
title: My board
match: { advertised: [{ name: MyMic }], confirm: [{ service: ${SERVICE}, characteristic: ${AUDIO.characteristic}, properties: [notify] }] }
stream:
  audio: { service: ${SERVICE}, characteristic: ${AUDIO.characteristic} }
  format: { codec: mulaw, sampleRate: 8000, frameMs: 20 }
  framing: { kind: raw, frameBytes: 160, header: 1 }
  start: [{ write: { service: ${SERVICE}, characteristic: ${CONTROL.characteristic} }, hex: '01' }, { waitMs: 50 }]
  stop: [{ write: { service: ${SERVICE}, characteristic: ${CONTROL.characteristic} }, hex: '00' }]
  keepAlive: { everyMs: 5000, step: { write: { service: ${SERVICE}, characteristic: ${CONTROL.characteristic} }, hex: '02' } }
  battery: { service: 180f, characteristic: 2a19 }
`;

async function inFolder(t: { teardown(step: () => Promise<void>): void }, files: Record<string, string>) {
  const dir = await mkdtemp(join(tmpdir(), 'board-'));
  t.teardown(() => rm(dir, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  return (name: string) => join(dir, name);
}

const boardTrace = (expect: object) =>
  [
    {
      device: 'MyMic',
      origin: 'made for the test',
      mtu: 185,
      characteristics: STORED.characteristics,
    },
    { t: 0, write: `${SERVICE}/${CONTROL.characteristic}`, value: '01' },
    ...Array.from({ length: 4 }, (_, index) => ({
      t: 60 + 10 * index,
      notify: `${SERVICE}/${AUDIO.characteristic}`,
      value: `00${'ff7f'.repeat(40)}`,
    })),
    { expect },
  ]
    .map(line => JSON.stringify(line))
    .join('\n');

test('a board described in YAML is checked, explained, and plays its trace', async t => {
  const at = await inFolder(t, {
    'my-board.yaml': BOARD,
    'good.jsonl': boardTrace({ frames: 2, lost: 0 }),
    'bad.jsonl': boardTrace({ frames: 3, lost: 0 }),
  });
  const explained = (await checkDevice(at('my-board.yaml'))).lines.join('\n');
  t.regex(explained, /mulaw, 8000 Hz, frames of 20 ms/);
  t.regex(explained, /start +writes 01 to 6e400002.*\n {2}start +waits 50 ms\n {2}stop +writes 00/);
  t.regex(explained, /keep-alive +every 5000 ms: writes 02 to/);
  const good = await checkDevice(at('my-board.yaml'), at('good.jsonl'));
  t.true(good.isGood, good.lines.join('\n'));
  t.regex(good.lines.join('\n'), /2 frames of live audio, 0\.04 s/);
  const bad = await checkDevice(at('my-board.yaml'), at('bad.jsonl'));
  t.false(bad.isGood);
  t.regex(bad.lines.join('\n'), /FAIL {2}decodes all frames.*frames of live audio/);
});

test('a header that leaves numbers in the frames causes a warning', async t => {
  const framing = (header: number) =>
    BOARD.replace(
      'kind: raw, frameBytes: 160, header: 1',
      `kind: counted, header: ${header}, counter: { at: 0, bits: 16, per: packet }, fragment: { at: 2 }`,
    );
  const at = await inFolder(t, { 'bad.yaml': framing(2), 'good.yaml': framing(3) });
  t.regex((await checkDevice(at('bad.yaml'))).lines.join('\n'), /WARNING +header: 2 .* has to be 3 or more/);
  t.notRegex((await checkDevice(at('good.yaml'))).lines.join('\n'), /WARNING/);
});

test('errors in a description are reported with their fields', async t => {
  const wrong: [string, string, RegExp][] = [
    ['codec: mulaw', 'codec: mp3', /stream\.format\.codec: must be one of pcm16/],
    ['api: 1', 'api: 2', /api: must be 1/],
    ['kind: raw', 'kind: row', /stream\.framing\.kind: must be one of counted, fixed, .*raw$/],
    ["hex: '01'", 'hex: zz', /stream\.start\.0\.hex: must be bytes in hex/],
    ["hex: '01'", 'hex: 01', /stream\.start\.0\.hex: must be bytes in hex, in quotes/],
    ['  battery:', '  batery:', /stream: there is no field batery$/],
    ['name: my-board', 'name: My Board', /name: must be lower case/],
  ];
  for (const [right, instead, message] of wrong) {
    const at = await inFolder(t, { 'board.yaml': BOARD.replace(right, instead) });
    await t.throwsAsync(checkDevice(at('board.yaml')), { message }, instead);
  }
  const several = BOARD.replace('api: 1', 'api: 2').replace('codec: mulaw', 'codec: mp3');
  const file = (await inFolder(t, { 'board.yaml': several }))('board.yaml');
  const { message } = (await t.throwsAsync(checkDevice(file))) ?? t.fail();
  t.regex(message, /is not a driver:\n {2}api: must be 1\n {2}stream\.format\.codec: must be one of/);
  const at = await inFolder(t, { 'broken.yaml': 'api: [1', 'trace.jsonl': 'nonsense', 'board.yaml': BOARD });
  await t.throwsAsync(checkDevice(at('broken.yaml')), { message: /does not load/ });
  await t.throwsAsync(checkDevice(at('board.yaml'), at('trace.jsonl')), { message: /line 1 is no JSON/ });
});

test('a device whose audio its driver cannot decode is reported, and disconnected after a while', async t => {
  const noise = {
    ...OMI_TRACE,
    events: [
      ...OMI_TRACE.events.filter(event => 'read' in event),
      ...Array.from({ length: 300 }, (_, t_) => ({
        t: t_,
        notify:
          Object.keys(OMI_TRACE.characteristics).find(
            key => key.includes('19b10001') || key.includes('19b10001e8f2'),
          ) ?? '',
        value: '0102',
      })),
    ],
  };
  const { error } = await replay(omi, noise);
  t.regex(error?.message ?? '', /may encrypt its audio/);
});
