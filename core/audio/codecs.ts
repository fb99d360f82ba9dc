import { AppError } from '../runtime/errors.ts';
import { createAacDecoder } from './aac.ts';
import { createLc3Decoder } from './lc3.ts';
import { createOpusDecoder } from './opus.ts';
import { createPcm8Decoder, createPcm16Decoder } from './raw-pcm.ts';

/** How the audio of one stream is coded. */
export interface AudioFormat {
  codec: Codec;
  /** In Hz. */
  sampleRate: number;
  channels: 1 | 2;
}

export interface Decoded {
  pcm: Int16Array;
  /** How many broken packets the message had. */
  bad: number;
}

/** Client messages in, 16 kHz mono out; keeps state from message to message. */
export interface Decoder {
  /**
   * Decodes one message, one at a time. Whatever the bytes: what is broken becomes silence of the same length, and is
   * counted. Throws only when closed.
   */
  decode(message: Uint8Array): Decoded | Promise<Decoded>;
  /**
   * Makes up sound for so many samples that were lost before the next message, from what came before; silence where
   * nothing did, and where the loss is long.
   */
  conceal(samples: number): Int16Array;
  /** A part of a sample waits for the next message: a fresh decoder could not go on from here. Absent: never. */
  readonly carries?: boolean;
  /** Forgets all that came before, the part of a sample included. Absent: a message is always whole. */
  reset?(): void;
  /** Frees its memory; not while it decodes. */
  close(): void;
}

interface CodecKind {
  /** Rates that it may have, in Hz: the inclusive range, or the list. */
  rates: readonly number[] | { from: number; to: number };
  /** Sample rate if none is given. */
  defaultRate: number;
  /** Absent: 2. */
  maxChannels?: 1 | 2;
  open(format: AudioFormat): Promise<Decoder>;
}

/** Opus decodes to any of its rates, whatever the sender's was. */
const OPUS_RATES = [8000, 12_000, 16_000, 24_000, 48_000];
/** LC3 as wearables send it. */
const LC3 = { rates: [16_000], defaultRate: 16_000, maxChannels: 1 } as const;
const LC3_FS1030_BYTES = 30;

/** Everything that may come in. */
const CODECS = {
  pcm8: { rates: { from: 8000, to: 48_000 }, defaultRate: 8000, open: createPcm8Decoder },
  pcm16: { rates: { from: 8000, to: 48_000 }, defaultRate: 16_000, open: createPcm16Decoder },
  opus: { rates: OPUS_RATES, defaultRate: 16_000, open: async () => createOpusDecoder(10) },
  opus_fs320: { rates: OPUS_RATES, defaultRate: 16_000, open: async () => createOpusDecoder(20) },
  // What the client says is only a guess: its packets say their own rate.
  aac: { rates: { from: 8000, to: 96_000 }, defaultRate: 16_000, open: createAacDecoder },
  lc3: { ...LC3, open: () => createLc3Decoder() },
  lc3_fs1030: { ...LC3, open: () => createLc3Decoder(LC3_FS1030_BYTES) },
} as const satisfies Record<string, CodecKind>;
export type Codec = keyof typeof CODECS;

/**
 * Checks what a client says of its audio. Throws `invalid_input` naming what is wrong and what is allowed.
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

/** A decoder for one stream; the caller closes it. Throws `unsupported_media` where the codec is not installed. */
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

/** A name that a client sent, short enough for a message (a close reason has 123 bytes). */
function quote(name: string): string {
  return JSON.stringify(name.slice(0, 30));
}

function invalid(message: string): AppError {
  return new AppError('invalid_input', message);
}
