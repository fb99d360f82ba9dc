import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pageChecks } from '../../../../plugins/kit/suites/page.ts';

async function failures(t: ExecutionContext, html: string, path = '/') {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-page-'));
  t.teardown(() => rm(directory, { recursive: true }));
  if (html !== '') await writeFile(join(directory, 'index.html'), html);
  const failed: string[] = [];
  for (const check of pageChecks)
    await check.run({ page: { path, directory } }).catch(() => failed.push(check.title));
  return failed;
}

test('a page that keeps to the policy passes', async t => {
  t.deepEqual(await failures(t, '<!doctype html><script type="module" src="/a.js"></script>'), []);
});

test('content that violates the policy in a browser is detected', async t => {
  const inline = ['has nothing inline that the policy forbids'];
  t.deepEqual(await failures(t, '<script>alert(1)</script>'), inline);
  t.deepEqual(await failures(t, '<style>a{}</style>'), inline);
  t.deepEqual(await failures(t, '<p style="color:red">'), inline);
  t.deepEqual(await failures(t, '<p onclick="go()">'), inline);
  t.deepEqual(await failures(t, '<script src="https://cdn.example/a.js"></script>'), [
    'loads nothing from other hosts',
  ]);
  t.deepEqual(await failures(t, ''), ['has an index.html in its directory']);
  t.deepEqual(await failures(t, '<p>', '/Page'), ['has a path of its own']);
});
