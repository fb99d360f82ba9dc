import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { command } from '../../helpers/cli.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { openServer, prepareData } from '../../helpers/services.ts';
import { changeDatabase } from '../../helpers/sqlite.ts';

const URL_ = 'https://tea.example.org/hook';

async function start(t: ExecutionContext) {
  const server = await openServer(t, { stt: [] });
  const env = { EARSHOT_DATA_DIR: server.dataDir };
  const app = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(['app', ...args], env);
    t.is(code, 0, stderr);
    return stdout;
  };
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(['app', ...args], env);
    t.not(code, 0);
    t.is(stdout, '');
    t.regex(stderr, /^error: [^\n]+\n$/);
    return stderr;
  };
  const json = async (...args: string[]) => JSON.parse(await app(...args, '--json'));
  const ask = async (secret: string, id: string) => {
    const response = await fetch(`${server.url}/v2/integrations/${id}/tasks?uid=${server.userId}`, {
      headers: { Authorization: `Bearer ${secret}` },
    });
    await response.body?.cancel();
    return response.status;
  };
  return { ...server, app, refused, json, ask };
}

test.serial('An app is created, installed, shown, and deleted', async t => {
  const { app, json, ask } = await start(t);
  t.is(await app('list'), 'There is no app yet: npx earshot app create <user> <name>\n');
  const about = [
    '--webhook-url',
    URL_,
    '--triggers',
    'memory_creation, audio_bytes',
    '--scopes',
    'user_name',
  ];
  const made = await app('create', 'owner', 'Tea counter', '--actions', 'read_tasks,read_memories', ...about);
  const [, id = '', secret = '', signing = ''] =
    /^id: (\S+)\nsecret: (sk_[0-9a-f]{32})\nsigning secret: (whsec_\S+)\nInstall it for an account: npx earshot app install <user> \1\n$/.exec(
      made,
    ) ?? [];
  t.truthy(signing, made);
  t.is(await ask(secret, id), 404);
  t.is(
    await app('install', 'owner', 'Tea counter', '--actions', 'read_tasks'),
    [
      'owner has installed Tea counter.',
      `It receives: memory_created, audio_bytes (to ${URL_})`,
      'Its prompts may contain: user_name',
      'It may: read_tasks\n',
    ].join('\n'),
  );
  t.is(await ask(secret, id), 200);

  const [key] = (await json('keys', id)).keys;
  t.is(
    await app('show', id),
    `${[
      `Tea counter (${id}), owned by owner`,
      `webhook: ${URL_}`,
      '  memory_created: on',
      '  audio_bytes: on',
      'actions: read_tasks, read_memories',
      'scopes: user_name',
      `secret: ${key.label} (${key.id}), created ${key.createdAt}`,
    ].join('\n')}\n`,
  );
  t.regex(await app('list', 'owner'), new RegExp(`^ID +ACCOUNT +NAME\n${id}  owner    Tea counter\n$`));
  t.like((await json('list')).apps[0], { id, owner: 'owner', triggersOn: ['memory_created', 'audio_bytes'] });

  const second = (await app('keys', id, '--new')).trim();
  t.is(await ask(second, id), 200);
  t.is(await app('keys', id, '--revoke', key.id), `Revoked ${key.id}.\n`);
  t.is(await ask(secret, id), 401);
  const rotated = await json('rotate', id);
  t.regex(rotated.signingSecret, /^whsec_/);
  t.not(rotated.signingSecret, signing);

  t.is(await app('uninstall', 'owner', id), 'Uninstalled Tea counter for owner.\n');
  t.is(await ask(second, id), 404);
  t.is(await app('delete', 'Tea counter'), `Deleted Tea counter (${id}).\n`);
  t.is(await ask(second, id), 401);
});

test.serial('An invalid command for apps gets one line, with instructions', async t => {
  const { app, refused, json } = await start(t);
  const { id } = await json('create', 'owner', 'Tea');
  const cases: [string[], RegExp][] = [
    [['create', 'nobody', 'x'], /no user "nobody".*npx earshot user add/],
    [
      ['create', 'owner', 'x', '--actions', 'rule'],
      /Unknown action "rule"\. There are: create_conversation, /,
    ],
    [['create', 'owner', 'x', '--scopes', 'user_age'], /Unknown scope "user_age"\. There are: user_name, /],
    [
      ['create', 'owner', 'x', '--webhook-url', URL_, '--triggers', 'radio'],
      /"radio" is not a type of webhook\. There are: .*memory_created/,
    ],
    [['create', 'owner', 'x', '--triggers', 'memory_created'], /it needs an address/],
    [['create', 'owner', 'x', '--webhook-url', 'https://192.168.1.1/'], /delivery\.allowHosts/],
    [['show', 'Coffee'], /no app "Coffee"\. There are: Tea\. List them: npx earshot app list/],
    [['keys', id, '--revoke', 'x'], /Key not found/],
    [['rotate', 'Tea'], /no webhook yet: set one up first/],
    [
      ['install', 'owner', 'Tea', '--scopes', 'user_chat'],
      /does not ask for user_chat\. It asks for: nothing/,
    ],
    [['keys'], /missing required argument 'app'/],
  ];
  for (const [args, reason] of cases) t.regex(await refused(...args), reason, args.join(' '));
  await app('create', 'owner', 'Tea');
  t.regex(await refused('delete', 'Tea'), new RegExp(`several apps "Tea"; name one by its id: .*${id}`));
});

test.serial('A name with control characters is rejected; an existing one is shown without them', async t => {
  const { app, json, refused, dataDir } = await start(t);
  t.regex(await refused('create', 'owner', 'Tea\u001b[2J\nowner: Mallory'), /name: has control characters/);
  await app('create', 'owner', 'Tea');
  await changeDatabase(
    join(dataDir, 'earshot.db'),
    "update apps set name = 'Tea' || char(27) || ']0;x' || char(7, 13, 10) || 'forged', description = char(155) || 'x'",
  );
  const { id } = (await json('list')).apps[0];
  for (const shown of [await app('list'), await app('show', id)]) {
    t.true(shown.includes('Tea ]0;x forged'), shown);
    t.notRegex(shown, /[^\P{Cc}\n]/u);
  }
});

test.serial('Apps are created while no server runs, too', async t => {
  const env = { EARSHOT_DATA_DIR: await temporaryDirectory(t) };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(args, env);
    t.is(code, 0, stderr);
    return stdout;
  };
  await prepareData(env.EARSHOT_DATA_DIR);
  await run('user', 'add', 'ada');
  await run('app', 'create', 'ada', 'Tea', '--webhook-url', URL_, '--triggers', 'memory_created');
  t.regex(await run('app', 'show', 'Tea'), /memory_created: on/);
});
