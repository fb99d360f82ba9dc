import type { ExecutionContext } from 'ava';
import type { Embedder, VectorIndex } from '../../core/contract/plugin.ts';
import words from '../../plugins/embedder/words/index.ts';
import sqliteVectors from '../../plugins/vectors/sqlite-vectors/index.ts';
import { contextOf } from '../plugins/stt/context.ts';
import { startIndex } from '../plugins/vectors/context.ts';
import { temporaryDirectory } from './domain.ts';

/** Opens the real embedder of words. */
export function openWords(): Embedder {
  return words.setup({ ...contextOf().context, options: undefined as never, dataDir: '' }).embedder; // the plugin uses neither
}

/** Opens a real index on a new file, stopped with the test. `stop` imitates its failure while in use. */
export async function openVectors(
  t: ExecutionContext,
): Promise<{ index: VectorIndex; stop(): Promise<void>; restart(): Promise<VectorIndex> }> {
  const dataDir = await temporaryDirectory(t);
  let running = await startIndex(sqliteVectors, dataDir);
  t.teardown(() => running.stop());
  return {
    index: running.index,
    stop: () => running.stop(),
    async restart() {
      running = await startIndex(sqliteVectors, dataDir);
      return running.index;
    },
  };
}
