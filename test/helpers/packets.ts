/** Messages of `/v4/listen` in each codec, from a sound at 16 kHz mono. */
import { readFileSync } from 'node:fs';
import { encodeWav, parseWav } from '../../core/audio/pcm.ts';
import { packetsOf, type SentCodec } from '../../core/cli/stream/recording.ts';
import type { Sound } from './sound.ts';

/** Encodes as `earshot stream` does, without the silence at the end. */
export function messagesOf(sound: Sound, codec: SentCodec): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (const { bytes, isClosing } of packetsOf(parseWav(encodeWav(sound)), codec)) {
    if (!isClosing) messages.push(bytes);
  }
  return messages;
}

/** Returns the frames of `test/fixtures/<file>`, made with ffmpeg because there is no encoder here. */
export function adtsFrames(file: string): Uint8Array[] {
  const bytes = new Uint8Array(readFileSync(new URL(`../fixtures/${file}`, import.meta.url)));
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [high = 0, middle = 0, low = 0] = bytes.subarray(at + 3, at + 6);
    const length = ((high & 3) << 11) | (middle << 3) | (low >> 5);
    frames.push(bytes.subarray(at, at + length));
    at += length;
  }
  return frames;
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
