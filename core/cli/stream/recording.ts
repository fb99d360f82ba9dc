import { Encoder } from '@evan/opus/wasm/index.mjs';
import lc3 from 'lc3codec';
import { type Codec, checkFormat } from '../../audio/codecs.ts';
import { concatSamples, mixToMono, samplesToBytes, type Wav } from '../../audio/pcm.ts';
import { AppError } from '../../runtime/errors.ts';

/** One binary message of `/v4/listen`. */
export interface Packet {
  bytes: Uint8Array;
  /** Length of its audio. */
  ms: number;
  /** Whether it is the silence behind the recording. */
  isClosing: boolean;
}

type Packed = Omit<Packet, 'isClosing'>;

const PCM_PACKET_MS = 100;

/** Codecs for sending a recording: there is no encoder for AAC. */
export type SentCodec = Exclude<Codec, 'aac'>;

/** 32 kbit/s. */
const LC3_BYTES = 40;
const LC3_FS1030_BYTES = 30;

/** Encoders by codec. */
const PACKERS: Record<SentCodec, (samples: Int16Array, sampleRate: number) => Generator<Packed>> = {
  pcm8: (samples, sampleRate) => packPcm(samples, sampleRate, toUnsignedBytes),
  pcm16: (samples, sampleRate) => packPcm(samples, sampleRate, samplesToBytes),
  opus: (samples, sampleRate) => packOpus(samples, sampleRate, 10),
  opus_fs320: (samples, sampleRate) => packOpus(samples, sampleRate, 20),
  lc3: samples => packLc3(samples, LC3_BYTES),
  lc3_fs1030: samples => packLc3(samples, LC3_FS1030_BYTES),
};

/** Silence after the recording: a device keeps sending, and the server detects the end by it. */
const CLOSING_SILENCE_MS = 1500;

/**
 * Converts the recording, followed by silence, to messages of this codec: mono, at its own sample rate, which the codec
 * has to support.
 */
export function* packetsOf({ samples, channels, sampleRate }: Wav, codec: SentCodec): Generator<Packet> {
  const recording = mixToMono(samples, channels);
  const silence = new Int16Array((sampleRate * CLOSING_SILENCE_MS) / 1000);
  const recordedMs = (recording.length * 1000) / sampleRate;
  let atMs = 0;
  for (const packet of PACKERS[codec](concatSamples([recording, silence]), sampleRate)) {
    yield { ...packet, isClosing: atMs >= recordedMs };
    atMs += packet.ms;
  }
}

/** Tells whether this codec can be sent at this sample rate. */
export function carries(codec: SentCodec, sampleRate: number): boolean {
  if (codec.startsWith('opus') && !OPUS_RATES.some(rate => rate === sampleRate)) return false;
  try {
    checkFormat({ codec, sampleRate, channels: 1 });
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function* packPcm(
  samples: Int16Array,
  sampleRate: number,
  toBytes: (samples: Int16Array) => Uint8Array,
): Generator<Packed> {
  const size = Math.round((sampleRate * PCM_PACKET_MS) / 1000);
  for (let at = 0; at < samples.length; at += size) {
    const chunk = samples.subarray(at, at + size);
    yield { bytes: toBytes(chunk), ms: (chunk.length * 1000) / sampleRate };
  }
}

function toUnsignedBytes(samples: Int16Array): Uint8Array {
  return Uint8Array.from(samples, sample => (sample >> 8) + 128);
}

/** The last packet is filled up with silence. */
function* packOpus(samples: Int16Array, sampleRate: number, packetMs: number): Generator<Packed> {
  const encoder = new Encoder({ channels: 1, sample_rate: opusRate(sampleRate), application: 'voip' });
  const frame = new Int16Array((sampleRate * packetMs) / 1000);
  try {
    for (let at = 0; at < samples.length; at += frame.length) {
      frame.fill(0);
      frame.set(samples.subarray(at, at + frame.length));
      yield { bytes: encoder.encode(frame), ms: packetMs };
    }
  } finally {
    encoder.drop();
  }
}

const LC3_PACKET_MS = 10;
const LC3_SAMPLES = 160;

/** At 16 kHz. The last frame is filled up with silence. */
function* packLc3(samples: Int16Array, bytes: number): Generator<Packed> {
  const { LC3FrameDuration, LC3SampleRate } = lc3.Core;
  const encoder = new lc3.Encoder.LC3Encoder(LC3FrameDuration.NMS_10000US, LC3SampleRate.FS_16000);
  const frame = new Int16Array(LC3_SAMPLES);
  for (let at = 0; at < samples.length; at += LC3_SAMPLES) {
    frame.fill(0);
    frame.set(samples.subarray(at, at + LC3_SAMPLES));
    yield { bytes: Uint8Array.from(encoder.encode(frame, bytes)), ms: LC3_PACKET_MS };
  }
}

const OPUS_RATES = [8000, 12000, 16000, 24000, 48000] as const;

function opusRate(sampleRate: number) {
  const rate = OPUS_RATES.find(known => known === sampleRate);
  if (rate) return rate;
  throw new AppError(
    'unsupported_media',
    `Opus cannot carry ${sampleRate} Hz, only ${OPUS_RATES.join(', ')}`,
  );
}
