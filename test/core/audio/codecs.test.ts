import { Encoder } from '@evan/opus/wasm/index.mjs';
import test from 'ava';
import { checkFormat, createDecoder, type Decoded, type Decoder } from '../../../core/audio/codecs.ts';
import { concatSamples, samplesToBytes } from '../../../core/audio/pcm.ts';
import { adtsFrames, concatBytes } from '../../helpers/packets.ts';
import { atPeak, peak, random, rms, type Sound, speech, whiteNoise } from '../../helpers/sound.ts';

async function open(codec: string, sampleRate?: number, channels = 1) {
  return createDecoder(checkFormat({ codec, sampleRate, channels }));
}

async function decodeEach(decoder: Decoder, messages: Uint8Array[]): Promise<Decoded[]> {
  const decoded: Decoded[] = [];
  for (const message of messages) decoded.push(await decoder.decode(message));
  return decoded;
}

/** Decodes messages one after the other. */
async function decodeAll(messages: Uint8Array[], ...format: Parameters<typeof open>) {
  const decoder = await open(...format);
  const decoded = await decodeEach(decoder, messages);
  decoder.close();
  return {
    pcm: concatSamples(decoded.map(({ pcm }) => pcm)),
    bad: decoded.reduce((sum, { bad }) => sum + bad, 0),
  };
}

function sine(seconds: number, hz: number, sampleRate: number): Sound {
  return Int16Array.from(
    { length: seconds * sampleRate },
    (_, i) => 10_000 * Math.sin((2 * Math.PI * hz * i) / sampleRate),
  );
}

function interleaved(left: Sound, right: Sound): Sound {
  return Int16Array.from({ length: 2 * left.length }, (_, i) => (i % 2 ? right : left)[i >> 1] ?? 0);
}

function toUnsignedBytes(sound: Sound): Uint8Array {
  return Uint8Array.from(sound, sample => (sample >> 8) + 128);
}

/** Share of the sound that is a tone of this pitch, 0 to 1. */
function share(sound: Sound, hz: number): number {
  let sin = 0;
  let cos = 0;
  for (const [i, sample] of sound.entries()) {
    sin += sample * Math.sin((2 * Math.PI * hz * i) / 16_000);
    cos += sample * Math.cos((2 * Math.PI * hz * i) / 16_000);
  }
  return (Math.hypot(sin, cos) * Math.SQRT2) / (sound.length * rms(sound));
}

/** Cuts bytes into messages of random lengths. */
function cut(bytes: Uint8Array, seed: number): Uint8Array[] {
  const uniform = random(seed);
  const messages: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + Math.floor((uniform() + 1) * 500);
    messages.push(bytes.subarray(at, at + length));
    at += length;
  }
  return messages;
}

type Rate = 8000 | 12000 | 16000 | 24000 | 48000;

/** The packets of a sound, as wearables make them. */
function opusPackets(sound: Sound, ms: number, sampleRate: Rate = 16_000, channels: 1 | 2 = 1): Uint8Array[] {
  const encoder = new Encoder({ channels, sample_rate: sampleRate, application: 'restricted_lowdelay' });
  const length = (sampleRate * ms * channels) / 1000;
  const packets: Uint8Array[] = [];
  for (let at = 0; at + length <= sound.length; at += length)
    packets.push(encoder.encode(sound.slice(at, at + length)));
  encoder.drop();
  return packets;
}

// ── the format ──────────────────────────────────────────────────────────────────────────────────────────────────

test('a format without a rate gets the default one', t => {
  t.deepEqual(checkFormat({ codec: 'opus', sampleRate: undefined, channels: 1 }), {
    codec: 'opus',
    sampleRate: 16_000,
    channels: 1,
  });
});

test('an unsupported format is refused with the supported ones', t => {
  const refused: [string, number | undefined, number, RegExp][] = [
    ['mp3', undefined, 1, /Codec "mp3" is not known; use pcm8, pcm16, opus, opus_fs320/],
    ['toString', undefined, 1, /Codec "toString" is not known/],
    ['pcm16', 7999, 1, /pcm16 cannot have a sample rate of 7999 Hz; use 8000 to 48000/],
    ['pcm16', 16_000.5, 1, /16000\.5 Hz/],
    ['pcm16', Number.NaN, 1, /NaN Hz/],
    ['opus', 44_100, 1, /opus cannot have a sample rate of 44100 Hz; use 8000, 12000, 16000, 24000, 48000/],
    ['pcm16', 16_000, 3, /3 channels .* use 1 or 2/],
  ];
  for (const [codec, sampleRate, channels, message] of refused)
    t.throws(() => checkFormat({ codec, sampleRate, channels }), { code: 'invalid_input', message });
  const tooLong = t.throws(() =>
    checkFormat({ codec: 'x'.repeat(5000), sampleRate: undefined, channels: 1 }),
  );
  t.true(Buffer.byteLength(tooLong?.message ?? '') <= 123, 'fits the reason of a WebSocket close');
});

// ── PCM ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('PCM at 16 kHz is passed through sample by sample, however it is split into messages', async t => {
  const sound = speech('garden');
  for (const seed of [1, 2])
    t.deepEqual((await decodeAll(cut(samplesToBytes(sound), seed), 'pcm16')).pcm, sound);
});

test('two interleaved channels are mixed, however they are split into messages', async t => {
  const left = atPeak(-6, whiteNoise(1, 1));
  const right = atPeak(-6, whiteNoise(1, 2));
  const { pcm } = await decodeAll(cut(samplesToBytes(interleaved(left, right)), 3), 'pcm16', 16_000, 2);
  t.deepEqual(
    pcm,
    left.map((sample, i) => Math.round((sample + (right[i] ?? 0)) / 2)),
  );
});

const PCM = { pcm8: toUnsignedBytes, pcm16: samplesToBytes };

for (const [codec, toBytes] of Object.entries(PCM))
  for (const rate of [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000])
    test(`${codec} at ${rate} Hz, of one channel or two, becomes 16 kHz with its length, pitch and loudness`, async t => {
      const tone = sine(2, 1000, rate);
      for (const [channels, sound, loudness] of [
        [1, tone, 1],
        [2, interleaved(tone, new Int16Array(tone.length)), 0.5], // half as loud: the other channel is silent
      ] as const) {
        const { pcm } = await decodeAll(cut(toBytes(sound), 4), codec, rate, channels);
        t.is(pcm.length, 32_000);
        const settled = pcm.slice(1600);
        t.true(share(settled, 1000) > 0.999);
        t.true(Math.abs(rms(settled) / ((loudness * 10_000) / Math.SQRT2) - 1) < 0.02);
      }
    });

test('resampling is independent of the split into messages', async t => {
  const bytes = samplesToBytes(atPeak(-6, whiteNoise(2)));
  const whole = await decodeAll([bytes], 'pcm16', 44_100);
  t.deepEqual(await decodeAll(cut(bytes, 5), 'pcm16', 44_100), whole);
});

test('sound above 8 kHz is not aliased', async t => {
  const { pcm } = await decodeAll([samplesToBytes(sine(1, 15_000, 48_000))], 'pcm16', 48_000);
  t.true(peak(pcm.slice(1600)) < 100);
});

test('parallel resamplers are independent', async t => {
  const decoders = await Promise.all(Array.from({ length: 50 }, (_, i) => open('pcm16', 8000 + i * 700)));
  for (let round = 0; round < 20; round++)
    for (const [i, decoder] of decoders.entries()) {
      const rate = 8000 + i * 700;
      const { pcm } = await decoder.decode(samplesToBytes(new Int16Array(rate / 10).fill(i * 100)));
      if (round > 0) t.true(pcm.every(sample => Math.abs(sample - i * 100) <= 1 + i));
    }
  for (const decoder of decoders) decoder.close();
});

// ── Opus ────────────────────────────────────────────────────────────────────────────────────────────────────────

for (const [codec, ms] of [
  ['opus', 10],
  ['opus_fs320', 20],
] as const)
  test(`${codec} packets of ${ms} ms decode to their original sound`, async t => {
    const sound = sine(2, 440, 16_000);
    const { pcm, bad } = await decodeAll(opusPackets(sound, ms), codec);
    t.is(pcm.length, sound.length);
    t.is(bad, 0);
    t.true(share(pcm.slice(1600), 440) > 0.99);
    t.true(Math.abs(rms(pcm) / rms(sound) - 1) < 0.05);
  });

for (const [codec, ms] of [
  ['opus', 10],
  ['opus_fs320', 20],
] as const)
  for (const rate of [8000, 12_000, 16_000, 24_000, 48_000] as const)
    test(`${codec} at ${rate} Hz, of one channel or two, decodes to 16 kHz mono`, async t => {
      const tone = sine(1, 440, rate);
      const mono = await decodeAll(opusPackets(tone, ms, rate), codec, rate);
      const both = interleaved(tone, new Int16Array(tone.length));
      const stereo = await decodeAll(opusPackets(both, ms, rate, 2), codec, rate, 2);
      for (const { pcm, bad } of [mono, stereo]) {
        t.deepEqual([pcm.length, bad], [16_000, 0]);
        t.true(share(pcm.slice(1600), 440) > 0.99);
      }
      const loudness = rms(stereo.pcm) / rms(mono.pcm);
      t.true(Math.abs(loudness - 0.5) < 0.15, 'half as loud: the other channel was silent');
    });

test('Opus packets of 60 ms decode completely', async t => {
  const { pcm, bad } = await decodeAll(opusPackets(sine(0.96, 440, 16_000), 60), 'opus');
  t.deepEqual([pcm.length, bad], [15_360, 0]);
});

test('a broken packet becomes silence of its length, is counted, and the next ones decode', async t => {
  for (const [codec, ms] of [
    ['opus', 10],
    ['opus_fs320', 20],
  ] as const) {
    const packets = opusPackets(sine(1, 440, 16_000), ms);
    const broken = [
      new Uint8Array(40).fill(0xff), // three frames of more than 120 ms
      new Uint8Array([packets[0]?.[0] ?? 0, ...new Uint8Array(2000)]), // longer than a frame may be
      new Uint8Array([3, 0, 1, 2]), // no frames
    ];
    const decoder = await open(codec);
    await decodeEach(decoder, packets.slice(0, 20));
    for (const packet of broken)
      t.deepEqual(await decoder.decode(packet), { pcm: new Int16Array(16 * ms), bad: 1 });
    const after = await decodeEach(decoder, packets.slice(20));
    decoder.close();
    t.true(after.every(({ pcm, bad }) => pcm.length === 16 * ms && bad === 0));
    t.true(share(concatSamples(after.slice(10).map(({ pcm }) => pcm)), 440) > 0.99);
  }
});

test('a broken packet in a stream of longer packets lasts as long as those', async t => {
  const decoder = await open('opus');
  await decodeEach(decoder, opusPackets(sine(0.96, 440, 16_000), 60));
  t.is((await decoder.decode(new Uint8Array(40).fill(0xff))).pcm.length, 960);
  decoder.close();
});

test('an empty Opus packet is dropped and counted', async t => {
  const decoder = await open('opus');
  t.deepEqual(await decoder.decode(new Uint8Array(0)), { pcm: new Int16Array(0), bad: 1 });
  decoder.close();
});

test('random and damaged packets never throw, and give at most 120 ms each', async t => {
  const uniform = random(7);
  const below = (limit: number) => Math.floor(((uniform() + 1) / 2) * limit);
  const packets = opusPackets(speech('garden'), 20);
  const decoder = await open('opus_fs320');
  let bad = 0;
  for (let i = 0; i < 10_000; i++) {
    const packet =
      i % 2 === 0
        ? Uint8Array.from({ length: below(i % 100 === 0 ? 10_000 : 300) }, () => below(256))
        : (packets[below(packets.length)] ?? new Uint8Array(0)).slice(0, below(200));
    if (packet.length > 0) packet[below(packet.length)] = below(256);
    const decoded = await decoder.decode(packet);
    t.true(decoded.pcm.length <= 1920);
    bad += decoded.bad;
  }
  t.true(bad > 2000);
  const good = await decodeEach(decoder, packets.slice(0, 50));
  t.true(good.every(({ pcm, bad }) => pcm.length === 320 && bad === 0));
  decoder.close();
});

test('many decoders run in parallel, and are freed when closed', async t => {
  const packets = opusPackets(sine(0.2, 440, 16_000), 20);
  for (let round = 0; round < 3; round++) {
    const decoders = await Promise.all(Array.from({ length: 300 }, () => open('opus_fs320')));
    for (const packet of packets) for (const decoder of decoders) t.is((await decoder.decode(packet)).bad, 0);
    for (const decoder of decoders) decoder.close();
    await t.throwsAsync(async () => decoders[0]?.decode(packets[0] ?? new Uint8Array(0)), {
      message: /closed/,
    });
  }
});

// ── AAC and LC3 ─────────────────────────────────────────────────────────────────────────────────────────────────

for (const [file, frames] of [
  ['tone-8000.aac', 9],
  ['tone-44100-stereo.aac', 45],
] as const)
  test(`the header of ${file} determines its rate and channels, whatever was declared`, async t => {
    const packets = adtsFrames(file);
    t.is(packets.length, frames);
    const { pcm, bad } = await decodeAll(packets, 'aac', 16_000);
    const rate = Number(/\d+/.exec(file));
    t.deepEqual([pcm.length, bad], [Math.ceil((frames * 1024 * 16_000) / rate), 0]);
    t.true(share(pcm.slice(6400, 12_800), 440) > 0.99);
    t.deepEqual(await decodeAll([concatBytes(packets)], 'aac'), { pcm, bad }, 'the same in one message');
  });

/** The rates that a header can say, by their index. */
const AAC_RATES = [
  ...[96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000],
  ...[22_050, 16_000, 12_000, 11_025, 8000],
];

for (const [rateIndex, rate] of AAC_RATES.entries())
  test(`AAC at ${rate} Hz, of one channel or two, has its length at 16 kHz`, async t => {
    for (const bits of [`${MONO}${SILENT}${END}`, `${STEREO}${SILENT}${SILENT}${END}`]) {
      const frames = Array.from({ length: 100 }, () => adtsFrame(rateIndex, bits));
      const { pcm, bad } = await decodeAll(frames, 'aac', 16_000);
      t.deepEqual([pcm.length, bad], [Math.ceil((100 * 1024 * 16_000) / rate), 0]);
    }
  });

test('AAC at a rate that cannot be decoded is silence, and counted', async t => {
  for (const rateIndex of [AAC_RATES.length, 13, 15]) {
    const { pcm, bad } = await decodeAll([adtsFrame(rateIndex, `${MONO}${SILENT}${END}`)], 'aac');
    t.deepEqual([pcm, bad], [new Int16Array(1024), 1]);
  }
});

test('the two channels of AAC are mixed', async t => {
  const mono = adtsFrames('tone-8000.aac').slice(1); // the first one begins with the name of its encoder
  const stereo = mono.map(frame => {
    const bits = [...frame.subarray(7)].map(byte => byte.toString(2).padStart(8, '0')).join('');
    t.is(bits.slice(0, 3), MONO.slice(0, 3));
    return adtsFrame(11, `${STEREO}${SILENT}${bits.slice(MONO.length)}`); // the other channel stays as it is
  });
  const [one, two] = [await decodeAll(mono, 'aac'), await decodeAll(stereo, 'aac', 16_000, 2)];
  t.deepEqual([two.pcm.length, two.bad], [one.pcm.length, 0]);
  t.true(share(two.pcm.slice(6400, 12_800), 440) > 0.99);
  t.true(Math.abs(rms(two.pcm) / rms(one.pcm) - 0.5) < 0.01, 'half as loud: the other channel was silent');
});

// Pieces of a frame, ISO/IEC 14496-3 section 4.4.2.1: an element of one channel; of two, each with its own windows; a
// channel without any sound; the end.
const MONO = '0000000';
const STEREO = '00100000';
const SILENT = `${'0'.repeat(8)}${'0'.repeat(11)}000`;
const END = '111';

/** A frame of these bits, with a header for low-complexity AAC. */
function adtsFrame(rateIndex: number, bits: string): Uint8Array {
  const payload = (bits.match(/.{1,8}/g) ?? []).map(byte => Number.parseInt(byte.padEnd(8, '0'), 2));
  const [channels, length] = [bits.startsWith(MONO) ? 1 : 2, payload.length + 7];
  return Uint8Array.of(
    ...[0xff, 0xf1, 0x40 | (rateIndex << 2), (channels << 6) | (length >> 11)],
    ...[(length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc],
    ...payload,
  );
}

test('AAC that changes its format is decoded from the second packet on', async t => {
  const [first, second] = [adtsFrames('tone-8000.aac'), adtsFrames('tone-44100-stereo.aac')];
  const decoder = await open('aac');
  await decodeEach(decoder, first);
  const decoded = await decodeEach(decoder, second);
  decoder.close();
  t.deepEqual(
    decoded.map(({ bad }) => bad),
    second.map((_, i) => (i === 0 ? 1 : 0)),
  );
  t.true(share(concatSamples(decoded.slice(10, 35).map(({ pcm }) => pcm)), 440) > 0.99);
});

test('a message of AAC cannot expand to more than 64 frames of silence', async t => {
  const frame = Uint8Array.of(0xff, 0xf1, 0x60, 0x40, 0x01, 0x00, 0xfc, 0); // 8 bytes
  const { pcm, bad } = await decodeAll([concatBytes(Array.from({ length: 100_000 }, () => frame))], 'aac');
  t.deepEqual([pcm.length, bad], [1024, 1]);
});

test('lc3_fs1030 accepts several frames per message, and counts a remainder as a broken one', async t => {
  const message = new Uint8Array(75);
  const decoder = await open('lc3_fs1030');
  const { pcm, bad } = await decoder.decode(message);
  t.is(pcm.length, 480);
  t.true(bad >= 1);
  t.deepEqual(await decoder.decode(new Uint8Array(31_000)), { pcm: new Int16Array(165_440), bad: 1034 });
  decoder.close();
});

test('LC3 is mono at 16 kHz, and nothing else', t => {
  t.is(checkFormat({ codec: 'lc3', sampleRate: undefined, channels: 1 }).sampleRate, 16_000);
  t.throws(() => checkFormat({ codec: 'lc3', sampleRate: 24_000, channels: 1 }), { message: /use 16000/ });
  t.throws(() => checkFormat({ codec: 'lc3_fs1030', sampleRate: 16_000, channels: 2 }), {
    message: /cannot have 2 channels; use 1/,
  });
});

test('pcm8 is unsigned with silence at 128, at 8 kHz by default', async t => {
  t.is(checkFormat({ codec: 'pcm8', sampleRate: undefined, channels: 1 }).sampleRate, 8000);
  const { pcm } = await decodeAll([Uint8Array.of(0, 128, 129, 255)], 'pcm8', 16_000);
  t.deepEqual([...pcm], [-32_768, 0, 256, 32_512]);
});
