import { join } from 'node:path';
import test from 'ava';
import { command } from '../../helpers/cli.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { openServer, prepareData } from '../../helpers/services.ts';

const PIN = 'canary-pin-4421';

test.serial('Addresses are added, tested, listed and removed, and their secrets are never shown', async t => {
  const use = join(import.meta.dirname, '../../fixtures/plugins/acme-channel.ts');
  const { dataDir } = await openServer(t, {
    stt: [],
    notify: ['acme-channel', 'ntfy', 'log'],
    plugins: { 'acme-channel': { use } },
  });
  const run = async (input: string, ...args: string[]) => {
    const { code, stdout, stderr } = await command(['--data-dir', dataDir, 'notify', ...args], {}, input);
    return { code, said: stdout + stderr };
  };
  const channels = await run('', 'channels');
  t.regex(channels.said, /acme-channel {2}Acme pager\n {4}number\n {4}pin \(optional\)/);
  t.regex((await run('', 'list', 'owner')).said, /There is no address yet: npx earshot notify add owner/);

  const added = await run(
    `${PIN}\n`,
    'add',
    'owner',
    'acme-channel',
    'number=+49',
    '--secret',
    'pin',
    '--json',
  );
  t.is(added.code, 0, added.said);
  const { id } = JSON.parse(added.said);
  t.deepEqual(await run('', 'test', 'owner', id), { code: 0, said: 'Sent.\n' });
  const listed = await run('', 'list', 'owner');
  t.regex(listed.said, /^ID +CHANNEL +STATE +LABEL +ADDRESS\n/);
  t.true(listed.said.endsWith(`\n${id}  acme-channel  on     acme-channel  number=+49  pin=***\n`));
  t.false(JSON.stringify([added, listed]).includes(PIN));

  const bad = JSON.parse((await run('', 'add', 'owner', 'acme-channel', 'number=bad', '--json')).said);
  t.deepEqual(await run('', 'test', 'owner', bad.id), {
    code: 1,
    said: 'error: It was not sent: Acme answers 500\n',
  });
  for (const [args, reason] of [
    [['add', 'owner', 'acme-channel', 'number=x'], /number: must be a number/],
    [['add', 'owner', 'acme-channel', 'number'], /"number" is not a field: write name=value/],
    [['add', 'owner', 'acme-channel', 'number:={'], /number:= needs JSON/],
    [['add', 'owner', 'acme-channel', 'nubmer=1'], /nubmer is not a field of .*did you mean number\?/],
    [['add', 'owner', 'ntfy', 'topic=x', 'servre=https://a.example'], /servre is .*did you mean server\?/],
    [['add', 'owner', 'ntfy', 'topic=x', 'colour=red'], /colour is .*there are: server, topic, token/],
    [['add', 'owner', 'log', 'topic=x'], /topic is not a field .*it has none/],
    [['add', 'owner', 'pigeon'], /channel should be one of: .*acme-channel/],
    [['remove', 'owner', 'nonsense'], /Address not found/],
    [['list', 'eve'], /There is no user "eve"/],
  ] as const) {
    const { code, said } = await run('', ...args);
    t.is(code, 1);
    t.regex(said, reason);
  }
  t.deepEqual(await run('', 'disable', 'owner', id), {
    code: 0,
    said: `acme-channel (${id}) is disabled.\n`,
  });
  t.regex((await run('', 'list', 'owner')).said, new RegExp(`${id}  acme-channel  off`));
  t.deepEqual(await run('', 'enable', 'owner', id), { code: 0, said: `acme-channel (${id}) is enabled.\n` });
  t.is((await run('', 'remove', 'owner', id)).code, 0);
});

test.serial('Addresses are added and shown while no server runs, too', async t => {
  const env = { EARSHOT_DATA_DIR: await temporaryDirectory(t) };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(args, env);
    t.is(code, 0, stderr);
    return stdout;
  };
  await prepareData(env.EARSHOT_DATA_DIR);
  await run('user', 'add', 'ada');
  await run('notify', 'add', 'ada', 'ntfy', 'topic=ada-8k2');
  t.regex(await run('notify', 'list', 'ada'), /topic=ada-8k2/);
  t.regex(await run('notify', 'channels'), /^ntfy/m);
});
