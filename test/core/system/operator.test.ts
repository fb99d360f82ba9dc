import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { accountOf, operatorOf } from '../../helpers/accounts.ts';
import { eventually } from '../../helpers/eventually.ts';
import type { Json } from '../../helpers/openapi.ts';
import { countingStt, openServer } from '../../helpers/services.ts';

test('an operator sees plugins, disk space, jobs, the log, findings and backups of the running server', async t => {
  const { stt, plugins } = countingStt();
  const server = await openServer(t, {
    stt,
    llm: ['openai-llm'],
    plugins: { ...plugins, 'openai-llm': SECRETIVE },
  });
  await operatorOf(server);
  const olga = await accountOf(server, 'olga');
  const owner = await accountOf(server, 'owner');

  const listed: Json[] = (await olga.get('/v1/system/plugins')).plugins as Json[];
  const plugin = (name: string): Json => listed.find(each => each.name === name) ?? {};
  t.like(plugin('counting'), { state: 'ready', builtin: false, capabilities: ['stt'] });
  const behaviour = (plugin('counting').options as Json[]).find(({ name }) => name === 'behaviour');
  t.like(behaviour, { value: 'well', secret: false });
  const key = (plugin('openai-llm').options as Json[]).find(({ name }) => name === 'apiKey');
  t.like(key, { secret: true, value: null });
  t.false(JSON.stringify(listed).includes(SECRETIVE.apiKey));

  await mkdir(join(server.dataDir, 'photos', server.userId), { recursive: true });
  await writeFile(join(server.dataDir, 'photos', server.userId, 'photo.jpg'), Buffer.alloc(12_345));
  const usage = await olga.get('/v1/system/storage');
  t.true((usage.free_bytes as unknown as number) > 0);
  const parts = Object.fromEntries((usage.parts as Json[]).map(({ name, bytes }) => [name, bytes]));
  t.is(parts.photos, 12_345);
  t.true((parts.database as number) > 0);
  const accounts = usage.accounts as Json[];
  t.deepEqual(
    accounts.map(({ name, photos_bytes }) => [name, photos_bytes]),
    [
      ['owner', 12_345],
      ['olga', 0],
    ],
  );

  await owner.post('/v1/dev/user/action-items', { description: 'Call Eve', due_at: '2999-01-01T00:00:00Z' });
  t.true(((await olga.get('/v1/system/jobs')).jobs as Json[]).some(({ state }) => state === 'waiting'));

  const { lines } = await olga.get('/v1/system/log?level=info&limit=500');
  t.true((lines as Json[]).some(({ message }) => message === 'first account made'));
  const loud = (await olga.get('/v1/system/log?level=error')).lines as Json[];
  t.true(loud.every(({ level }) => level === 'error' || level === 'fatal'));

  t.like(await olga.post('/v1/system/backup'), { running: true });
  const saved = await eventually(
    () => olga.get('/v1/system/backup'),
    ({ running }) => running === false,
  );
  t.is(saved.error, null);
  t.true(((saved.newest as Json).bytes as unknown as number) > 0);

  t.like(await olga.post('/v1/system/examination'), { running: true, findings: [] });
  const examined = await eventually(
    () => olga.get('/v1/system/examination'),
    ({ running }) => running === false,
  );
  t.is(examined.error, null);
  t.true((examined.findings as Json[]).some(({ group }) => group === 'Data directory'));

  const refused = await fetch(`${server.url}/v1/system/log`, {
    headers: { Authorization: `Bearer ${owner.token}` },
  });
  t.is(refused.status, 403);
  t.regex(await refused.text(), /earshot user role owner operator/);
});

test('an operator changes options of a plugin, which starts again with them', async t => {
  const { stt, plugins } = countingStt({ speakers: 2 });
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-options-'));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const overrides = { dataDir, stt, llm: ['openai-llm'], plugins: { ...plugins, 'openai-llm': SECRETIVE } };
  const server = await openServer(t, overrides);
  const token = await operatorOf(server);
  const change = async (name: string, options: Json) => {
    const answer = await fetch(`${server.url}/v1/system/plugins/${name}`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ options }),
    });
    return { status: answer.status, body: (await answer.json()) as Json };
  };
  const optionOf = ({ options }: Json, name: string) => (options as Json[]).find(each => each.name === name);

  const changed = await change('counting', { languages: ['de'] });
  t.like(changed, { status: 200, body: { name: 'counting', state: 'ready' } });
  t.like(optionOf(changed.body, 'languages'), { value: ['de'], from: 'page', changeable: true });

  const wrong = await change('counting', { speakers: 'many', languages: 'en' });
  t.is(wrong.status, 409, 'what the command line sets is changed there');
  t.regex(JSON.stringify(wrong.body), /speakers is set by the command line: change it there/);
  const misfit = await change('counting', { languages: 'en' });
  t.is(misfit.status, 422);
  t.regex(JSON.stringify(misfit.body), /plugins\.counting\.languages must be a list/);
  t.is((await change('counting', { unheard: 1 })).status, 422);
  t.is((await change('nobody', { x: 1 })).status, 404);
  t.is((await change('sql', { readers: 2 })).status, 409, 'without its storage there is no server');
  const silenced = await change('sherpa-onnx', { model: 'x' });
  t.is(silenced.status, 409, 'a plugin that is not in use has no options yet');

  const secret = await change('openai-llm', { firstTokenMs: 1234 });
  t.like(optionOf(secret.body, 'apiKey'), { secret: true, value: null, from: 'command', changeable: false });
  t.false(JSON.stringify(secret.body).includes(SECRETIVE.apiKey));
  t.true(
    server.lines.some(line => /options of a plugin were changed.*olga|olga.*options of a plugin/.test(line)),
  );

  await server.stop();
  const later = await openServer(t, overrides);
  const olga = await accountOf(later, 'olga');
  const listed = (await olga.get('/v1/system/plugins')).plugins as Json[];
  const found = listed.find(({ name }) => name === 'counting') ?? {};
  t.like(optionOf(found, 'languages'), { value: ['de'], from: 'page' }, 'it survives a restart');
  const back = await olga.send('PATCH', '/v1/system/plugins/counting', { options: { languages: null } });
  t.like(optionOf(back, 'languages'), { value: ['en'], from: 'default' });
});

test('a plugin that does not start with options of the page starts without them', async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-options-'));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const use = join(import.meta.dirname, '../../fixtures/plugins/picky.ts');
  await writeFile(join(dataDir, 'settings.yaml'), 'plugins: { picky: { mood: bad } }\n');

  const server = await openServer(t, { dataDir, plugins: { picky: { use } } });

  await operatorOf(server);
  const olga = await accountOf(server, 'olga');
  const listed = (await olga.get('/v1/system/plugins')).plugins as Json[];
  t.like(
    listed.find(({ name }) => name === 'picky'),
    { state: 'ready', ignored: ['picky does not start with them: set them anew'] },
  );
  const mended = await olga.send('PATCH', '/v1/system/plugins/picky', { options: { mood: 'good' } });
  t.like(mended, { state: 'ready', ignored: [] });
});

const SECRETIVE = { baseUrl: 'http://127.0.0.1:9/v1', model: 'none', apiKey: 'never-to-be-shown' };
