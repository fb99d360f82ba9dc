import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { z } from 'zod';
import { ConfigError, loadConfig } from '../../../config/load.ts';
import { withoutForeignPlugins } from '../../../core/plugin-host/safe-mode.ts';
import { earshot, startEarshot } from '../../helpers/cli.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { freePort } from '../../helpers/free-port.ts';

function configured(overrides: Parameters<typeof loadConfig>[0]['overrides'] = {}) {
  return loadConfig({ env: {}, cwd: '/', overrides: { dataDir: '/nowhere', ...overrides } });
}

const FOREIGN = { mine: { use: './mine.ts' }, words: {} };

test('Third-party plugins are removed from every choice, and defaults replace them', t => {
  const given = configured({
    plugins: FOREIGN,
    stt: ['mine', 'pocketsphinx'],
    understanding: ['mine'],
    embedder: 'mine',
    notify: ['log'],
    llm: [],
  });
  const { loaded, leftOut } = withoutForeignPlugins(given);
  t.deepEqual(leftOut, ['mine']);
  const { stt, understanding, embedder, notify, llm, plugins } = loaded.config;
  const usual = configured().config;
  t.deepEqual(
    { stt, understanding, embedder, notify, llm, plugins },
    {
      ...{ stt: ['pocketsphinx'], understanding: usual.understanding, embedder: usual.embedder },
      ...{ notify: ['log'], llm: [], plugins: { words: {} } },
    },
  );
  t.deepEqual(
    ['embedder', 'notify', 'dataDir'].map(key => loaded.isSet(key)),
    [false, true, true],
  );
});

test('Options that were set on the page are left out', async t => {
  const dataDir = await temporaryDirectory(t);
  await writeFile(join(dataDir, 'settings.yaml'), 'plugins: { words: { size: 9 } }\n');
  const Options = z.object({ size: z.number().default(1) });
  const given = configured({ dataDir });
  const { loaded } = withoutForeignPlugins(given);
  t.deepEqual(given.pluginOptions('words', Options).values, { size: 9 });
  t.deepEqual(loaded.pluginOptions('words', Options).values, { size: 1 });
});

test('Two passes need both recognisers, and a custom storage cannot be left out', t => {
  const passes = (stt: { live: string; final: string }) =>
    withoutForeignPlugins(configured({ plugins: FOREIGN, stt })).loaded.config.stt;
  t.deepEqual(passes({ live: 'mine', final: 'pocketsphinx' }), ['pocketsphinx']);
  t.deepEqual(passes({ live: 'pocketsphinx', final: 'whisper' }), { live: 'pocketsphinx', final: 'whisper' });
  const own = configured({ plugins: FOREIGN, storage: 'mine' });
  t.throws(() => withoutForeignPlugins(own), {
    instanceOf: ConfigError,
    message: /storage.*holds the data/s,
  });
});

test('A server that a plugin prevents from starting starts in safe mode, and reports what it left out', async t => {
  const folder = await temporaryDirectory(t);
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  await writeFile(join(folder, 'mine.mjs'), 'throw new Error("no");\n');
  const file = join(folder, 'earshot.yaml');
  const port = await freePort();
  await writeFile(
    file,
    `port: ${port}\ndataDir: ${join(folder, 'data')}\nstt: [mine]\nplugins:\n  mine:\n    use: ./mine.mjs\n`,
  );
  const refused = await earshot(['--config', file, 'serve'], {});
  t.not(refused.code, 0);
  t.regex(refused.stderr, /mine/);
  const child = startEarshot(['--config', file, 'serve', '--safe-mode'], {});
  t.teardown(() => child.kill('SIGKILL'));
  let started = '';
  child.stderr?.setEncoding('utf8').on('data', text => {
    started += text;
  });
  await eventually(() => started.includes(`:${port}`) || child.exitCode !== null);
  t.regex(started, /Safe mode, without plugins of third parties: mine left out/);
  t.regex(started, new RegExp(`127\\.0\\.0\\.1:${port}`));
});
