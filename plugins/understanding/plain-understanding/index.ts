import type { Plugin, Understanding } from '../../../core/contract/plugin.ts';

/** Loads the tables of words when the first conversation ends, so that a server starts without them. */
const understand: Understanding['understand'] = async (...asked) => {
  const rules = await import('./understand.ts');
  return rules.understand(...asked);
};

export default {
  name: 'plain-understanding',
  api: 1,
  title: 'Titles, overviews, categories, tasks and appointments by rules, offline and without a model',
  setup: () => ({ understanding: { understand } }),
} satisfies Plugin;
