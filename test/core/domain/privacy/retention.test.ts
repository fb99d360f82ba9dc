import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import type { Clock, Job } from '../../../../core/contract/model.ts';
import type { RetentionChoice } from '../../../../core/domain/privacy/retention.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation, type Domain, openDomain } from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { takePhoto } from '../../../helpers/photo.ts';
import { buildServer, countingStt } from '../../../helpers/services.ts';
import { join as joined, silence, speech } from '../../../helpers/sound.ts';
import { openDatabase } from '../../../helpers/sqlite.ts';

const DATABASES = await openDatabases(test);
const DAY_MS = 24 * 3_600_000;
const NEVER = new AbortController().signal;

/** Runs the job until it has nothing more to do; returns the number of runs. */
async function runAll({ retention }: Domain, userId: string): Promise<number> {
  for (let runs = 1; ; runs++)
    if (!(await retention.run({ payload: { userId } } as Partial<Job> as Job, NEVER))) return runs;
}

const choice = (...rules: RetentionChoice['rules']): RetentionChoice => ({ keepStarred: true, rules });
const all = (days: number | null) => ({ data: 'conversations' as const, folderId: null, days });

for (const { name, open } of DATABASES)
  test(`${name}: conversations are deleted by age and folder as if by their owner; others remain`, async t => {
    const domain = await openDomain(t, open);
    const { clock, conversations, folders, retention, storage, told, users } = domain;
    const [ada, ben] = [await users.add('ada'), await users.add('ben')];
    const draft = { description: '', color: '#000000', icon: 'x' };
    const work = await folders.create(ada.id, { name: 'Work', ...draft });
    const family = await folders.create(ada.id, { name: 'Family', ...draft });
    const talk = async (title: string, edit: object = {}, user = ada) => {
      const { id } = await completedConversation(domain, user.id, [`About ${title}`], { title });
      await conversations.edit(user.id, id, edit);
      return id;
    };
    await talk('old');
    await talk('starred', { starred: true });
    await talk('work', { folderId: work.id });
    await talk('family', { folderId: family.id });
    await talk('bens', {}, ben);
    await clock.advance(20 * DAY_MS);
    await talk('younger');
    await talk('young work', { folderId: work.id });
    await clock.advance(20 * DAY_MS);
    const rules = choice(
      all(30),
      { data: 'conversations', folderId: work.id, days: 10 },
      { data: 'conversations', folderId: family.id, days: null },
    );
    const titles = async (userId: string) =>
      (await storage.conversations.list(userId, { limit: 99, offset: 0 }))
        .map(({ structured }) => structured.title)
        .sort();
    const everything = await titles(ada.id);

    const seen = await retention.preview(ada.id, rules);
    t.like(seen, { conversations: 3, photos: 0, audioFiles: 0, deliveries: 0 });
    t.deepEqual(seen.oldest.map(({ structured }) => structured.title).sort(), ['old', 'work', 'young work']);
    await runAll(domain, ada.id);
    t.deepEqual(
      await titles(ada.id),
      everything,
      'neither a preview nor a run without rules deletes anything',
    );

    await retention.put(ada.id, rules);
    told['conversation.dropped'].length = 0;
    await runAll(domain, ada.id);
    t.deepEqual(await titles(ada.id), ['family', 'starred', 'younger']);
    t.deepEqual(await titles(ben.id), ['bens']);
    t.is(told['conversation.dropped'].length, 3);
    t.deepEqual(await conversations.search(ada.id, 'old', { limit: 5, offset: 0 }), []);
    t.like(await retention.preview(ada.id, rules), { conversations: 0 });

    await retention.put(ada.id, { ...rules, keepStarred: false });
    await runAll(domain, ada.id);
    t.deepEqual(await titles(ada.id), ['family', 'younger']);
  });

test('a long list is deleted in bounded batches, and a stopped run ends between two', async t => {
  const domain = await openDomain(t);
  const { clock, retention, storage, users } = domain;
  const { id: userId } = await users.add('ada');
  for (let each = 0; each < 120; each++) await completedConversation(domain, userId);
  await clock.advance(2 * DAY_MS);
  await retention.put(userId, choice(all(1)));
  const stopped = AbortSignal.abort();
  await retention.run({ payload: { userId } } as Partial<Job> as Job, stopped);
  t.is((await retention.preview(userId, choice(all(1)))).conversations, 120);
  t.is((await retention.preview(userId, choice(all(1)))).oldest.length, 20);
  t.is(await runAll(domain, userId), 3);
  t.deepEqual(await storage.conversations.list(userId, { limit: 9, offset: 0 }), []);
});

test('rules that contradict each other or name something unknown are rejected', async t => {
  const { folders, retention, users } = await openDomain(t);
  const [ada, ben] = [await users.add('ada'), await users.add('ben')];
  const draft = { name: 'Bens', description: '', color: '#000000', icon: 'x' };
  const bens = await folders.create(ben.id, draft);
  const refused = (rules: RetentionChoice, message: RegExp) =>
    t.throwsAsync(retention.put(ada.id, rules), { message });
  await refused(choice(all(1), all(2)), /two rules/);
  await refused(choice({ ...all(1), folderId: bens.id }), /^Folder not found$/);
  await refused(choice({ data: 'audio', folderId: bens.id, days: 1 }), /has no folder/);
  await refused(choice(...Array.from({ length: 51 }, () => all(1))), /at most 50/);
  t.deepEqual(await retention.get(ada.id), { keepStarred: true, rules: [] });
  t.deepEqual(await retention.rulesOf(ben.id, ['photos=90', ' Conversations/bens=KEEP']), [
    { data: 'photos', folderId: null, days: 90 },
    { data: 'conversations', folderId: bens.id, days: null },
  ]);
  for (const wrong of ['photos', 'photos=0', 'photos=1.5', 'photos=x', 'text=1', 'photos=36501', 'photos/=1'])
    await t.throwsAsync(
      retention.rulesOf(ada.id, [wrong]),
      { message: /such as conversations\/Work=30/ },
      wrong,
    );
  await t.throwsAsync(retention.rulesOf(ben.id, ['photos/Cars=1']), { message: /no folder Cars.* Bens/ });
});

test('a server deletes expired rows and files when it starts', async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-retention-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  let laterMs = 0;
  const clock: Clock = {
    now: () => Date.now() + laterMs,
    sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
  };
  const settings = { ...countingStt(), dataDir, delivery: { logDays: 400 } };
  const first = await buildServer(settings, { clock });
  const { token, send, get } = await accountOf(first, 'owner');
  const photoId = await takePhoto(first.url, token);
  const client = await connectListen(first.url, first.key, {
    codec: 'pcm16',
    sample_rate: 16_000,
    stream: 's',
  });
  client.socket.send(samplesToBytes(joined(speech('budget').subarray(0, 32_000), silence(1.5))));
  await client.until('segments');
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client.until('memory_created');
  client.socket.close();
  await send('PUT', '/v1/users/retention', {
    rules: [
      { data: 'photos', days: 30 },
      { data: 'audio', days: 10 },
    ],
  });
  const [talk] = await get('/v1/dev/user/conversations');
  await first.app.stop();

  const database = openDatabase(join(dataDir, 'earshot.db'));
  const [stream] = database.prepare('select id from streams where client_stream = ?').all('s');
  database.prepare("update conversations set status = 'completed' where status = 'in_progress'").run();
  database.close();
  await mkdir(join(dataDir, 'untranscribed'), { recursive: true });
  const audio = async (name: string, ageDays: number) => {
    const path = join(dataDir, 'untranscribed', name);
    await writeFile(path, '');
    const at = (Date.now() + 40 * DAY_MS - ageDays * DAY_MS) / 1000;
    await utimes(path, at, at);
  };
  await audio(`${stream?.id}-0.wav`, 11);
  await audio(`${stream?.id}-1.wav`, 9);
  await audio(`${crypto.randomUUID()}-1.wav`, 99);
  const photos = async () => (await readdir(join(dataDir, 'photos', first.userId))).length;
  t.is(await photos(), 2, photoId);

  laterMs = 40 * DAY_MS;
  const second = await buildServer(settings, { clock });
  t.teardown(second.stop);
  await eventually(async () => (await photos()) === 0);
  await eventually(
    async () => (await readdir(join(dataDir, 'untranscribed'))).length,
    count => count === 2,
  );
  const later = await accountOf(second, 'owner');
  const list = await later.get('/v1/dev/user/conversations');
  t.true(
    list.some(({ id }) => id === talk?.id),
    'there is no rule for conversations',
  );

  const run = await second.app.commands['retention.set']({
    user: 'owner',
    rules: ['conversations=30', 'deliveries=1'],
    keepStarred: true,
  });
  t.deepEqual(run, { keepStarred: true, rules: ['conversations=30', 'deliveries=1'] });
  const seen = await second.app.commands['retention.preview']({
    user: 'owner',
    rules: null,
    keepStarred: true,
  });
  t.true(seen.conversations >= 2);
});
