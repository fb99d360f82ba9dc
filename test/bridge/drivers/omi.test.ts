import test from 'ava';
import type { Decoded, WireFormat } from '../../../bridge/driver.ts';
import { OMI_STREAM } from '../../../bridge/drivers/omi.ts';
import { omiDecoder } from '../../helpers/omi-decoder.ts';
import { random } from '../../helpers/sound.ts';

const OPUS_20MS: WireFormat = { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 };
const PCM: WireFormat = { codec: 'pcm16', sampleRate: 16000, frameMs: 10 };
/** Nominal. */
const PCM_FRAME_BYTES = 320;
const WIDE = 256;
const NARROW = 100;

/** Packets are written as: number (2 bytes, little-endian), fragment, payload. */
interface Case {
  title: string;
  format?: WireFormat;
  mtu?: number;
  packets: string[];
  /** Resulting frames; `n×` in front: this many were lost before it, for PCM `n/320×`: this many bytes. */
  frames: string[];
  /** Frames that result only at the end. */
  flushed?: string[];
  counts: Partial<Record<'lost' | 'duplicates' | 'malformed' | 'resets', number>>;
}

const CASES: Case[] = [
  {
    title: 'frames that fit into a notification are returned at once',
    packets: ['0000 00 b8aa', '0100 00 b8bb', '0200 00 b8cc'],
    frames: ['b8aa', 'b8bb', 'b8cc'],
    counts: {},
  },
  {
    title: 'the counter wraps from 65535 to 0 without a loss',
    packets: ['feff 00 b801', 'ffff 00 b802', '0000 00 b803', '0100 00 b804'],
    frames: ['b801', 'b802', 'b803', 'b804'],
    counts: {},
  },
  {
    title: 'a loss across 65535 is counted modulo 65536',
    packets: ['fdff 00 b801', '0200 00 b802'],
    frames: ['b801', '4×b802'],
    counts: { lost: 4 },
  },
  {
    title: 'lost notifications are reported before the next frame',
    packets: ['0a00 00 b801', '0d00 00 b802', '0e00 00 b803'],
    frames: ['b801', '2×b802', 'b803'],
    counts: { lost: 2 },
  },
  {
    title: 'a duplicate notification counts once',
    packets: ['0500 00 b801', '0500 00 b801', '0600 00 b802'],
    frames: ['b801', 'b802'],
    counts: { duplicates: 1 },
  },
  {
    title: 'a counter that jumps back indicates a restarted device, not a loss',
    packets: ['1027 00 b801', '0000 00 b802', '0100 00 b803'],
    frames: ['b801', 'b802', 'b803'],
    counts: { resets: 1 },
  },
  {
    title: 'the same number with different content is a restart too',
    packets: ['0500 00 b801', '0500 00 b802', '0600 00 b803'],
    frames: ['b801', 'b802', 'b803'],
    counts: { resets: 1 },
  },
  {
    title: 'the largest gap that does not count as a restart is 32766 frames',
    packets: ['0000 00 b801', 'ff7f 00 b802', 'ffff 00 b803'],
    frames: ['b801', '32766×b802', 'b803'],
    counts: { lost: 32766, resets: 1 },
  },
  {
    title: 'notifications that are too short or empty are malformed, and their frames lost',
    packets: ['0000 00 b801', '01', '', '0100', '0100 00', '0200 00 b802'],
    frames: ['b801', '1×b802'],
    counts: { malformed: 4, lost: 1 },
  },
  {
    title: 'joining in the middle of a frame reports no loss',
    mtu: NARROW,
    packets: ['0700 01 aaaa', '0800 00 b801', '0900 00 b802'],
    frames: ['b801'],
    flushed: ['b802'],
    counts: {},
  },
  {
    title: 'fragments become a frame when the next one starts',
    mtu: NARROW,
    packets: ['0000 00 b801', '0100 01 02', '0200 02 03', '0300 00 b811', '0400 01 12'],
    frames: ['b8010203'],
    flushed: ['b81112'],
    counts: {},
  },
  {
    title: 'the loss of a fragment drops its frame',
    mtu: NARROW,
    packets: ['0000 00 b801', '0100 01 02', '0200 00 b811', '0400 00 b821', '0500 01 22', '0600 00 b831'],
    frames: ['b80102', '1×b82122'],
    flushed: ['b831'],
    counts: { lost: 1 },
  },
  {
    title: 'lost fragments of several frames are reported as frames',
    mtu: NARROW,
    // Two packets a frame: Z Z | A - | - B | C C
    packets: ['0000 00 0101', '0100 01 0202', '0200 00 0303', '0500 01 0606', '0600 00 0707', '0700 01 0808'],
    frames: ['01010202'],
    flushed: ['2×07070808'],
    counts: { lost: 2 },
  },
  {
    title: 'PCM fragments that arrived are returned, and only the missing bytes are lost',
    format: PCM,
    packets: ['0000 00 0101', '0100 01 0202', '0200 00 0303', '0500 01 0606', '0600 00 0707', '0700 01 0808'],
    frames: ['01010202', '0303', '4/320×0606'],
    flushed: ['07070808'],
    counts: { lost: 4 / 320 },
  },
  {
    title: 'a sample with a lost half is lost, and later samples keep their positions',
    format: PCM,
    // Fragments of three bytes: 01 01 02 | 02 03 03 | 04 04, and the second one of the next frame is missing.
    packets: [
      '0000 00 010102',
      '0100 01 020303',
      '0200 02 0404',
      '0300 00 050506',
      '0500 02 0808',
      '0600 00 0909',
    ],
    frames: ['0101020203030404', '0505', '4/320×0808'],
    flushed: ['0909'],
    counts: { lost: 4 / 320 },
  },
  {
    title: 'a lost PCM fragment of old firmware is counted by the length of its frame',
    format: PCM,
    packets: [
      ...['0000 00 '.concat('11'.repeat(200)), `0000 01 ${'12'.repeat(120)}`],
      ...['0100 00 '.concat('21'.repeat(200)), `0300 01 ${'42'.repeat(120)}`],
      ...['0400 00 '.concat('51'.repeat(200)), `0500 00 ${'61'.repeat(200)}`],
    ],
    frames: [
      '11'.repeat(200) + '12'.repeat(120),
      '21'.repeat(200),
      `640/320×${'42'.repeat(120)}`,
      '51'.repeat(200),
    ],
    flushed: [`120/320×${'61'.repeat(200)}`],
    counts: { lost: 760 / 320 },
  },
  {
    title: 'a fragment out of order drops only its frame',
    mtu: NARROW,
    packets: ['0000 00 b801', '0100 02 02', '0200 00 b811', '0300 00 b821'],
    frames: ['b811'],
    flushed: ['b821'],
    counts: { malformed: 1 },
  },
  {
    title: 'a device that fragments despite a large MTU loses one frame, then frames are reassembled',
    packets: ['0000 00 b801', '0100 01 02', '0200 00 b811', '0300 01 12', '0400 00 b821'],
    frames: ['b801', 'b81112'],
    flushed: ['b821'],
    counts: { malformed: 1 },
  },
  {
    title: 'old firmware with the same number for all fragments of a frame is supported',
    mtu: NARROW,
    packets: ['0000 00 b801', '0000 01 02', '0100 00 b811', '0100 01 12', '0200 00 b821'],
    frames: ['b80102', 'b81112'],
    flushed: ['b821'],
    counts: {},
  },
  {
    title: 'PCM frames are reassembled however large the MTU is',
    format: PCM,
    packets: ['0000 00 0101', '0100 01 0202', '0200 00 0303'],
    frames: ['01010202'],
    flushed: ['0303'],
    counts: {},
  },
];

for (const { title, format = OPUS_20MS, mtu = WIDE, packets, frames, flushed = [], counts } of CASES) {
  test(title, t => {
    const decoder = omiDecoder(format, { mtu });
    const bytesPerFrame = format === PCM ? PCM_FRAME_BYTES : 1;
    const out = packets.flatMap(packet => show(decoder.push(hex(packet)), bytesPerFrame));
    t.deepEqual(out, frames);
    t.deepEqual(show(decoder.flush(), bytesPerFrame), flushed);
    const none = { lost: 0, duplicates: 0, malformed: 0, resets: 0 };
    t.deepEqual(
      { ...decoder.counts },
      { ...none, ...counts, packets: packets.length, frames: frames.length + flushed.length },
    );
  });
}

test('frames do not share memory with their notification', t => {
  const packet = hex('0000 00 b8aa');
  const [frame] = omiDecoder(OPUS_20MS, { mtu: WIDE }).push(packet).frames;
  packet.fill(0);
  t.is(Buffer.from(frame?.bytes ?? []).toString('hex'), 'b8aa');
});

/** Frames of random samples, sent in fragments of `room` bytes, one in ten of which is lost. */
function lossyRun({
  frameBytes,
  room,
  numbersFrames,
  seed,
}: {
  frameBytes: number;
  room: number;
  numbersFrames: boolean;
  seed: number;
}) {
  const frames = 700;
  const dice = random(seed);
  const noise = Buffer.from(Uint8Array.from({ length: 2000 }, () => 128 * dice() + 128));
  const source = (frame: number) => noise.subarray(2 * (frame % 499), 2 * (frame % 499) + frameBytes);
  const decoder = omiDecoder(PCM, { mtu: room + 6 });
  /** An unusual length is known once a whole frame has arrived. */
  const wholeFrames = numbersFrames || frameBytes > PCM_FRAME_BYTES ? 2 : 0;
  const run = { position: 0, heard: 0, lostPackets: 0, wrong: 0, expected: frames * frameBytes };
  const check = ({ frames: out }: Decoded) => {
    for (const { bytes, lostBefore } of out) {
      run.position += lostBefore * PCM_FRAME_BYTES;
      const offset = run.position % frameBytes;
      const said = source((run.position - offset) / frameBytes).subarray(offset, offset + bytes.length);
      if (!said.equals(bytes)) run.wrong += 1;
      run.position += bytes.length;
      run.heard += bytes.length;
    }
  };
  let id = 64_500;
  for (let frame = 0; frame < frames; frame++)
    for (let at = 0, fragment = 0; at < frameBytes; at += room, fragment++) {
      const isSafe = frame < wholeFrames || frame + fragment === 0 || frame === frames - 1;
      const header = [id & 0xff, id >> 8, fragment];
      if (!isSafe && dice() > 0.8) run.lostPackets += 1;
      else check(decoder.push(Buffer.concat([Buffer.from(header), source(frame).subarray(at, at + room)])));
      if (!numbersFrames || at + room >= frameBytes) id = (id + 1) & 0xffff;
    }
  check(decoder.flush());
  return { ...run, counted: decoder.counts.lost * PCM_FRAME_BYTES };
}

for (const [title, frameBytes, room, numbersFrames] of [
  ['in two fragments', 320, 250, false],
  ['in four fragments', 320, 98, false],
  ['in fragments that split samples', 320, 95, false],
  ['in frames of twice the usual length', 640, 94, false],
  ['in frames that a notification holds', 320, 400, false],
  ['of old firmware', 320, 95, true],
] as const)
  test(`of PCM ${title} every sample that arrived keeps its position, whatever is lost`, t => {
    for (let seed = 1; seed <= 20; seed++) {
      const { wrong, position, expected, heard, counted, lostPackets } = lossyRun({
        frameBytes,
        room,
        numbersFrames,
        seed,
      });
      t.is(wrong, 0, `seed ${seed}`);
      t.is(position, expected, `seed ${seed}`);
      t.true(Math.abs(counted - (expected - heard)) < 1e-6);
      // At most the lost packets' content, and a split sample on either side of each.
      t.true(expected - heard <= lostPackets * (Math.min(room, frameBytes) + 2));
    }
  });

test('a frame that grows without end is dropped', t => {
  const decoder = omiDecoder(PCM, { mtu: WIDE });
  for (let i = 0; i < 200; i += 1) decoder.push(Buffer.from([i & 0xff, i >> 8, i, ...Buffer.alloc(200, 1)]));
  t.is(decoder.counts.malformed, 1);
  t.deepEqual(decoder.flush().frames, []);
});

test('100,000 random notifications never throw, and never invent a frame', t => {
  let seed = 42;
  const below = (limit: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * limit);
  };
  const STEPS = [0, 1, 1, 1, 1, 1, 2, undefined];
  for (const [format, mtu] of [
    [OPUS_20MS, WIDE],
    [OPUS_20MS, NARROW],
    [PCM, WIDE],
  ] as const) {
    const decoder = omiDecoder(format, { mtu });
    let id = 0;
    let bytesIn = 0;
    let bytesOut = 0;
    for (let i = 0; i < 100_000; i += 1) {
      // Mostly in order, so that runs, gaps, repetitions and restarts all happen.
      id = (id + (STEPS[below(STEPS.length)] ?? below(0x10000))) & 0xffff;
      const packet = Buffer.from([
        id & 0xff,
        id >> 8,
        below(3) === 0 ? below(4) : 0,
        ...Buffer.alloc(below(3), 7),
      ]);
      if (below(20) === 0) packet.fill(below(256));
      bytesIn += packet.length;
      for (const { bytes, lostBefore } of decoder.push(packet.subarray(0, below(9))).frames) {
        bytesOut += bytes.length;
        const lost = format === PCM ? lostBefore * PCM_FRAME_BYTES : lostBefore;
        if (bytes.length === 0 || lost < 0 || !Number.isInteger(lost)) t.fail();
      }
    }
    const { packets, frames, lost, malformed, duplicates, resets } = decoder.counts;
    t.is(packets, 100_000);
    t.true(frames > 1000 && malformed > 1000 && duplicates > 1000 && resets > 1000 && lost > 1000);
    t.true(bytesOut <= bytesIn);
  }
});

test('the formats are those of the firmware, and no others', t => {
  t.deepEqual('values' in OMI_STREAM.format && OMI_STREAM.format.values, {
    0: { codec: 'pcm16', sampleRate: 16000, frameMs: 10 },
    1: { codec: 'pcm16', sampleRate: 8000, frameMs: 10 },
    10: { codec: 'mulaw', sampleRate: 16000, frameMs: 10 },
    11: { codec: 'mulaw', sampleRate: 8000, frameMs: 10 },
    20: { codec: 'opus', sampleRate: 16000, frameMs: 10 },
    21: { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 },
  });
});

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

function show({ frames }: Decoded, bytesPerFrame: number): string[] {
  return frames.map(({ bytes, lostBefore }) => {
    const lost = bytesPerFrame > 1 ? `${lostBefore * bytesPerFrame}/${bytesPerFrame}` : lostBefore;
    return `${lostBefore ? `${lost}×` : ''}${Buffer.from(bytes).toString('hex')}`;
  });
}
