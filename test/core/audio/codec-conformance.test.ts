import test from 'ava';
import { type Codec, checkFormat, createDecoder } from '../../../core/audio/codecs.ts';
import { adtsFrames, messagesOf } from '../../helpers/packets.ts';
import { type Sound, speech } from '../../helpers/sound.ts';
import { type CodecSubject, codecChecks } from './conformance/codec.ts';

const sound: Sound = speech('tomorrow').slice(0, 3 * 16_000);
const garbage = Uint8Array.from({ length: 40 }, () => 0xff);

type Facts = Omit<CodecSubject, 'open' | 'sound'>;

/** The sound at 16 kHz in each codec. */
const CODECS: Record<Codec, Facts> = {
  pcm8: {
    messages: messagesOf(sound, 'pcm8'),
    messageSamples: 1600,
    likeness: 0.999,
    lagSamples: 0,
    broken: [],
    maxSamples: bytes => bytes,
  },
  pcm16: {
    messages: messagesOf(sound, 'pcm16'),
    messageSamples: 1600,
    likeness: 1,
    lagSamples: 0,
    broken: [],
    sampleBytes: 2,
    maxSamples: bytes => Math.ceil(bytes / 2),
  },
  opus: {
    messages: messagesOf(sound, 'opus'),
    messageSamples: 160,
    likeness: 0.9, // it preserves the sound, not the waveform
    lagSamples: 200,
    broken: [garbage],
    maxSamples: () => 1920,
  },
  opus_fs320: {
    messages: messagesOf(sound, 'opus_fs320'),
    messageSamples: 320,
    likeness: 0.9, // it preserves the sound, not the waveform
    lagSamples: 200,
    broken: [garbage],
    maxSamples: () => 1920,
  },
  aac: aac(),
  lc3: {
    messages: messagesOf(sound, 'lc3'),
    messageSamples: 160,
    likeness: 0.99,
    lagSamples: 60,
    broken: [garbage, new Uint8Array(19), new Uint8Array(401)],
    maxSamples: () => 160,
  },
  lc3_fs1030: {
    messages: messagesOf(sound, 'lc3_fs1030'),
    messageSamples: 160,
    likeness: 0.99,
    lagSamples: 60,
    broken: [garbage.slice(0, 30), new Uint8Array(29), Uint8Array.of(1)],
    maxSamples: bytes => Math.ceil(bytes / 30) * 160,
  },
};

function aac(): Facts {
  const messages = adtsFrames('tomorrow.aac').slice(0, 46);
  const one = messages[20] ?? garbage;
  return {
    messages,
    messageSamples: 1024,
    likeness: 0.97,
    lagSamples: 2048,
    broken: [
      garbage,
      one.slice(0, -1), // shorter than its header states
      Uint8Array.from(one, (byte, i) => (i < 7 ? byte : 0xff)), // a good header before nonsense
      Uint8Array.from(one, (byte, i) => (i === 2 ? 0x40 : byte)), // a single frame with another rate
    ],
    maxSamples: bytes => Math.min(64, Math.ceil(bytes / 8)) * 1024 * 2.2,
  };
}

for (const [codec, facts] of Object.entries(CODECS)) {
  const open = () => createDecoder(checkFormat({ codec, sampleRate: 16_000, channels: 1 }));
  for (const check of codecChecks)
    test.serial(`${codec}: ${check.title}`, async t => {
      await t.notThrowsAsync(check.run({ ...facts, sound, open }));
    });
}
