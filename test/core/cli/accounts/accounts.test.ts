import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import { APP, accountOf } from '../../../helpers/accounts.ts';
import { command, MAIN, plainEnvironment } from '../../../helpers/cli.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { buildServer, countingStt, openServer } from '../../../helpers/services.ts';
import { speech } from '../../../helpers/sound.ts';
import { openDatabase } from '../../../helpers/sqlite.ts';

const PASSWORD = 'correct horse battery';

/** Runs a command with piped input. */
const piped = (input: string, ...args: string[]) => command(args, {}, input);

async function start(t: ExecutionContext) {
  const { url, dataDir } = await openServer(t, countingStt());
  const signIn = async (password: string) => {
    const response = await fetch(`${url}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'owner', password }),
    });
    const body = (await response.json()) as { token: string };
    return { status: response.status, token: body.token };
  };
  const use = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/v1/dev/user/folders`, { headers });
    await response.body?.cancel();
    return response.status;
  };
  const run = async (input: string, ...args: string[]) => {
    const { code, stdout, stderr } = await piped(input, '--data-dir', dataDir, ...args);
    t.is(code, 0, stderr);
    return stdout;
  };
  return { dataDir, url, signIn, use, run };
}

test.serial('A piped password can sign in, until it is changed or removed', async t => {
  const { signIn, use, run } = await start(t);
  t.is((await signIn(PASSWORD)).status, 401);
  t.is(await run(`${PASSWORD}\n`, 'user', 'password', 'owner'), 'owner has a new password.\n');
  const { status, token } = await signIn(PASSWORD);
  t.is(status, 200);
  t.is(await use(token), 200);

  t.deepEqual(JSON.parse(await run('another good password\r\n', 'user', 'password', 'owner', '--json')), {});
  t.is(await use(token), 401);
  t.is((await signIn(PASSWORD)).status, 401);
  t.is((await signIn('another good password')).status, 200);

  t.is(await run('', 'user', 'password', 'owner', '--remove'), 'owner no longer has a password.\n');
  t.is((await signIn('another good password')).status, 401);
});

test.serial('An invalid password is rejected in one line, and never shown', async t => {
  const { dataDir } = await start(t);
  const refused: [input: string, args: string[], reason: RegExp][] = [
    ['', ['owner'], /no password was given/],
    ['\n', ['owner'], /no password was given/],
    ['short', ['owner'], /12 to 256 characters/],
    [PASSWORD, ['nobody'], /no user "nobody"/],
  ];
  for (const [input, args, reason] of refused) {
    const { code, stdout, stderr } = await piped(input, '--data-dir', dataDir, 'user', 'password', ...args);
    t.is(code, 1);
    t.is(stdout, '');
    t.regex(stderr, /^error: [^\n]+\n$/);
    t.regex(stderr, reason);
    t.false(input.length > 1 && stderr.includes(input));
  }
  const onLine = await piped('', '--data-dir', dataDir, 'user', 'password', 'owner', PASSWORD);
  t.is(onLine.code, 2);
  t.regex(onLine.stderr, /too many arguments/);
});

test.serial('Signing out ends every token of an account, and another signing key ends none', async t => {
  const { use, run } = await start(t);
  const token = (await run('', 'token', 'owner')).trim();
  t.is(await use(token), 200);
  t.is(await run('', 'system', 'rotate-keys'), 'ID tokens are signed with a new key.\n');
  t.is(await use(token), 200);
  await run('', 'key', 'owner', '--scopes', 'listen', '--name', 'pendant');
  await run('', 'hook', 'set', 'owner', 'memory_created', 'https://example.org/hook?token=secret');
  await run('', 'hook', 'set', 'owner', 'day_summary', 'https://example.org/day');
  await run('', 'hook', 'disable', 'owner', 'day_summary');
  t.is(
    await run('', 'user', 'sign-out', 'owner'),
    [
      'owner is signed out everywhere.',
      'Still works: API keys: pendant, command line',
      'Still works: webhooks: memory_created (example.org)',
      'Revoke a key: npx earshot key revoke owner <name>; all keys: npx earshot user lost owner\n',
    ].join('\n'),
  );
  t.is(await use(token), 401);
  t.is(await use((await run('', 'token', 'owner')).trim()), 200);
});

test.serial('The operator closes the memories of an account, and locks single items', async t => {
  const { dataDir, url, run } = await start(t);
  const key = (await run('', 'key', 'owner', '--scopes', 'memories:read,memories:write')).trim();
  const memories = async (path = '', body?: object) => {
    const response = await fetch(`${url}/v1/dev/user/memories${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as { id: string } };
  };
  const { id } = (await memories('', { content: 'Likes tea', category: 'other' })).body;
  const system = (...args: string[]) => run('', 'system', ...args);
  t.is(await system('memory-access', 'owner', 'off'), 'Programs cannot read the memories of owner.\n');
  t.is((await memories()).status, 403);
  t.is(await system('memory-access', 'owner', 'on'), 'Programs can read the memories of owner.\n');
  t.is((await memories(`/${id}`)).status, 200);
  t.is(await system('lock', 'memory', id), 'The memory of owner is locked.\n');
  t.is((await memories(`/${id}`)).status, 404);
  t.deepEqual(JSON.parse(await system('unlock', 'memory', id, '--json')), { user: 'owner' });
  t.is((await memories(`/${id}`)).status, 200);
  for (const [args, complaint] of [
    [['lock', 'conversation', id], /There is no conversation/],
    [['lock', 'memory', 'nonsense'], /There is no memory nonsense/],
    [['memory-access', 'nobody', 'off'], /no user "nobody"/],
    [['lock', 'folder', id], /Allowed choices are memory, conversation, action-item/],
    [['memory-access', 'owner', 'maybe'], /Allowed choices are on, off/],
  ] as [string[], RegExp][]) {
    const { code, stderr } = await piped('', '--data-dir', dataDir, 'system', ...args);
    t.not(code, 0);
    t.regex(stderr, complaint);
  }
});

test.serial('An account is renamed, disabled, enabled, made an operator, and listed accordingly', async t => {
  const { run, use, dataDir } = await start(t);
  await run('', 'user', 'add', 'Ada');
  const refused = await piped('', '--data-dir', dataDir, 'user', 'add', 'ADA');
  t.regex(refused.stderr, /^error: There is a user "Ada" already\. Choose another name\.\n$/);
  const key = (await run('', 'key', 'ada', '--scopes', 'conversations:read')).trim();
  t.is(await run('', 'user', 'rename', 'ada', 'Grace'), 'ada is now called Grace.\n');
  t.is(await use(key), 200);
  t.is(await run('', 'user', 'role', 'grace', 'operator'), 'Grace is an operator.\n');
  const token = (await run('', 'token', 'grace')).trim();
  t.regex(
    await run('', 'user', 'disable', 'grace'),
    /^Grace is disabled; 0 live connections ended\. Undo it:/,
  );
  t.deepEqual([await use(key), await use(token)], [401, 401]);
  t.regex(await run('', 'user', 'list'), / {2}operator {2}disabled {2}Grace\n/);
  const noToken = await piped('', '--data-dir', dataDir, 'token', 'grace');
  t.regex(noToken.stderr, /"Grace" is disabled: npx earshot user enable Grace/);
  await run('', 'user', 'enable', 'grace');
  t.deepEqual([await use(key), await use(token)], [200, 200]);
});

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };

test.serial(
  'Reporting a device as lost revokes tokens, keys and live connections in one step, and lists them',
  async t => {
    const { run, use, url } = await start(t);
    const token = (await run('', 'token', 'owner')).trim();
    const key = (await run('', 'key', 'owner', '--scopes', 'listen', '--name', 'pendant')).trim();
    const live = await Promise.all(
      [key, token].map((credential, n) =>
        connectListen(url, credential, { ...PCM, client_device_id: `phone ${n}` }),
      ),
    );
    await Promise.all(live.map(client => client.until('service_status', ({ status }) => status === 'ready')));
    const told = await run('', 'user', 'lost', 'OWNER');
    for (const client of live) t.is((await client.closed).code, 1008);
    t.deepEqual([await use(token), await use(key)], [401, 401]);
    t.is(
      told,
      [
        'owner is signed out everywhere.',
        'Ended: API keys: pendant, command line',
        'Ended: live connections: phone 0, phone 1',
        'Its password, if it has one, still works. Change it if the device stored it: npx earshot user password owner\n',
      ].join('\n'),
    );
  },
);

test.serial('A disabled account, and a revoked key, lose their live connections', async t => {
  const { run, url } = await start(t);
  const make = async (name: string) =>
    (await run('', 'key', 'owner', '--scopes', 'listen', '--name', name)).trim();
  const connect = async (name: string) => {
    const client = await connectListen(url, await make(name), { ...PCM, client_device_id: name });
    await client.until('service_status', ({ status }) => status === 'ready');
    return client;
  };
  const [pendant, kitchen] = [await connect('pendant'), await connect('kitchen')];
  t.regex(await run('', 'key', 'revoke', 'owner', 'pendant'), /^Revoked pendant \(/);
  t.is((await pendant.closed).code, 1008);
  t.is(kitchen.socket.readyState, kitchen.socket.OPEN);
  t.deepEqual(JSON.parse(await run('', 'user', 'disable', 'owner', '--json')).connections, ['kitchen']);
  t.is((await kitchen.closed).code, 1008);
});

test.serial('Keys are identified by name, and one of several with the same name by its id', async t => {
  const { run, dataDir } = await start(t);
  const make = async (name: string) =>
    JSON.parse(await run('', 'key', 'owner', '--scopes', 'listen', '--name', name, '--json'));
  const [first] = [await make('twin'), await make('twin')];
  const revoke = (name: string) => piped('', '--data-dir', dataDir, 'key', 'revoke', 'owner', name);
  t.regex((await revoke('twin')).stderr, /several keys "twin"; name one by its id: .+, .+/);
  t.regex((await revoke('pendent')).stderr, /no key "pendent"\. There are: twin, command line/);
  t.is((await revoke(first.id)).code, 0);
  t.is((await revoke('twin')).code, 0);
});

/** Files in a directory that contain this text. */
async function holding(dir: string, text: string): Promise<string[]> {
  const names = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = names.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  const held = await Promise.all(files.map(async file => (await readFile(file)).includes(text)));
  return files.filter((_, at) => held[at]);
}

test.serial('A removed account leaves nothing behind, while the server runs and without it', async t => {
  const dataDir = await temporaryDirectory(t);
  const server = await buildServer({ ...countingStt(), dataDir });
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await piped('', '--data-dir', dataDir, ...args);
    t.is(code, 0, stderr);
    return stdout;
  };
  const ids: string[] = [];
  for (const name of ['ada', 'ben']) {
    ids.push(JSON.parse(await run('user', 'add', name, '--json')).id);
    const { post } = await accountOf(server, name);
    for (let memory = 0; memory < 3; memory += 1)
      await post('/v1/dev/user/memories', { content: `${name} likes elderflower ${memory}` });
    await post('/v1/apps', { name: `App of ${name}`, ...APP });
    await piped('correct horse battery', '--data-dir', dataDir, 'user', 'password', name);
    const key = JSON.parse(await run('key', name, '--scopes', 'listen', '--json')).key;
    const client = await connectListen(server.url, key, { ...PCM, client_device_id: name });
    await client.until('service_status', ({ status }) => status === 'ready');
    client.socket.send(samplesToBytes(speech('budget')));
    client.socket.close();
  }
  const [ada = '', ben = ''] = ids;
  const unsure = await piped('', '--data-dir', dataDir, 'user', 'remove', 'ada');
  t.regex(unsure.stderr, /^error: this deletes all .* of ada for good; confirm with --yes\n$/);
  await untilEmbedded(server.url);

  await run('notify', 'add', 'ada', 'log');
  t.regex(
    await run('user', 'remove', 'ada', '--yes'),
    /^Removed ada and everything that it owned\.\nIts data is still in:\n {2}what webhooks, .* have received, until somebody deletes it\n$/,
  );
  await server.stop();
  t.deepEqual([vectorsOf(dataDir, ada), vectorsOf(dataDir, ben)], [0, 3]);
  t.regex(await run('user', 'remove', 'ben', '--yes'), /^Removed ben/);
  const after = await buildServer({ stt: [], dataDir }); // what cannot be deleted without a server is deleted at its start
  await untilEmbedded(after.url);
  await after.stop();
  t.is(vectorsOf(dataDir, ben), 0);
  for (const [name, id] of [
    ['ada', ada],
    ['ben', ben],
  ] as const) {
    t.deepEqual(rowsOf(dataDir, id), [], name);
    t.deepEqual(await holding(join(dataDir, 'audio'), id), []);
    t.deepEqual(await holding(join(dataDir, 'untranscribed'), id), []);
    t.deepEqual(await holding(join(dataDir, 'orphaned-audio'), id), []);
  }
});

/** Tables with rows of this user. */
function rowsOf(dataDir: string, userId: string): string[] {
  const database = openDatabase(join(dataDir, 'earshot.db'), { readonly: true });
  const columns = database
    .prepare(
      `select m.name as "table", c.name as "column" from sqlite_master m join pragma_table_info(m.name) c
       where m.type = 'table' and c.name in ('user_id', 'owner', 'id', 'key')`,
    )
    .all() as { table: string; column: string }[];
  const found = columns.filter(({ table, column }) => {
    if (['jobs', 'rate_limits'].includes(table)) return false; // one was told to forget its vectors; the others expire within the hour
    return database.prepare(`select 1 from "${table}" where "${column}" like ?`).get(`%${userId}%`);
  });
  database.close();
  return found.map(({ table }) => table);
}

function vectorsOf(dataDir: string, userId: string): number {
  const [file = ''] = globSync(join(dataDir, 'plugins/sqlite-vectors/*.db'));
  const database = openDatabase(file, { readonly: true });
  const sql =
    'select count(*) as count from items join owners on owners.key = items.owner where owners.user_id = ?';
  const found = database.prepare(sql).get(userId);
  database.close();
  return Number(found?.count);
}

/** Vectors are made in the background. */
async function untilEmbedded(url: string): Promise<void> {
  const waits = /earshot_jobs\{kind="embed",state="(waiting|due|running|failed)"\} [1-9]/;
  await eventually(async () => !waits.test(await (await fetch(`${url}/metrics`)).text()));
}

test.serial(
  'A user changes the own name, and the own password with the current one; an operator those of others',
  async t => {
    const { run, url, signIn, use } = await start(t);
    await run(PASSWORD, 'user', 'password', 'owner');
    const { token } = await signIn(PASSWORD);
    const ask = async (method: string, path: string, body: object, credential = token) => {
      const headers = { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' };
      const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    };
    const change = (password: string, fresh: string) =>
      ask('POST', '/v1/auth/password', { name: 'Owner', password, new_password: fresh });
    t.is((await change('wrong', 'another good password')).status, 401);
    t.like(await change(PASSWORD, 'short'), { status: 422 });
    t.is(await use(token), 200);
    t.is((await change(PASSWORD, 'another good password')).status, 200);
    t.is(await use(token), 401);
    const mine = (await signIn('another good password')).token;
    t.truthy(mine);

    const ada = JSON.parse(await run('', 'user', 'add', 'ada', '--json'));
    const list = async () => {
      const response = await fetch(`${url}/v1/accounts`, { headers: { Authorization: `Bearer ${mine}` } });
      return (await response.json()) as { id: string; name: string }[];
    };
    const [own] = await list();
    const edit = (id: string | undefined, body: object) => ask('PATCH', `/v1/accounts/${id}`, body, mine);
    t.like(await edit(own?.id, { name: 'ADA' }), { status: 409 });
    t.like(await edit(own?.id, { name: 'head' }), { status: 200, body: { name: 'head', role: 'owner' } });
    t.is((await edit(own?.id, { role: 'operator' })).status, 422);
    t.is((await edit(ada.id, { name: 'eve' })).status, 404);
    await run('', 'user', 'role', 'head', 'operator');
    t.deepEqual(
      (await list()).map(({ name }) => name),
      ['head', 'ada'],
    );
    const edited = await edit(ada.id, { name: 'eve', disabled: true });
    t.like(edited.body, { name: 'eve', disabled: true });
  },
);

/** Runs a terminal session that answers each of these prompts, and returns its output. */
async function atTerminal(dataDir: string, answers: [prompt: string, typed: string][]) {
  const typed = [process.execPath, MAIN, '--data-dir', dataDir, 'user', 'password', 'owner'];
  const child = spawn('script', ['-qefc', typed.join(' '), '/dev/null'], { env: plainEnvironment() });
  let seen = '';
  child.stdout.on('data', chunk => {
    seen += chunk;
    const [next] = answers;
    if (!next || !seen.endsWith(next[0])) return;
    answers.shift();
    child.stdin.write(next[1]);
  });
  const [code] = await once(child, 'close');
  return { code, seen };
}

const hasTerminal = existsSync('/usr/bin/script');
(hasTerminal || process.env.CI ? test.serial : test.serial.skip)(
  'A typed password is asked for twice, and not shown',
  async t => {
    const { dataDir, signIn } = await start(t);
    const first: [string, string] = ['New password: ', `${PASSWORD}\r`];
    const done = await atTerminal(dataDir, [first, ['Again: ', `${PASSWORD}\r`]]);
    t.is(done.code, 0, done.seen);
    t.regex(done.seen, /^New password: \r?\nAgain: \r?\nowner has a new password\.\r?\n$/);
    t.is((await signIn(PASSWORD)).status, 200);

    const slip = await atTerminal(dataDir, [first, ['Again: ', 'correct horse cattery\r']]);
    t.is(slip.code, 1);
    t.regex(slip.seen, /the two passwords are not the same; nothing was changed/);
    const interrupted = await atTerminal(dataDir, [['New password: ', 'corr\u0003']]);
    t.is(interrupted.code, 1);
    t.regex(interrupted.seen, /cancelled; nothing was changed/);
    for (const { seen } of [slip, interrupted]) t.notRegex(seen, /corr|horse/);
    t.is((await signIn(PASSWORD)).status, 200);
  },
);
