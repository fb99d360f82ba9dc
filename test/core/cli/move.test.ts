import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { command } from '../../helpers/cli.ts';
import { openServer, prepareData } from '../../helpers/services.ts';

interface Places {
  oldDir: string;
  newDir: string;
  /** The configuration that names the new directory. */
  config: string;
}

/** Two data directories, the old one with an account. */
async function places(t: ExecutionContext): Promise<Places> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-move-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const [oldDir, newDir, config] = ['old', 'new', 'new.yaml'].map(name => join(dir, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(config, `dataDir: ${newDir}\n`);
  await prepareData(oldDir);
  await run(t, 'user', 'add', 'ada', '--data-dir', oldDir);
  return { oldDir, newDir, config };
}

async function run(t: ExecutionContext, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args);
  t.deepEqual([code, stderr], [0, ''], stderr);
  return stdout;
}

async function refused(t: ExecutionContext, { oldDir, config }: Places, message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await command(['move', '--to', config, '--data-dir', oldDir]);
  t.deepEqual([code, stdout], [1, '']);
  t.regex(stderr, /^error: [^\n]+\n$/);
  t.regex(stderr, message);
}

async function put(...path: string[]): Promise<void> {
  const file = join(...path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, `this is ${path.slice(1).join('/')}`);
}

async function signingKeyIn(dataDir: string): Promise<string> {
  const [name = ''] = await readdir(join(dataDir, 'plugins', 'local'));
  return join('plugins', 'local', name);
}

test.serial('accounts, keys and tokens are valid after a move, and files on disk are listed', async t => {
  const { oldDir, newDir, config } = await places(t);
  const token = (await run(t, 'token', 'ada', '--data-dir', oldDir)).trim();
  const key = (await run(t, 'key', 'ada', '--scopes', 'conversations:read', '--data-dir', oldDir)).trim();
  await put(oldDir, 'plugins/sherpa-onnx/models/en/tokens.txt');
  await put(oldDir, 'bridge/spool/1.log');
  await put(oldDir, 'backups/earshot-1.db');

  const words = await run(t, 'move', '--to', config, '--data-dir', oldDir);
  t.regex(
    words,
    /^Copied the database .*old\/earshot\.db to the database .*new\/earshot\.db: 2 rows, read back/,
  );
  t.regex(words, /\ntable +copied +compared\n/);
  const rows = words.split('\n').filter(line => / \d+ +\d+$/.test(line));
  t.is(new Set(rows.map(({ length }) => length)).size, 1, 'columns are aligned');
  t.regex(words, /\nusers +1 +1\n/);
  t.regex(words, /\nalso copied +plugins\/local\/signing-key-\d+\.pem\n/);
  t.regex(words, /\nalso copied +plugins\/sherpa-onnx\/models\/en\/tokens\.txt\n/);
  t.regex(words, /\nnot copied +bridge: .*audio/);
  t.regex(words, /\nnot copied +backups: /);
  t.true(words.includes(`npx earshot serve --config ${config}`));
  t.regex(words, /keep it until/);

  const pem = await signingKeyIn(oldDir);
  t.is(await readFile(join(newDir, pem), 'utf8'), await readFile(join(oldDir, pem), 'utf8'));
  t.is((await stat(join(newDir, pem))).mode & 0o777, 0o600);
  t.is((await stat(join(newDir, 'plugins', 'local'))).mode & 0o777, 0o700);
  t.false(existsSync(join(newDir, 'bridge')) || existsSync(join(newDir, 'backups')));
  const instance = await openServer(t, { dataDir: newDir, stt: [] });
  for (const credential of [token, key]) {
    const response = await fetch(`${instance.url}/v1/dev/user/conversations`, {
      headers: { Authorization: `Bearer ${credential}` },
    });
    t.is(response.status, 200);
  }
});

test.serial(
  'another file in the same data directory needs nothing else; --json reports all of it',
  async t => {
    const { oldDir, config } = await places(t);
    await writeFile(config, `dataDir: ${oldDir}\nplugins:\n  sql:\n    file: other.db\n`);
    const answer = JSON.parse(await run(t, 'move', '--to', config, '--json', '--data-dir', oldDir));
    t.like(answer, {
      from: `database ${join(oldDir, 'earshot.db')}`,
      to: `database ${join(oldDir, 'other.db')}`,
      config,
      replaced: [],
      files: { stays: true, carried: [], left: [] },
    });
    t.deepEqual(
      answer.tables.find(({ table }: { table: string }) => table === 'users'),
      { table: 'users', copied: 1, compared: 1 },
    );
    t.regex(await run(t, 'user', 'list', '--config', config), / ada\n/);
    await refused(
      t,
      { oldDir, newDir: oldDir, config },
      /other\.db is not empty: it has rows in .*users \(1\)/,
    );
    t.regex(await run(t, 'user', 'list', '--data-dir', oldDir), / ada\n/, 'what is moved stays where it was');
  },
);

test.serial('a server on either side has to be stopped first', async t => {
  const instance = await openServer(t, { stt: [] });
  const here = await places(t);
  await writeFile(here.config, `dataDir: ${instance.dataDir}\n`);
  await refused(t, here, /A server runs on .*; stop it first/);
  await refused(t, { ...here, oldDir: instance.dataDir }, /A server runs on .*; stop it first/);
});

test.serial('a signing key is not replaced by another one', async t => {
  const here = await places(t);
  await run(t, 'token', 'ada', '--data-dir', here.oldDir);
  await put(here.newDir, await signingKeyIn(here.oldDir));
  await refused(t, here, /new\/plugins\/local\/signing-key-\d+\.pem exists, and differs from/);
  t.false(existsSync(join(here.newDir, 'earshot.db')));
});

test.serial('a single configuration, or a missing one, is rejected as a target', async t => {
  const here = await places(t);
  await prepareData(here.newDir);
  await refused(
    t,
    { ...here, oldDir: here.newDir },
    /Both configurations mean the database .*new\/earshot\.db/,
  );
  await refused(t, { ...here, config: join(here.newDir, 'none.yaml') }, /there is no file .*none\.yaml/);
  const { code, stderr } = await command(['move']);
  t.is(code, 2);
  t.regex(stderr, /^error: .*--to/);
});
