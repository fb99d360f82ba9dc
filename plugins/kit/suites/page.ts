/** Requirements for every page, as plain checks that throw. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Page } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface PageSubject {
  page: Page;
}

export type PageCheck = SuiteCheck<PageSubject>;

export const pageChecks: readonly PageCheck[] = [
  { title: 'has a path of its own', run: hasPath },
  { title: 'has an index.html in its directory', isBasis: true, run: hasIndex },
  { title: 'has nothing inline that the policy forbids', run: isStrict },
  { title: 'loads nothing from other hosts', run: isSelfContained },
];

async function hasPath({ page }: PageSubject): Promise<void> {
  assert.match(page.path, /^\/([a-z0-9-]{1,50}\/)?$/, `${page.path} is neither / nor /name/`);
  for (const view of page.views ?? [])
    assert.match(
      view,
      /^[a-z][a-z-]{1,49}$/,
      `the view ${view} does not consist of lower-case letters and dashes`,
    );
}

async function hasIndex({ page }: PageSubject): Promise<void> {
  assert.ok(isAbsolute(page.directory), `${page.directory} is not an absolute path`);
  assert.ok(existsSync(join(page.directory, 'index.html')), `${page.directory} has no index.html`);
}

async function isStrict({ page }: PageSubject): Promise<void> {
  for (const [name, html] of markupOf(page)) {
    for (const [tag] of html.matchAll(/<script\b[^<>]*>/gi))
      assert.match(tag, /\bsrc=/i, `${name} has a script without src: ${tag}`);
    assert.doesNotMatch(html, /<style\b/i, `${name} has a style element: put the styles into a file`);
    for (const [tag] of html.matchAll(/<[a-z][^<>]*>/gi))
      assert.doesNotMatch(tag, /\s(style|on[a-z]+)=/i, `${name} has a style or on… attribute: ${tag}`);
  }
}

async function isSelfContained({ page }: PageSubject): Promise<void> {
  for (const [name, html] of markupOf(page))
    assert.doesNotMatch(
      html,
      /\b(src|href)=["']?(https?:)?\/\//i,
      `${name} refers to a file on another host`,
    );
}

function markupOf({ directory }: Page): [name: string, html: string][] {
  return globSync('**/*.html', { cwd: directory }).map(name => [
    name,
    readFileSync(join(directory, name), 'utf8'),
  ]);
}
