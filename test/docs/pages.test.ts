import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { renderPages } from './pages.ts';

const ROOT = join(import.meta.dirname, '../..');

test('the generated pages are current: npm run docs writes them', async t => {
  for (const [path, text] of Object.entries(await renderPages()))
    t.is(await readFile(join(ROOT, path), 'utf8'), text, path);
});
