import type { AudioFormat } from './codecs.ts';
import { packetMs } from './opus.ts';

const LC3_FRAME_SAMPLES = 160;
const LC3_FS1030_BYTES = 30;
const AAC_FRAME_SAMPLES = 1024;
const ADTS_HEADER_BYTES = 7;

/**
 * Returns the samples of one channel in a message, at the stream's own rate, according to its packet headers, without
 * decoding. For PCM it may be a fraction: the rest of a sample is in the next message.
 */
export function samplesIn({ codec, sampleRate, channels }: AudioFormat, message: Uint8Array): number {
  switch (codec) {
    case 'pcm8':
      return message.length / channels;
    case 'pcm16':
      return message.length / channels / 2;
    case 'opus':
      return ((packetMs(message) ?? 10) * sampleRate) / 1000;
    case 'opus_fs320':
      return ((packetMs(message) ?? 20) * sampleRate) / 1000;
    case 'lc3':
      return LC3_FRAME_SAMPLES;
    case 'lc3_fs1030':
      return Math.ceil(message.length / LC3_FS1030_BYTES) * LC3_FRAME_SAMPLES;
    case 'aac':
      return adtsFrames(message) * AAC_FRAME_SAMPLES;
  }
}

function adtsFrames(message: Uint8Array): number {
  let frames = 0;
  for (let at = 0; at + ADTS_HEADER_BYTES <= message.length; ) {
    const byte = (offset: number) => message[at + offset] ?? 0;
    if (byte(0) !== 0xff || (byte(1) & 0xf6) !== 0xf0) return frames;
    const length = ((byte(3) & 3) << 11) | (byte(4) << 3) | (byte(5) >> 5);
    frames += 1 + (byte(6) & 3);
    at += Math.max(length, ADTS_HEADER_BYTES);
  }
  return frames;
}
