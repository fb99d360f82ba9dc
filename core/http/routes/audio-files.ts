/** Parts of the routes that accept audio files. */
import { z } from 'zod';
import type { AudioFile } from '../../listen/recordings/decode.ts';
import { choice, integerWithin } from '../query.ts';
import type { Upload } from '../uploads.ts';

/** Format of a raw audio body, which has no header. */
export const RawAudio = z.object({
  sample_rate: integerWithin({ from: 8000, to: 48_000, absent: 16_000 }).describe(
    'Sample rate of raw PCM16, in Hz',
  ),
  channels: integerWithin({ from: 1, to: 2, absent: 1 }).describe('Channels of raw PCM16'),
  codec: choice(['pcm16', 'pcm8', 'opus']).describe(
    'Codec of a body without a header; opus: packets, each preceded by its length in four bytes (little-endian). Absent: pcm16',
  ),
});

/** Form field that holds the files. */
export const FILES = 'files';

/** Names a body without a header after its format. */
export function filesOf({ files, isRaw }: Upload, query: z.output<typeof RawAudio>): AudioFile[] {
  if (!isRaw) return files;
  const { codec = 'pcm16', sample_rate, channels } = query;
  return files.map(({ path }) => ({ path, name: `body_${codec}_${sample_rate}_${channels}.raw` }));
}
