import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { command } from '../../helpers/cli.ts';
import { type Behaviour, startReceiver, status } from '../../helpers/receiver.ts';
import { openServer } from '../../helpers/services.ts';
import { openDatabase } from '../../helpers/sqlite.ts';

const says: Behaviour = response => void response.end('thank you');

async function start(t: ExecutionContext) {
  const server = await openServer(t, { stt: [], delivery: { allowHosts: ['127.0.0.1'] } });
  const run = (...args: string[]) => command(['hook', ...args], { EARSHOT_DATA_DIR: server.dataDir });
  const hook = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
    t.is(code, 0, stderr);
    return stdout;
  };
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
    t.deepEqual([code, stdout], [1, ''], stderr);
    t.regex(stderr, /^error: [^\n]+\n$/);
    return stderr;
  };
  const { token } = await server.app.commands.token({ user: 'owner' });
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  /** Starts and ends a conversation that webhooks are told of. */
  const converse = async (text: string) => {
    const segments = [{ text, speaker: 'SPEAKER_00', is_user: true, start: 0, end: 3 }];
    const { status: code, body } = await send('POST', '/v1/dev/user/conversations/from-segments', {
      transcript_segments: segments,
    });
    t.is(code, 200, JSON.stringify(body));
  };
  return { ...server, hook, refused, send, converse };
}

test.serial('Two URLs of one type both receive events, signed with one secret', async t => {
  const { hook, converse, send } = await start(t);
  const [one, two] = [await startReceiver(t), await startReceiver(t)];
  t.regex(
    await hook('list', 'owner'),
    /^There is no webhook yet: npx earshot hook set owner <type> <url>\n$/,
  );
  const first = await hook('set', 'owner', 'memory_creation', one.url);
  const [, id = '', secret = ''] = /^id: (\S+)\nsigning secret: (whsec_\S+) /.exec(first) ?? [];
  t.truthy(secret, first);
  const second = JSON.parse(
    await hook('set', 'owner', 'memory_created', two.url, '--label', 'n8n', '--json'),
  );
  t.like(second, { type: 'memory_created', label: 'n8n', url: two.url, signingSecret: null, enabled: true });

  await converse('We plant the roses on Monday.');
  await Promise.all([one.arrived(1), two.arrived(1)]);
  for (const { received } of [one, two])
    t.is(JSON.parse(String(received[0]?.body)).transcript_segments[0].text, 'We plant the roses on Monday.');

  const listed = await hook('list', 'owner');
  t.regex(listed, /^ID +TYPE +LABEL +ADDRESS +STATE\n/);
  t.true(listed.includes(`${id}  memory_created  -      ${one.url}  on\n`), listed);
  t.true(listed.includes(`${second.id}  memory_created  n8n    ${two.url}  on\n`), listed);
  t.deepEqual((await send('GET', '/v1/users/developer/webhook/memory_created')).body, { url: one.url });

  t.regex(await hook('remove', 'owner', id), /^Removed memory_created to http/);
  t.deepEqual((await send('GET', '/v1/users/developer/webhook/memory_created')).body, { url: '' });
  await converse('And the tulips in October.');
  await two.arrived(2);
  t.is(one.received.length, 1);
});

test.serial('A test sends a made-up event of every type, and shows what the receiver answers', async t => {
  const { hook, refused, send, app } = await start(t);
  const receiver = await startReceiver(t, says);
  const types = [
    ...['memory_created', 'transcript_processed', 'audio_bytes', 'day_summary', 'slack', 'home_assistant'],
  ];
  for (const type of types) {
    await hook('set', 'owner', type, type === 'audio_bytes' ? `${receiver.url},2` : receiver.url);
    const said = await hook('test', 'owner', type);
    t.regex(said, new RegExp(`^Sent a test of ${type} to http\\S+ It answered 200 in \\d+ ms: thank you\n$`));
    const { headers, body } = receiver.received.at(-1) ?? {};
    t.regex(headers?.['webhook-signature'] as string, /^v1,/, type);
    if (type === 'audio_bytes') t.is(body?.length, 2 * 2 * 16_000);
    else t.regex(String(body), /test/, type);
    if (type === 'day_summary') t.is(JSON.parse(String(body)).summary_json.action_items.length, 1);
  }
  receiver.behaviour = status(503);
  t.regex(
    await refused('test', 'owner', 'day_summary'),
    /The test of day_summary to http\S+ failed: It answered 503: status 503/,
  );
  t.is(receiver.received.length, types.length + 1, 'a test is not repeated');
  t.deepEqual((await send('GET', '/v1/deliveries')).body, []);
  const again = { user: 'owner', webhook: 'slack' };
  for (let sent = types.length + 1; sent < 20; sent++) await app.commands['hook.test'](again);
  t.regex(await refused('test', 'owner', 'slack'), /At most 20 tests in an hour/);
});

test.serial(
  'A webhook is disabled and enabled, and the list says why the server switched it off',
  async t => {
    const { hook, converse } = await start(t);
    const receiver = await startReceiver(t, status(410));
    await hook('set', 'owner', 'memory_created', receiver.url, '--label', 'desk');
    const told = await startReceiver(t);
    await hook('set', 'owner', 'memory_created', told.url);

    await converse('This one finds nobody.');
    await Promise.all([receiver.arrived(1), told.arrived(1)]);
    let listed = '';
    while (!listed.includes('off: ')) listed = await hook('list', 'owner');
    t.regex(listed, /desk {3}http\S+ +off: It answered that it is gone\n/);

    receiver.behaviour = says;
    t.regex(
      await hook('test', 'owner', 'desk'),
      /thank you\nIt is disabled\. Enable it: npx earshot hook en/,
    );
    t.regex(await hook('enable', 'owner', 'desk'), /is enabled\.\n$/);
    await converse('This one is heard.');
    await Promise.all([receiver.arrived(3), told.arrived(2)]);

    t.regex(await hook('disable', 'owner', 'desk'), /is disabled\.\n$/);
    t.regex(await hook('list', 'owner'), /desk {3}http\S+ +off\n/);
    await converse('And this one is not.');
    await told.arrived(3);
    t.is(receiver.received.length, 3);
  },
);

test.serial('An invalid command for webhooks gets one line, with instructions', async t => {
  const { hook, refused, app, dataDir } = await start(t);
  const { url } = await startReceiver(t);
  t.regex(await refused('test', 'owner', 'desk'), /no webhook "desk", nor any other: npx earshot hook set/);
  await hook('set', 'owner', 'memory_created', url);
  await app.commands['user.add']({ name: 'eve' });
  const { hooks } = JSON.parse(await hook('list', 'owner', '--json'));
  for (const [args, reason] of [
    [['set', 'owner', 'radio', url], /"radio" is not a type of webhook\. There are: .*memory_created/],
    [['set', 'owner', 'memory_created', ' , '], /url: should be an address/],
    [['set', 'owner', 'memory_created', 'https://192.168.1.1/'], /delivery\.allowHosts/],
    [['set', 'owner', 'memory_created', url, '--label', 'a\nb'], /label: has control characters/],
    [['set', 'owner', 'memory_created', url, '--label', 'x'.repeat(101)], /label: Too big/],
    [['set', 'nobody', 'memory_created', url], /no user "nobody"/],
    [['test', 'owner', 'desk'], /no webhook "desk"\. There are: \S+ \(memory_created\)/],
    [['remove', 'eve', hooks[0].id], /There is no webhook/],
  ] as const)
    t.regex(await refused(...args), reason, args.join(' '));

  for (let number = 1; number <= 9; number++)
    await app.commands['hook.set']({ user: 'owner', type: 'memory_created', url, label: `n${number}` });
  t.regex(await refused('set', 'owner', 'memory_created', url, '--label', 'n10'), /9 labelled addresses/);
  t.regex(
    await refused('test', 'owner', 'memory_created'),
    /several webhooks .* name one by its id: \S+ \(mem/,
  );
  await hook('set', 'owner', 'memory_created', url);

  const { id } = await app.commands['app.create']({
    ...{ user: 'owner', name: 'Tea', webhookUrl: url, triggersOn: ['day_summary'] },
  });
  const listed = await hook('list', 'owner');
  t.regex(listed, /day_summary +app Tea +http/);
  const database = openDatabase(join(dataDir, 'earshot.db'), { readonly: true });
  const ofApp = database.prepare('select id from hooks where app_id = ?').get(id);
  database.close();
  t.regex(await refused('remove', 'owner', String(ofApp?.id)), /This webhook belongs to an app/);
});
