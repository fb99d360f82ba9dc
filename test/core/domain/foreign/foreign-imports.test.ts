import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import yazl from 'yazl';
import type { Row, Storage } from '../../../../core/contract/plugin.ts';
import { createConversations } from '../../../../core/domain/conversations/conversations.ts';
import { createForeignImports } from '../../../../core/domain/foreign/foreign-imports.ts';
import type { ForeignSource, ForeignThing } from '../../../../core/domain/foreign/foreign-item.ts';
import type { AppError } from '../../../../core/runtime/errors.ts';
import { command, earshot } from '../../../helpers/cli.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import {
  completedConversation,
  type Domain,
  openDomain,
  temporaryDirectory,
} from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { EXPORTS, writeExport } from '../../../helpers/foreign-exports.ts';
import { startLocalServer } from '../../../helpers/local-server.ts';
import { openRest } from '../../../helpers/rest.ts';
import { openServer } from '../../../helpers/services.ts';

const DATABASES = await openDatabases(test);

const TAKE = { dryRun: false, key: null, onProgress() {} };
/** Rows that an import keeps on purpose. */
const TRACES = new Set(['foreign_imports', 'memory_changes']);

async function rowsOf(storage: Storage, userId: string): Promise<Record<string, Row[]>> {
  const all: Record<string, Row[]> = {};
  for (const { name, rows } of await storage.owned())
    for await (const page of rows(userId)) if (!TRACES.has(name)) all[name] = [...(all[name] ?? []), ...page];
  return all;
}

async function account(domain: Domain) {
  return domain.users.add('ada');
}

async function zipOf(t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<string> {
  const file = join(await temporaryDirectory(t), 'export.zip');
  const zip = new yazl.ZipFile();
  for (const [path, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), path);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
  return file;
}

for (const { name, open } of DATABASES) {
  test(`${name}: an export of Omi is previewed, imported once, found, and undone without a trace`, async t => {
    const domain = await openDomain(t, open);
    const { storage, takeIn, foreignImports, conversations, actionItems, memories } = domain;
    const user = await account(domain);
    await completedConversation(domain, user.id, ['Peas are my own.'], { title: 'Mine' });
    const before = await rowsOf(storage, user.id);
    const file = await zipOf(t, EXPORTS.omi);

    const tried = await takeIn(user, file, { ...TAKE, dryRun: true });
    t.deepEqual(tried.rows, { conversation: 1, task: 1, memory: 1 });
    t.deepEqual(
      tried.foreign?.leftOut.map(({ what }) => what),
      ['chat message', 'conversation'],
    );
    t.deepEqual(await rowsOf(storage, user.id), before, 'a dry run changes nothing');

    const taken = await takeIn(user, file, TAKE);
    t.deepEqual(taken.rows, tried.rows);
    const [hit, ...others] = await conversations.search(user.id, 'beans', { limit: 5, offset: 0 });
    t.is(others.length, 0);
    const found = hit?.conversation;
    t.like(found, {
      status: 'completed',
      source: 'friend',
      createdAt: Date.parse('2025-03-02T09:00:00Z'),
      structured: { title: 'Planning the garden', category: 'environment' },
    });
    t.is((await actionItems.list(user.id, { limit: 5, offset: 0 }))[0]?.conversationId, found?.id);
    t.is((await memories.list(user.id, { limit: 5, offset: 0 }))[0]?.content, 'Likes beans');
    t.is((await storage.embeddings.changes(user.id, 5)).length, 1, 'vectors follow');
    t.is(await storage.jobs.nextRunAt(['action_item.notice'], []), null, 'nobody is told of old tasks');

    const after = await rowsOf(storage, user.id);
    const again = await takeIn(user, file, TAKE);
    t.deepEqual([again.rows, again.foreign?.known], [{}, 2]);
    t.deepEqual(await rowsOf(storage, user.id), after);

    const [, first] = await foreignImports.list(user);
    t.like(first, { state: 'done', format: 'Omi', name: 'export.zip', counts: taken.rows });
    t.deepEqual(await foreignImports.undo(user, taken.foreign?.id ?? ''), taken.rows);
    t.deepEqual(await rowsOf(storage, user.id), before);
    t.is(
      (await t.throwsAsync<AppError>(foreignImports.undo(user, taken.foreign?.id ?? '')))?.code,
      'conflict',
    );
    t.is(
      (await t.throwsAsync<AppError>(foreignImports.undo(await domain.users.add('eve'), first?.id ?? '')))
        ?.code,
      'not_found',
    );
    t.deepEqual((await takeIn(user, file, TAKE)).rows, taken.rows, 'and it can be taken in anew');
  });

  test(`${name}: if storing fails half-way, nothing of the import stays; others can write meanwhile`, async t => {
    const domain = await openDomain(t, open);
    const { storage, foreignImports, users, conversations } = domain;
    const user = await account(domain);
    const other = await users.add('eve');
    const before = await rowsOf(storage, user.id);
    let reads = 0;
    const source: ForeignSource = {
      ...{ format: 'Omi', name: 'broken' },
      async *things() {
        reads += 1;
        for (let number = 0; number < 40; number++) {
          yield conversation(number);
          if (reads === 2) await conversations.storeText(textOf(other.id, number));
        }
        if (reads === 2) throw new Error('the disk went away');
      },
    };
    await t.throwsAsync(foreignImports.take(user, source), { message: 'the disk went away' });
    t.deepEqual(await rowsOf(storage, user.id), before);
    const [run] = await foreignImports.list(user);
    t.like(run, { state: 'failed', format: 'Omi' });
    await t.throwsAsync(foreignImports.undo(user, run?.id ?? ''), { message: /failed, and stored nothing/ });
    t.is((await storage.conversations.list(other.id, { limit: 100, offset: 0 })).length, 40);
  });
}

function conversation(number: number): ForeignThing {
  return {
    ...{ kind: 'conversation', key: `test:${number}`, source: 'omi', title: `Talk ${number}`, overview: '' },
    ...{ category: 'other', startedAt: 1_700_000_000_000 + number, finishedAt: null, language: 'en' },
    ...{ starred: false, discarded: false, tasks: [] },
    segments: [{ text: 'Marzipan.', start: 0, end: 1, speaker: 'Grace Hopper', isUser: false }],
  };
}

function textOf(userId: string, number: number) {
  return {
    ...{ userId, text: `Said meanwhile ${number}.`, source: 'omi', deviceId: null, language: 'en' },
    ...{ geolocation: null, startedAt: null, finishedAt: null },
  };
}

test('The next run resumes an interrupted one without duplicates', async t => {
  const domain = await openDomain(t);
  const { storage, clock, events, recordings } = domain;
  const user = await account(domain);
  const things = [conversation(1), conversation(2)];
  const source = {
    format: 'Omi',
    name: 'x',
    async *things() {
      yield* things;
    },
  };
  /** Fails as if the process had ended between a conversation and its segments. */
  const dying: Storage = {
    ...storage,
    segments: { ...storage.segments, upsert: () => new Promise(() => {}) },
  };
  const conversations = createConversations({ storage: dying, clock, events });
  void createForeignImports({ storage: dying, clock, conversations, recordings }).take(user, source);
  await eventually(
    async () => (await storage.conversations.list(user.id, { limit: 9, offset: 0 })).length > 0,
  );
  const { counts } = await domain.foreignImports.take(user, source);
  t.deepEqual(counts, { conversation: 2 });
  const stored = await storage.conversations.list(user.id, { limit: 9, offset: 0 });
  t.deepEqual(
    stored.map(({ status }) => status),
    ['completed', 'completed'],
  );
  for (const { id } of stored) t.is(await storage.segments.count(user.id, id), 1);
  t.is((await storage.people.list(user.id)).length, 1);
});

test('People who are referred to elsewhere remain when an import is undone', async t => {
  const domain = await openDomain(t);
  const { storage, foreignImports, takeIn } = domain;
  const user = await account(domain);
  const folder = await writeExport(await temporaryDirectory(t), EXPORTS.fireflies);
  const { foreign } = await takeIn(user, folder, TAKE);
  const [ada, grace] = await storage.people.list(user.id);
  t.deepEqual([ada?.name, grace?.name], ['Ada Byron', 'Grace Hopper']);
  const { id } = await completedConversation(domain, user.id, ['Said by Ada.']);
  const [segment] = await storage.segments.list(user.id, [id]);
  if (segment && ada) await storage.segments.upsert([{ ...segment, personId: ada.id }]);
  await foreignImports.undo(user, foreign?.id?.slice(-8) ?? '');
  t.deepEqual(await storage.people.list(user.id), ada ? [ada] : []);
});

test('Recordings are queued for transcription once, and are undone with their conversations', async t => {
  const domain = await openDomain(t);
  const { storage, takeIn, recordings, foreignImports } = domain;
  const user = await account(domain);
  const folder = await writeExport(await temporaryDirectory(t), { 'a/memo.wav': 'RIFF', 'copy.wav': 'RIFF' });
  const { rows, foreign } = await takeIn(user, folder, TAKE);
  t.deepEqual([rows, foreign?.known], [{ recording: 1 }, 1]);
  const [waiting, ...others] = await recordings.list(user.id, { limit: 9, offset: 0 });
  t.like(waiting, { name: 'memo.wav', state: 'waiting' });
  t.is(others.length, 0);
  t.deepEqual((await takeIn(user, folder, TAKE)).rows, {}, 'known by its content');
  const { id } = await completedConversation(domain, user.id, ['Said in it.']);
  if (waiting) await recordings.update(waiting, { state: 'done', conversationIds: [id] });
  t.deepEqual(await foreignImports.undo(user, foreign?.id ?? ''), { recording: 1 });
  const { conversations, recordings: left, foreign_items } = await rowsOf(storage, user.id);
  t.deepEqual([conversations, left, foreign_items], [undefined, undefined, undefined]);
  t.deepEqual((await takeIn(user, folder, TAKE)).rows, { recording: 1 });
});

test('If one file of several is damaged, nothing is imported', async t => {
  const domain = await openDomain(t);
  const user = await account(domain);
  const folder = await writeExport(await temporaryDirectory(t), {
    ...EXPORTS.otter,
    'z/broken.srt': '1\n00:00:05,000 --> 00:00:01,000\nBackwards\n',
  });
  const error = await t.throwsAsync<AppError>(domain.takeIn(user, folder, TAKE));
  t.regex(
    error?.message ?? '',
    /^Nothing was imported: z\/broken\.srt, line 2: the subtitle ends before it begins/,
  );
  t.deepEqual(await rowsOf(domain.storage, user.id), {});
  t.deepEqual(await domain.foreignImports.list(user), []);
});

test('Data of another server is imported over its developer API with a key', async t => {
  const there = await openRest(t);
  for (const number of Array.from({ length: 12 }).keys())
    await completedConversation(there, there.user.id, [`Sentence ${number}.`, 'Marzipan.'], {
      title: `T${number}`,
    });
  await there.send('POST', '/v1/dev/user/memories', { content: 'Likes tea' });
  await there.send('POST', '/v1/dev/user/action-items', { description: 'Call Eve' });
  const scopes = ['conversations:read', 'memories:read', 'action_items:read'];
  const { key } = await there.keys.create(there.user.id, { name: 'move', scopes } as never);
  const here = await openDomain(t);
  const user = await account(here);
  const { rows, foreign } = await here.takeIn(user, there.url, { ...TAKE, key: `${key}\n` });
  t.deepEqual(rows, { conversation: 12, memory: 1, task: 1 });
  t.is(foreign?.format, 'Omi');
  t.is((await here.conversations.search(user.id, 'marzipan', { limit: 50, offset: 0 })).length, 12);
  const refused = await t.throwsAsync<AppError>(
    here.takeIn(user, there.url, { ...TAKE, key: 'omi_dev_wrong' }),
  );
  t.regex(refused?.message ?? '', /refuses the key \(401\)/);
  t.regex((await t.throwsAsync<AppError>(here.takeIn(user, there.url, TAKE)))?.message ?? '', /--key-file/);
  t.regex(
    (await t.throwsAsync<AppError>(here.takeIn(user, 'http://10.0.0.1/v1', { ...TAKE, key: 'k' })))
      ?.message ?? '',
    /allowHosts/,
  );
});

test('Lifelogs are fetched page by page, also when the API is busy, and match the export', async t => {
  let asked = 0;
  const server = await startLocalServer(async ({ url, headers }, answer) => {
    asked += 1;
    if (headers['x-api-key'] !== 'secret') return void answer.writeHead(401).end('{}');
    if (asked === 1) return void answer.writeHead(429, { 'Retry-After': '1' }).end('{}');
    const isFirst = !url?.includes('cursor=next');
    const at = (ms: number) => new Date(1740906000000 + (isFirst ? 0 : 3_600_000) + ms).toISOString();
    const contents = [
      { type: 'heading1', content: 'Garden' },
      { type: 'heading2', content: 'Beans and peas' },
      {
        type: 'blockquote',
        content: 'Shall we plant beans?',
        startTime: at(0),
        endTime: at(2500),
        speakerName: 'Me',
        speakerIdentifier: 'user',
      },
      {
        type: 'blockquote',
        content: 'And peas.',
        startTime: at(3000),
        endTime: at(4000),
        speakerName: 'Ada',
        speakerIdentifier: null,
      },
    ];
    const lifelogs = [
      { id: isFirst ? 'l1' : 'l2', title: 'Garden', startTime: at(0), isStarred: true, contents },
    ];
    const meta = { lifelogs: { nextCursor: isFirst ? 'next' : null, count: 1 } };
    answer.setHeader('Content-Type', 'application/json').end(JSON.stringify({ data: { lifelogs }, meta }));
  });
  t.teardown(server.close);
  const domain = await openDomain(t);
  const user = await account(domain);
  const taking = domain.takeIn(user, `${server.url}/v1/lifelogs`, { ...TAKE, key: 'secret' });
  await domain.clock.asleep(1000);
  domain.clock.advance(1000);
  const { rows } = await taking;
  t.deepEqual(rows, { conversation: 2, person: 1 });
  const folder = await writeExport(await temporaryDirectory(t), EXPORTS.limitless);
  const again = await domain.takeIn(user, folder, TAKE);
  t.deepEqual([again.rows, again.foreign?.known], [{}, 1], 'known, although it comes by another way');
  t.true(
    (await domain.storage.conversations.list(user.id, { limit: 9, offset: 0 })).every(
      ({ starred }) => starred,
    ),
  );
});

test('The command line imports, lists and undoes imports, with a running server and without one', async t => {
  const server = await openServer(t, { stt: [] });
  const at = ['--data-dir', server.dataDir, 'import', '--user', 'owner'];
  const folder = await writeExport(await temporaryDirectory(t), EXPORTS.bee);
  const tried = await command([...at, folder, '--dry-run'], {});
  t.regex(
    tried.stdout,
    /^Format: Bee\. .*:\n {2}1 conversation\n {2}2 memories\n {2}2 tasks\nLeft out: 1 × daily note, .*\nNothing was changed.*without --dry-run/s,
    tried.stderr,
  );
  const taken = await command([...at, folder], {});
  t.regex(
    taken.stdout,
    /^Imported into the account owner, from Bee:.*To undo this import: .*import --user owner --undo \S+/s,
    taken.stderr,
  );
  const list = await command([...at, '--list'], {});
  t.regex(
    list.stdout,
    /done +Bee +earshot-\w+ +conversations: 1, people: 1, memories: 2, tasks: 2/,
    list.stderr,
  );
  const again = await command([...at, folder], {});
  t.regex(again.stdout, /from Bee:\n {2}nothing\nImported before: 5\.\n/, again.stderr);
  t.notRegex(again.stdout, /undo/);
  const id = /--undo (\S+)/.exec(taken.stdout)?.[1] ?? '';
  t.regex((await command([...at, '--undo', id.slice(-8)], {})).stdout, /undone\. Deleted from .*2 memories/);
  t.regex((await command([...at, '--undo', id], {})).stderr, /undone already/);
  t.regex((await command([...at, '--undo', 'ffffffff'], {})).stderr, /import --user owner --list shows all/);
  t.regex((await earshot(at, {})).stderr, /file, folder or address to import/);
});
