import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from '../../../core/contract/plugin.ts';

/** Built by Vite from `app/`. */
const BUILT = join(import.meta.dirname, 'built');

/** First path segments of the page's views; `app/main.tsx` has a view for each. */
const VIEWS = [
  'conversations',
  'tasks',
  'memories',
  'people',
  'places',
  'goals',
  'statistics',
  'ask',
  'more',
  'connections',
  'notifications',
  'settings',
  'system',
  'welcome',
];

/** The web app served at the server's address. */
export default {
  name: 'dashboard',
  api: 1,
  title: 'Web page to read, search and correct what was said',
  setup({ error }) {
    if (!existsSync(join(BUILT, 'index.html')))
      throw error('config_error', 'The dashboard is not built; build it: npm run build:dashboard');
    return { page: { path: '/', directory: BUILT, views: VIEWS, immutable: 'assets' } };
  },
} satisfies Plugin;
