/** Writes the generated pages of docs/: `npm run docs`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderPages } from './pages.ts';

const ROOT = join(import.meta.dirname, '../..');

for (const [path, text] of Object.entries(await renderPages())) await writeFile(join(ROOT, path), text);
