import type { AudioFormat } from '../../audio/codecs.ts';

/** Format of a file without a header. */
export interface RawKind extends AudioFormat {
  codec: 'pcm8' | 'pcm16' | 'opus';
}

const RATES: ReadonlySet<number> = new Set([8000, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000]);
const MAX_NAME_CHARS = 300;

/**
 * Reads the format from a file name as apps of wearables write it: `audio_opus_16000_1_fs320_1767225600.bin`. Each Opus
 * packet is preceded by its length. Null: the name has no codec.
 */
export function rawKindOf(name: string): RawKind | null {
  const words = wordsOf(name);
  const codec = CODECS.find(([word]) =>
    words.some(each => each === word || each.startsWith(`${word}fs`)),
  )?.[1];
  if (!codec) return null;
  const sampleRate = words.map(Number).find(word => RATES.has(word)) ?? (codec === 'pcm8' ? 8000 : 16_000);
  const rateAt = words.indexOf(String(sampleRate));
  const channels = rateAt >= 0 && words[rateAt + 1] === '2' ? 2 : 1;
  return { codec, sampleRate, channels };
}
const CODECS = [
  ['pcm8', 'pcm8'],
  ['pcm16', 'pcm16'],
  ['pcm', 'pcm16'],
  ['opus', 'opus'],
] as const;

function wordsOf(name: string): string[] {
  return name
    .slice(-MAX_NAME_CHARS)
    .toLowerCase()
    .split(/[^a-z0-9]/);
}
