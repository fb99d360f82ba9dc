import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { command, earshot, startEarshot } from '../../helpers/cli.ts';
import { helpOf } from '../../helpers/command-help.ts';
import { countingStt, openServer, prepareData } from '../../helpers/services.ts';

const RECORDING = join(import.meta.dirname, '../../fixtures/tomorrow.wav');

async function tempDir(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-cli-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

test.serial('every command explains itself, with an example', async t => {
  const commands = [
    'serve',
    'setup',
    'bridge',
    'demo',
    'stream',
    'user',
    'user add',
    'user list',
    'user password',
    'user sign-out',
    'system',
    'system rotate-keys',
    'token',
    'key',
    'key create',
    'key list',
    'key rotate',
    'key revoke',
    'status',
    'models',
    'models list',
    'models pull',
    'models remove',
    'move',
  ];
  for (const name of commands) {
    const help = helpOf(name.split(' '));
    t.regex(help, new RegExp(`^Usage: earshot ${name}`));
    t.regex(help, new RegExp(`\\nExample: earshot ${name}`));
  }
  const { code, stdout, stderr } = await earshot(['key', 'create', '--help']);
  t.deepEqual([code, stderr], [0, '']);
  t.is(stdout, helpOf(['key', 'create']).replaceAll(/(?<=Usage: |Example: )earshot/g, 'npx earshot'));
});

test.serial('without a command it lists the commands', async t => {
  const { code, stdout } = await earshot([]);
  t.is(code, 0);
  for (const name of ['serve', 'bridge', 'demo', 'stream', 'user', 'token', 'key'])
    t.regex(stdout, new RegExp(`^  ${name} `, 'm'));
});

test.serial('a usage error is one line on standard error with instructions, and status 2', async t => {
  const dir = await tempDir(t);
  const slips: [string[], RegExp][] = [
    [['sevre'], /unknown command 'sevre'.*serve/],
    [['user'], /a command is missing; --help/],
    [['user', 'lst'], /unknown command 'lst'.*list/],
    [['user', 'add'], /missing required argument 'name'/],
    [['token', 'ada', 'eve'], /too many arguments/],
    [['key', 'ada'], /--scopes/],
    [['stream', RECORDING, '--speed', 'fast'], /--speed.*'fast'.*number above 0/],
    [['stream', RECORDING, '--codec', 'mp3'], /--codec.*'mp3'.*pcm16, pcm8, opus/],
    [['stream', RECORDING, '--codec', 'aac'], /no encoder for AAC here.*lc3_fs1030/],
    [['stream', RECORDING, '--conversation-timeout', '1'], /2 to 14400/],
    [['user', 'list', '--jsn'], /unknown option '--jsn'.*--json/],
  ];
  const ran = await Promise.all(slips.map(([args]) => command(args, { EARSHOT_DATA_DIR: dir })));
  ran[0] = await earshot(slips[0]?.[0] ?? []); // as the status of a process
  for (const [index, { code, stdout, stderr }] of ran.entries()) {
    t.is(code, 2, stderr);
    t.is(stdout, '');
    t.regex(stderr, /^error: [^\n]+\n$/);
    t.regex(stderr, slips[index]?.[1] ?? /^$/);
  }
});

test.serial('a failure is one line on standard error, and status 1', async t => {
  const dir = await tempDir(t);
  await prepareData(dir);
  await writeFile(join(dir, 'no.wav'), 'this is text');
  const failures: [string[], RegExp][] = [
    [['token', 'eve'], /no user "eve".*earshot user add/],
    [['user', 'add', ' '], /^error: user\.add: name: /],
    [['--config', join(dir, 'none.yaml'), 'user', 'list'], /there is no file .*none\.yaml/],
    [['stream', join(dir, 'none.wav')], /none\.wav: there is no such file/],
    [['stream', join(dir, 'no.wav')], /no\.wav: .*ffmpeg/],
    [['stream', RECORDING], /no server runs on .*earshot serve/],
    [['stream', RECORDING, '--url', 'ws://127.0.0.1:9', '--key', 'k'], /127\.0\.0\.1:9: nothing listens/],
    [['stream', RECORDING, '--url', 'ws://127.0.0.1:9'], /--url needs --key/],
  ];
  const ran = await Promise.all(failures.map(([args]) => command(args, { EARSHOT_DATA_DIR: dir })));
  ran[0] = await earshot(failures[0]?.[0] ?? [], { EARSHOT_DATA_DIR: dir });
  for (const [index, { code, stdout, stderr }] of ran.entries()) {
    t.is(code, 1, stderr);
    t.is(stdout, '');
    t.regex(stderr, /^error: [^\n]+\n$/);
    t.regex(stderr, failures[index]?.[1] ?? /^$/);
  }
  const { stderr } = await earshot(['user', 'list'], { EARSHOT_PORT: 'x', EARSHOT_LOG__LEVL: 'y' });
  t.regex(stderr, /^error: [^\n]*EARSHOT_LOG__LEVEL[^\n]*port[^\n]*\n$/);
});

test.serial('accounts and their credentials can be created while no server runs', async t => {
  const dir = await tempDir(t);
  await prepareData(dir);
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(['--data-dir', dir, ...args, '--json']);
    t.is(stderr, '');
    t.is(code, 0);
    t.regex(stdout, /^[^\n]+\n$/);
    return JSON.parse(stdout);
  };
  const ada = await run('user', 'add', 'ada');
  t.is(ada.name, 'ada');
  t.is((await run('user', 'list')).users[0].id, ada.id);
  t.regex((await run('token', 'ada')).token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  const key = await run('key', 'ada', '--scopes', 'listen,conversations:read', '--name', 'pendant');
  t.regex(key.key, /^omi_dev_[0-9a-f]{32}$/);
  t.deepEqual(key.scopes, ['listen', 'conversations:read']);
  const status = await run('status');
  t.is(status.url, null);
  t.deepEqual(status.users, ['ada']);
  t.is((await stat(dir)).mode & 0o077, 0);
});

test.serial('while a server runs, the commands go through it', async t => {
  const instance = await openServer(t, countingStt());
  const run = (...args: string[]) => command(['--data-dir', instance.dataDir, ...args]);
  t.regex((await run('user', 'add', 'grace')).stdout, /^Added grace \(/);
  t.true((await instance.app.commands['user.list']({})).some(({ name }) => name === 'grace'));
  const taken = await run('user', 'add', 'grace');
  t.is(taken.code, 1);
  t.regex(taken.stderr, /^error: .*"grace" already/);

  const { stdout: key } = await run('key', 'grace', '--scopes', 'conversations:read');
  const response = await fetch(`${instance.url}/v1/dev/user/conversations`, {
    headers: { authorization: `Bearer ${key.trim()}` },
  });
  t.is(response.status, 200);
  const { stdout } = await run('status');
  t.true(stdout.includes(instance.url));
  t.regex(stdout, /✓ speech recognition: counting: Counts/);

  const [listed] = JSON.parse((await run('key', 'list', 'grace', '--json')).stdout).keys;
  t.like(listed, { hint: `${key.slice(0, 12)}...${key.trim().slice(-4)}`, scopes: ['conversations:read'] });
  t.regex(listed.lastUsedAt, /^\d{4}-/);
  const ask = async (raw: string) =>
    (await fetch(`${instance.url}/v1/dev/key`, { headers: { authorization: `Bearer ${raw.trim()}` } }))
      .status;
  const { stdout: rotated } = await run('key', 'rotate', 'grace', listed.id);
  t.deepEqual([await ask(key), await ask(rotated)], [401, 200]);
  t.is((await run('key', 'revoke', 'grace', listed.id)).stdout, `Revoked ${listed.name} (${listed.id}).\n`);
  t.is(await ask(rotated), 401);
  t.regex((await run('key', 'list', 'grace')).stdout, /no key yet: .*earshot key grace/);
  t.regex(
    (await run('key', 'revoke', 'grace', listed.id)).stderr,
    /^error: There is no key "[0-9a-f-]+", nor any other\n$/,
  );

  const second = await earshot(['serve', '--data-dir', instance.dataDir], { EARSHOT_PORT: '0' });
  t.is(second.code, 1);
  t.regex(second.stderr, /error: .*already running/);
});

test.serial('stream sends a recording and prints the result', async t => {
  const instance = await openServer(t, countingStt());
  const stream = (...args: string[]) =>
    command(['stream', RECORDING, '--data-dir', instance.dataDir, '--speed', '20', ...args]);
  const [told, opus, waited] = await Promise.all([
    stream('--finish'),
    stream('--finish', '--json', '--codec', 'opus_fs320', '--key', instance.key),
    stream('--json', '--conversation-timeout', '2', '--user', 'owner'),
  ]);
  t.is(told.code, 0, told.stderr);
  t.regex(told.stdout, /^Recognised by counting\.\n0:00 {2}SPEAKER_00 {2}\S/);
  t.regex(told.stdout, /\nThe conversation has ended\.\n/);
  for (const { code, stdout, stderr } of [opus, waited]) {
    t.is(code, 0, stderr);
    t.is(stderr, '');
    const outcome = JSON.parse(stdout);
    t.true(outcome.segments.length > 0);
    t.is(outcome.conversations.length, 1);
    const { status, body } = await instance.get(`/v1/dev/user/conversations/${outcome.conversations[0].id}`);
    t.is(status, 200);
    t.like(body, { id: outcome.conversations[0].id, structured: { title: outcome.conversations[0].title } });
  }
});

test.serial('stream reports when nothing was recognised, and when it is refused', async t => {
  const instance = await openServer(t, countingStt());
  const silent = join(await tempDir(t), 'silence.wav');
  const wav = Buffer.from(await readFile(RECORDING));
  await writeFile(silent, wav.fill(0, 44));
  const heard = await command([
    'stream',
    silent,
    '--data-dir',
    instance.dataDir,
    '--speed',
    '50',
    '--finish',
  ]);
  t.is(heard.code, 0, heard.stderr);
  t.regex(heard.stdout, /No speech was heard\.\n$/);

  const { key } = await instance.app.commands.key({ user: 'owner', scopes: ['memories:read'] });
  const refused = await command(['stream', RECORDING, '--data-dir', instance.dataDir, '--key', key]);
  t.is(refused.code, 1);
  t.regex(refused.stderr, /^error: .*403.*listen\n$/);
});

test.serial('bridge reports its events, with a key from the server, and stops at a signal', async t => {
  const instance = await openServer(t, countingStt());
  const child = startEarshot(['bridge', '--data-dir', instance.dataDir, '--simulate', RECORDING, '--json'], {
    EARSHOT_PORT: new URL(instance.url).port,
  });
  t.teardown(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout ?? t.fail() })) {
    if (JSON.parse(line).event === 'conversation_session') break;
  }
  child.kill('SIGINT');
  t.deepEqual(await exited, [0, null]);
});

test.serial('serve stops at a signal, with status 0', async t => {
  const dir = await tempDir(t);
  const child = startEarshot(['serve', '--data-dir', dir], { EARSHOT_PORT: '0', EARSHOT_STT: '[]' });
  const exited = once(child, 'exit');
  for await (const chunk of child.stderr ?? []) if (/listening on http/.test(String(chunk))) break;
  child.kill('SIGTERM');
  t.deepEqual(await exited, [0, null]);
});

test.serial(
  'a plugin that cannot start is logged with the command that helps, as it is typed here',
  async t => {
    const dir = await tempDir(t);
    const child = startEarshot(['serve', '--data-dir', dir], {
      EARSHOT_PORT: '0',
      EARSHOT_STT: 'sherpa-onnx',
    });
    const exited = once(child, 'exit');
    let log = '';
    for await (const chunk of child.stderr ?? []) {
      log += chunk;
      if (/listening on http/.test(log)) break;
    }
    child.kill('SIGTERM');
    await exited;
    t.regex(
      log,
      /plugin is degraded[\s\S]*fetch the model with: (npx earshot|node \S+main\.mjs) models pull/,
    );
    t.notRegex(log, /with: earshot models/);
  },
);
