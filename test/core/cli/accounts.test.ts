import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { MAIN, plainEnvironment } from '../../helpers/cli.ts';
import { openHouse } from '../../helpers/house.ts';

const PASSWORD = 'correct horse battery';

/** Runs a command with this piped in. */
async function piped(input: string, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: plainEnvironment() });
  child.stdin.on('error', () => {}); // it may end before it has read all
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

async function start(t: ExecutionContext) {
  const { url, dataDir } = await openHouse(t, { stt: [] });
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

test.serial('A password that is piped in signs in, until it is changed or taken away', async t => {
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

  t.is(await run('', 'user', 'password', 'owner', '--remove'), 'owner has no password any more.\n');
  t.is((await signIn('another good password')).status, 401);
});

test.serial('A password that will not do is refused in one line, and shown in none', async t => {
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
  t.is(await run('', 'user', 'sign-out', 'owner'), 'owner is signed out everywhere.\n');
  t.is(await use(token), 401);
  t.is(await use((await run('', 'token', 'owner')).trim()), 200);
});

test.serial('The operator closes the memories of an account, and locks single things', async t => {
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
  t.is(await system('memory-access', 'owner', 'off'), 'The memories of owner cannot be read.\n');
  t.is((await memories()).status, 403);
  t.is(await system('memory-access', 'owner', 'on'), 'The memories of owner can be read.\n');
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

/** What a person at a terminal sees, who answers each of these prompts. */
async function atTerminal(dataDir: string, answers: [prompt: string, typed: string][]) {
  const command = [process.execPath, MAIN, '--data-dir', dataDir, 'user', 'password', 'owner'];
  const child = spawn('script', ['-qefc', command.join(' '), '/dev/null'], { env: plainEnvironment() });
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
  'A password that is typed is asked for twice, and not shown',
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
    t.regex(interrupted.seen, /given up; nothing was changed/);
    for (const { seen } of [slip, interrupted]) t.notRegex(seen, /corr|horse/);
    t.is((await signIn(PASSWORD)).status, 200);
  },
);
