import { readFile } from 'node:fs/promises';
import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Plugin } from '../../../core/contract/plugin.ts';
import { meaningOf, wordsOf } from './meaning.ts';
import { DIMENSIONS, readTable, type WordTable } from './table.ts';

const TABLE = new URL('english.bin', import.meta.url);
/** Characters read of each text. */
const MAX_CHARACTERS = 4000;
/** Words processed at a stretch, about a millisecond (5 to 7 µs each), before other work gets its turn. */
const WORDS_AT_ONCE = 200;

export default {
  name: 'words',
  api: 1,
  title: 'Meaning of English words, offline: 100,000 words, no model to fetch',
  setup({ error }) {
    let loading: Promise<WordTable> | null = null;

    /** Loaded at first use, so that it costs nothing where nobody searches. */
    function table(): Promise<WordTable> {
      loading ??= readFile(TABLE)
        .then(readTable)
        .catch(cause => {
          loading = null;
          throw error('config_error', 'words: its table cannot be read; install Earshot again', { cause });
        });
      return loading;
    }

    async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
      const known = await table();
      const vectors: Float32Array[] = [];
      let sinceTurn = 0;
      for (const text of texts) {
        signal.throwIfAborted();
        const words = wordsOf(text.slice(0, MAX_CHARACTERS));
        vectors.push(meaningOf(words, known));
        sinceTurn += words.length;
        if (sinceTurn < WORDS_AT_ONCE) continue;
        await othersTurn();
        sinceTurn = 0;
      }
      return vectors;
    }

    return { embedder: { id: 'words-en-1', dimensions: DIMENSIONS, embed } };
  },
} satisfies Plugin;
