import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import test from 'ava';
import { type Finding, findingsOf } from '../../../../core/cli/doctor/finding.ts';
import { render, summary } from '../../../../core/cli/doctor/report.ts';
import { earshot } from '../../../helpers/cli.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { countingStt, openServer } from '../../../helpers/services.ts';

const { good, note, doubt, bad } = findingsOf('Ground');
const FINDINGS = [
  good('one', 'all is well'),
  note('two', 'good to know'),
  doubt('three', 'it goes on for so long that it does not fit on a line of a usual terminal', 'a command'),
  bad(
    'four',
    '/a/path/that/is/never/to/be/broken/in/two/because/people/want/to/copy/it/from/here',
    'the way out',
  ),
];

test('for people, each finding is a line with a sign, followed by instructions', t => {
  const text = render(FINDINGS, { width: Number.POSITIVE_INFINITY, paint: (_, plain) => plain });
  t.is(
    text,
    `Ground
  ✓ one: all is well
  · two: good to know
  ! three: it goes on for so long that it does not fit on a line of a usual terminal
    → a command
  ✗ four: /a/path/that/is/never/to/be/broken/in/two/because/people/want/to/copy/it/from/here
    → the way out`,
  );
});

test('on a narrow terminal lines are wrapped between words', t => {
  const lines = render(FINDINGS, { width: 40, paint: (_, plain) => plain }).split('\n');
  t.true(lines.length > 7);
  for (const line of lines) t.true(line.length <= 40 || /^ *\S+$/.test(line), line);
  t.true(lines.some(line => line.includes('/copy/it/from/here')));
});

test('the last line is the most severe finding', t => {
  const plain = { width: 80, paint: (_: string, text: string) => text };
  t.is(summary(FINDINGS, plain), '1 to fix before Earshot works, 1 to check');
  t.is(summary(FINDINGS.slice(0, 3), plain), 'Earshot works; 1 to check');
  t.is(summary(FINDINGS.slice(0, 2), plain), 'Everything works');
});

interface Answer {
  ok: boolean;
  findings: Finding[];
}

test('with a running server the checks query it, and every problem has instructions', async t => {
  const server = await openServer(t, { stt: ['pocketsphinx'] });
  const { code, stdout, stderr } = await earshot(['doctor', '--json'], {
    EARSHOT_DATA_DIR: server.dataDir,
    EARSHOT_STT: 'pocketsphinx',
  });
  t.is(code, 0, stdout + stderr);
  const { ok, findings }: Answer = JSON.parse(stdout);
  t.true(ok);
  const groups = new Set(findings.map(({ group }) => group));
  t.deepEqual([...groups].sort(), [
    'Bluetooth',
    'Bridge',
    'Configuration',
    'Data directory',
    'Database',
    'Delivery',
    'Machine',
    'Meaning',
    'Server',
    'Speech',
  ]);
  t.like(
    findings.find(({ what }) => what === 'server'),
    { level: 'good' },
  );
  t.like(
    findings.find(({ what }) => what === 'schema'),
    { level: 'good' },
  );
  for (const { what, level, cure } of findings)
    t.is(cure !== null, level === 'bad' || level === 'doubt', what);
  t.is((await server.get('/v1/dev/user/conversations')).status, 200);
});

test('in a pipe there is neither colour nor wrapping; the exit status shows failures', async t => {
  const dir = await temporaryDirectory(t);
  const file = join(dir, 'earshot.yaml');
  await writeFile(file, `dataDir: ${join(dir, 'data')}\nport: 0\nstt: []\nstorage: nowhere\n`);
  const { code, stdout, stderr } = await earshot(['doctor', '--config', file], { NO_COLOR: undefined });
  t.is(code, 1);
  t.is(stdout, stripVTControlCharacters(stdout));
  t.regex(
    stdout,
    /^ {2}✗ database: there is no storage nowhere\n {4}→ correct storage: sql, or the name of a plugin of your own$/m,
  );
  t.regex(stdout, /\n\n1 to fix before Earshot works, \d to check\n$/);
  t.regex(stderr, /^error: 1 of \d+ checks failed\n$/);
});

test('every problem of the configuration is a finding', async t => {
  const dir = await temporaryDirectory(t);
  const file = join(dir, 'earshot.yaml');
  await writeFile(file, 'port: many\nhots: 127.0.0.1\n');
  const { code, stdout } = await earshot(['doctor', '--config', file, '--json']);
  t.is(code, 1);
  const { ok, findings }: Answer = JSON.parse(stdout);
  t.false(ok);
  t.is(findings.length, 2);
  for (const { level, cure, detail } of findings) {
    t.is(level, 'bad');
    t.regex(detail, /earshot\.yaml:[12]: /);
    t.regex(cure ?? '', /config\/example\.yaml/);
  }
});

test("so is every problem of a plugin's options, and a plugin that does not load", async t => {
  const dir = await temporaryDirectory(t);
  const { counting } = countingStt().plugins;
  const config = {
    dataDir: dir,
    port: 0,
    stt: [],
    plugins: { counting: { ...counting, speed: 3 }, acme: { use: './acme.mjs' } },
  };
  const file = join(dir, 'earshot.yaml');
  await writeFile(file, JSON.stringify(config));
  const { code, stdout } = await earshot(['doctor', '--config', file, '--json']);
  t.is(code, 1);
  const bad = (JSON.parse(stdout) as Answer).findings.filter(({ level }) => level === 'bad');
  t.regex(bad.map(({ detail }) => detail).join('\n'), /plugins\.counting\.speed is not a known key/);
  t.regex(bad.find(({ what }) => what === 'acme')?.cure ?? '', /earshot plugin check \/.*acme\.mjs/);
});

test('a plugin that ends the process does not end the doctor', async t => {
  const dir = await temporaryDirectory(t);
  await writeFile(join(dir, 'acme.mjs'), 'process.exit(7);');
  const file = join(dir, 'earshot.yaml');
  await writeFile(file, JSON.stringify({ dataDir: dir, plugins: { acme: { use: './acme.mjs' } } }));
  const { code, stdout } = await earshot(['doctor', '--config', file, '--json']);
  t.is(code, 1);
  const { findings }: Answer = JSON.parse(stdout);
  t.like(findings.at(-1), {
    what: 'examination',
    level: 'bad',
    cure: 'try the plugins that you added, one by one: earshot plugin check PATH',
  });
  t.regex(findings.at(-1)?.detail ?? '', /ended with status 7/);
});

test('a bundle for bug reports contains findings and configuration, but neither secrets nor transcripts', async t => {
  const folder = await temporaryDirectory(t);
  const server = await openServer(t, { stt: [] });
  const { token } = await server.app.commands.token({ user: 'owner' });
  await fetch(`${server.url}/v1/dev/user/memories`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ content: 'Marzipan' }),
  });
  const config = join(folder, 'earshot.yaml');
  await writeFile(
    config,
    `dataDir: ${server.dataDir}\nstt: []\nmetrics:\n  token: a-secret-of-the-operator\nplugins:\n  openai:\n    apiKey: sk-hidden\n`,
  );
  const file = join(folder, 'report.txt');
  const first = await earshot(['--config', config, 'doctor', '--bundle', file], {});
  t.regex(first.stderr, /report\.txt is for a bug report/);
  const text = await readFile(file, 'utf8');
  t.regex(text, /^Earshot \d.*, Node v24.*\n\n/);
  t.regex(text, /[✓·!✗] .*database/);
  t.regex(text, /Configuration\n.*stt: \[\]/s);
  for (const hidden of ['a-secret-of-the-operator', 'sk-hidden', 'Marzipan', token, server.key])
    t.false(text.includes(hidden), hidden);
  t.is((await stat(file)).mode & 0o777, 0o600);
  const again = await earshot(['--config', config, 'doctor', '--bundle', file], {});
  t.regex(again.stderr, /there already/);
});
