import { AppError } from '../runtime/errors.ts';
import { createAacDecoder } from './aac.ts';
import { createLc3Decoder } from './lc3.ts';
import { createOpusDecoder } from './opus.ts';
import { createPcm8Decoder, createPcm16Decoder } from './raw-pcm.ts';

/** Coding of the audio of one stream. */
export interface AudioFormat {
  codec: Codec;
  /** Sample rate in Hz. */
  sampleRate: number;
  channels: 1 | 2;
}

export interface Decoded {
  pcm: Int16Array;
  /** Number of broken packets in the message. */
  bad: number;
}

/** Turns client messages into 16 kHz mono audio; keeps state between messages. */
export interface Decoder {
  /**
   * Decodes one message; calls must not overlap. Broken input becomes silence of the same length, and is counted.
   * Throws only when closed.
   */
  decode(message: Uint8Array): Decoded | Promise<Decoded>;
  /**
   * Conceals this many samples that were lost before the next message, from the audio before them; silence where
   * there was none, and where the loss is long.
   */
  conceal(samples: number): Int16Array;
  /**
   * Whether a part of a sample waits for the next message, so that a new decoder could not continue from here.
   * Absent: never.
   */
  readonly carries?: boolean;
  /** Drops all state, an incomplete sample included. Absent: messages are always whole. */
  reset?(): void;
  /** Frees its memory. Must not be called while it decodes. */
  close(): void;
}

interface CodecKind {
  /** Allowed sample rates in Hz: an inclusive range, or a list. */
  rates: readonly number[] | { from: number; to: number };
  /** Sample rate if none is given. */
  defaultRate: number;
  /** Maximum number of channels. Absent: 2. */
  maxChannels?: 1 | 2;
  open(format: AudioFormat): Promise<Decoder>;
}

/** Opus decodes to any of its rates, whatever the sender's was. */
const OPUS_RATES = [8000, 12_000, 16_000, 24_000, 48_000];
/** LC3 as wearables send it. */
const LC3 = { rates: [16_000], defaultRate: 16_000, maxChannels: 1 } as const;
const LC3_FS1030_BYTES = 30;

/** Every supported codec. */
const CODECS = {
  pcm8: { rates: { from: 8000, to: 48_000 }, defaultRate: 8000, open: createPcm8Decoder },
  pcm16: { rates: { from: 8000, to: 48_000 }, defaultRate: 16_000, open: createPcm16Decoder },
  opus: { rates: OPUS_RATES, defaultRate: 16_000, open: async () => createOpusDecoder(10) },
  opus_fs320: { rates: OPUS_RATES, defaultRate: 16_000, open: async () => createOpusDecoder(20) },
  // The announced rate does not matter: the packets carry their own.
  aac: { rates: { from: 8000, to: 96_000 }, defaultRate: 16_000, open: createAacDecoder },
  lc3: { ...LC3, open: () => createLc3Decoder() },
  lc3_fs1030: { ...LC3, open: () => createLc3Decoder(LC3_FS1030_BYTES) },
} as const satisfies Record<string, CodecKind>;
export type Codec = keyof typeof CODECS;

/**
 * Checks what a client announces of its audio. Throws `invalid_input` that names what is wrong and what is allowed.
 * @param asked `sampleRate` undefined: the codec's usual one
 */
export function checkFormat(asked: {
  codec: string;
  sampleRate: number | undefined;
  channels: number;
}): AudioFormat {
  const { codec, channels } = asked;
  if (!isCodec(codec))
    throw invalid(`Codec ${quote(codec)} is not known; use ${Object.keys(CODECS).join(', ')}`);
  const { rates, defaultRate, maxChannels = 2 }: CodecKind = CODECS[codec];
  const sampleRate = asked.sampleRate ?? defaultRate;
  if (!allows(rates, sampleRate))
    throw invalid(`Codec ${codec} cannot have a sample rate of ${sampleRate} Hz; use ${describe(rates)}`);
  if (channels !== 1 && channels !== 2)
    throw invalid(`Audio with ${channels} channels is not supported; use 1 or 2`);
  if (channels > maxChannels) throw invalid(`Codec ${codec} cannot have ${channels} channels; use 1`);
  return { codec, sampleRate, channels };
}

/**
 * Creates a decoder for one stream; the caller closes it. Throws `unsupported_media` where the codec is not
 * installed.
 */
export function createDecoder(format: AudioFormat): Promise<Decoder> {
  return CODECS[format.codec].open(format);
}

function isCodec(name: string): name is Codec {
  return Object.hasOwn(CODECS, name);
}

function allows(rates: CodecKind['rates'], rate: number): boolean {
  if (!Number.isInteger(rate)) return false;
  return 'from' in rates ? rate >= rates.from && rate <= rates.to : rates.includes(rate);
}

function describe(rates: CodecKind['rates']): string {
  return 'from' in rates ? `${rates.from} to ${rates.to}` : rates.join(', ');
}

/** Shortens a name that a client sent so that it fits a message (a close reason has 123 bytes). */
function quote(name: string): string {
  return JSON.stringify(name.slice(0, 30));
}

function invalid(message: string): AppError {
  return new AppError('invalid_input', message);
}
