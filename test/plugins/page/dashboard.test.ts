import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { buildDashboard } from '../../../config/setup/dashboard.mjs';
import type { Capabilities, PluginContext } from '../../../core/contract/plugin.ts';
import { CATEGORY_EMOJI } from '../../../core/domain/conversations/categories.ts';
import { pageChecks } from '../../../plugins/kit/suites/page.ts';
import { de } from '../../../plugins/page/dashboard/app/texts-de.ts';
import { en } from '../../../plugins/page/dashboard/app/texts-en.ts';
import dashboard from '../../../plugins/page/dashboard/index.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Maximum compressed bytes of JavaScript for the first view. */
const MAX_BYTES = 120 * 1024;

buildDashboard(ROOT, { say() {} });
const { page }: Capabilities = dashboard.setup({ error: Error } as unknown as PluginContext<never>);
if (!page) throw new Error('the dashboard gives no page');

for (const check of pageChecks)
  test(`the dashboard ${check.title}`, t => t.notThrowsAsync(check.run({ page })));

test('its scripts are small enough to load in a second', t => {
  const html = readFileSync(join(page.directory, 'index.html'), 'utf8');
  const named = [...html.matchAll(/(?:src|href)="\/(assets\/[\w.-]+\.js)"/g)].map(([, name = '']) => name);
  t.true(named.length > 0);
  const bytes = named.map(name => gzipSync(readFileSync(join(page.directory, name))).length);
  const sum = bytes.reduce((all, each) => all + each, 0);
  t.log(`${(sum / 1024).toFixed(1)} KiB`);
  t.true(sum <= MAX_BYTES, `${sum} bytes`);
});

test('no built script turns text into code or markup', t => {
  for (const name of globSync('**/*.js', { cwd: page.directory })) {
    const source = readFileSync(join(page.directory, name), 'utf8');
    t.notRegex(source, /\beval\(|new Function\b|document\.write\(|insertAdjacentHTML/, name);
  }
});

test('each category of conversations has a name in each language', t => {
  const categories = Object.keys(CATEGORY_EMOJI).sort();
  for (const texts of [en, de]) t.deepEqual(Object.keys(texts.categories).sort(), categories);
});
