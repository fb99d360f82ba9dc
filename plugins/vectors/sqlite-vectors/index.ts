import { extname, join } from 'node:path';
import type { Plugin } from '../../../core/contract/plugin.ts';
import { startThread } from './thread.ts';

interface Options {
  memoryMb: number;
}

const ENTRY = new URL(`./thread-main${extname(import.meta.filename)}`, import.meta.url);

export default {
  name: 'sqlite-vectors',
  api: 1,
  title: 'Vectors in a SQLite file of its own, searched on this machine',
  options: z =>
    z.strictObject({
      memoryMb: z.coerce
        .number()
        .int()
        .min(1)
        .max(3072)
        .default(256)
        .describe(
          'Memory for the vectors that were read last, in MB; four bytes for each dimension. What does not fit is read from the file each time',
        ),
    }),
  async setup(context) {
    const { ask } = await startThread(
      'sqlite-vectors',
      ENTRY,
      { file: join(context.dataDir, 'vectors.db'), cacheBytes: context.options.memoryMb * 2 ** 20 },
      context,
    );
    return {
      vectors: {
        upsert: (...args) => ask('upsert', args),
        search: (space, userId, vector, limit, signal) =>
          ask('search', [space, userId, vector, limit], signal),
        remove: (...args) => ask('remove', args),
        spaces: () => ask('spaces', []),
        drop: name => ask('drop', [name]),
      },
    };
  },
} satisfies Plugin<Options>;
