import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import yazl from 'yazl';
import type { Row, Storage } from '../../../../core/contract/plugin.ts';
import { LEFT_OUT } from '../../../../core/domain/export/account-files.ts';
import { createAccountImport } from '../../../../core/domain/export/import.ts';
import type { AppError } from '../../../../core/runtime/errors.ts';
import { earshot } from '../../../helpers/cli.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation, openDomain, temporaryDirectory } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';
import { openServer } from '../../../helpers/services.ts';

const DATABASES = await openDatabases(test);
type Open = (typeof DATABASES)[number]['open'];
type Rest = Awaited<ReturnType<typeof openRest>>;

const openZip = promisify<string, object, ZipFile>(yauzl.open);

/** The text of every file of an archive. */
async function filesOf(file: string): Promise<Map<string, string>> {
  const zip = await openZip(file, { lazyEntries: true });
  const files = new Map<string, string>();
  const open = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', async (entry: Entry) => {
      let text = '';
      for await (const chunk of (await open(entry)).setEncoding('utf8')) text += chunk;
      files.set(entry.fileName, text);
      zip.readEntry();
    });
    zip.once('end', resolve).once('error', reject);
    zip.readEntry();
  });
  return files;
}

async function writeZip(file: string, files: ReadonlyMap<string, string>): Promise<void> {
  const zip = new yazl.ZipFile();
  for (const [path, text] of files) zip.addBuffer(Buffer.from(text), path);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
}

/** Everything that is exported of a user, by table. */
async function rowsOf(storage: Storage, userId: string): Promise<Record<string, Row[]>> {
  const all: Record<string, Row[]> = {};
  for (const { name, rows } of await storage.owned()) {
    if (LEFT_OUT[name] !== undefined) continue;
    const found: Row[] = [];
    for await (const page of rows(userId)) found.push(...page);
    if (found.length > 0) all[name] = found.map(row => ({ ...row, user_id: 'the owner' })).sort(byText);
  }
  return all;
}

const byText = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);

/** A user who has something of everything that can be had by the interface. */
async function lived(t: ExecutionContext, open?: Open): Promise<Rest> {
  const rest = await openRest(t, open);
  const { user, send, storage } = rest;
  const done = async (method: string, path: string, body?: unknown) => {
    const answer = await send(method, path, body);
    t.true(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const eve = await done('POST', '/v1/people', { name: 'Eve; "the loud", 雷' });
  const folder = await done('POST', '/v1/folders', { name: 'Garden', description: 'Plants' });
  const odd = ['Tea\nat <b>seven</b> --> now', 'Mit *Sternchen* _und_ | 😀 \\ "Anführung"', '\u0001'];
  const { id } = await completedConversation(rest, user.id, odd, { title: '../../etc/passwd # [x](y)' });
  await done('PATCH', `/v1/dev/user/conversations/${id}`, { folder_id: folder.id, starred: true });
  const { transcript_segments } = await done(
    'GET',
    `/v1/dev/user/conversations/${id}?include_transcript=true`,
  );
  await done('PATCH', `/v1/conversations/${id}/segments/${transcript_segments[0].id}`, { person_id: eve.id });
  const many = Array.from({ length: 700 }, (_, number) => `Sentence ${number}.`);
  await completedConversation(rest, user.id, many, { title: 'Long' });
  await done('POST', '/v1/dev/user/memories', { content: 'Likes tea', tags: ['tea', 'ü'] });
  await done('POST', '/v1/dev/user/action-items', {
    description: 'Call Eve',
    due_at: '2026-12-01T09:00:00Z',
  });
  const goal = await done('POST', '/v1/dev/user/goals', { title: 'Read', target_value: 9, unit: 'books' });
  await done('PATCH', `/v1/dev/user/goals/${goal.id}/progress?current_value=3.25`);
  await storage.goalSuggestions.insert({
    ...{ id: randomUUID(), userId: user.id, goalId: goal.id, conversationId: id, segmentIds: ['a', 'b'] },
    ...{ text: 'I read “two” books.', value: 0.5, adds: true, state: 'refused', createdAt: 7 },
  });
  await done('POST', '/v1/summary-templates', { name: 'Mine', instructions: 'Short.' });
  await done('PATCH', '/v1/users/summary-settings', { language: 'de' });
  return rest;
}

async function exported(t: ExecutionContext, rest: Rest): Promise<string> {
  const file = join(await temporaryDirectory(t), 'export.zip');
  await pipeline(rest.accountExport.archive(rest.user), createWriteStream(file));
  return file;
}

for (const from of DATABASES)
  for (const to of DATABASES)
    test(`${from.name} to ${to.name}: an account comes back as it was, under another name`, async t => {
      const rest = await lived(t, from.open);
      const file = await exported(t, rest);
      const other = await openDomain(t, to.open);
      await other.users.add('bob');
      const user = await other.users.add('eve');
      const before = await rowsOf(rest.storage, rest.user.id);
      t.true(Object.keys(before).length >= 8, Object.keys(before).join(', '));

      const checked = await other.accountImport.take(user, file, { dryRun: true });
      t.deepEqual(await rowsOf(other.storage, user.id), {}, 'a dry run changes nothing');
      const counts = await other.accountImport.take(user, file);
      t.deepEqual(counts, checked);
      const after = await rowsOf(other.storage, user.id);
      if (from.name === to.name || from.name === 'Postgres') t.deepEqual(after, before);
      else t.deepEqual(JSON.parse(JSON.stringify(after).replaceAll('\\u0000', '\ufffd')), before);
      t.deepEqual(
        (await other.storage.embeddings.changes(user.id, 10)).length,
        before.memories?.length,
        'vectors are made anew',
      );
      const found = await other.conversations.search(user.id, 'Sternchen', { limit: 5, offset: 0 });
      t.is(found.length, 1, 'it can be searched');

      t.is((await other.users.byName('eve')).disabledAt, null);
      const again = await t.throwsAsync<AppError>(other.accountImport.take(user, file));
      t.is(again?.code, 'conflict');
      t.deepEqual(await rowsOf(other.storage, user.id), after);
      const twin = await rest.users.add('twin');
      await rest.accountImport.take(twin, file);
      t.deepEqual(await rowsOf(rest.storage, twin.id), before, 'beside the account that it is of');
    });

test('The archive has files for people and other programs, and neither credentials nor what is another account’s', async t => {
  const rest = await lived(t);
  const stranger = await rest.users.add('stranger');
  await completedConversation(rest, stranger.id, ['Marzipan is secret.'], { title: 'Strange' });
  const { key } = await rest.keys.create(rest.user.id, { name: 'phone' });
  await rest.send('POST', '/v1/users/developer/webhook/memory_created', {
    url: 'https://hooks.example.org/secret-path',
  });
  const files = await filesOf(await exported(t, rest));
  const names = [...files.keys()];
  t.true(names.every(name => !name.startsWith('/') && !name.split('/').includes('..')));
  const all = [...files.values()].join('\n');
  for (const hidden of ['Marzipan', key, 'secret-path', '"hash"']) t.false(all.includes(hidden), hidden);

  const endings = names.filter(name => name.startsWith('conversations/')).map(name => name.split('.').at(-1));
  t.deepEqual(endings.sort(), ['md', 'md', 'srt', 'srt', 'vtt', 'vtt']);
  const markdown =
    files.get(names.find(name => name.includes('etcpasswd') && name.endsWith('.md')) ?? '') ?? '';
  t.regex(markdown, /^---\nid: "/);
  t.true(markdown.includes('Tea at \\<b\\>seven\\</b\\>'), markdown);
  const vtt = files.get(names.find(name => name.includes('etcpasswd') && name.endsWith('.vtt')) ?? '') ?? '';
  t.regex(vtt, /^WEBVTT\n\n00:00:0\d\.\d{3} --> 00:00:\d\d\.\d{3}\n<v Eve/);
  t.true(vtt.includes('&lt;b&gt;seven&lt;/b&gt; --&gt; now'));
  t.regex(files.get('people.vcf') ?? '', /FN:Eve\\; "the loud"\\, 雷\r\n/);
  t.regex(files.get('memories.md') ?? '', /- Likes tea \(/);
  t.regex(files.get('calendar.ics') ?? '', /SUMMARY:Call Eve/);
});

test('What is left out are tables that are there', async t => {
  const { storage } = await openDomain(t);
  const names = new Set((await storage.owned()).map(({ name }) => name));
  t.deepEqual(
    Object.keys(LEFT_OUT).filter(name => !names.has(name)),
    [],
  );
});

test('An archive that is broken is refused with its place, and nothing of it is kept', async t => {
  const rest = await lived(t);
  const good = await filesOf(await exported(t, rest));
  const user = await rest.users.add('eve');
  const file = join(await temporaryDirectory(t), 'broken.zip');
  const changed = (path: string, change: (text: string) => string) =>
    new Map([...good].map(([name, text]) => [name, name === path ? change(text) : text]));
  const manifest = (change: (about: Record<string, unknown>) => object) =>
    changed('earshot.json', text => JSON.stringify(change(JSON.parse(text))));
  const without = (path: string) => new Map([...good].filter(([name]) => name !== path));
  const inMemories = (change: (row: Record<string, unknown>) => unknown) =>
    changed('data/memories.jsonl', text => `${JSON.stringify(change(JSON.parse(text)))}\n`);
  const variants: [what: string, files: ReadonlyMap<string, string>, named: RegExp][] = [
    ['no manifest', without('earshot.json'), /earshot\.json/],
    ['manifest no JSON', changed('earshot.json', () => '{'), /earshot\.json/],
    ['manifest empty', changed('earshot.json', () => ''), /earshot\.json/],
    ['manifest too large', changed('earshot.json', text => text + ' '.repeat(70_000)), /too large/],
    ['another format', manifest(about => ({ ...about, format: 2 })), /format is 2/],
    ['no counts', manifest(({ rows, ...about }) => about), /earshot\.json/],
    [
      'unknown table',
      manifest(about => ({ ...about, rows: { ...(about.rows as object), wishes: 1 } })),
      /wishes/,
    ],
    ['negative count', manifest(about => ({ ...about, rows: { memories: -1 } })), /earshot\.json/],
    ['table missing', without('data/segments.jsonl'), /segments\.jsonl is missing/],
    [
      'row too few',
      changed('data/segments.jsonl', text => text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)),
      /rows/,
    ],
    ['row twice', changed('data/memories.jsonl', text => text + text), /memories\.jsonl/],
    ['line cut', changed('data/memories.jsonl', text => text.slice(0, -5)), /memories\.jsonl, line 1/],
    ['line empty', changed('data/memories.jsonl', text => `\n${text}`), /line 1/],
    ['line a list', inMemories(() => []), /line 1/],
    ['line null', inMemories(() => null), /line 1/],
    ['column missing', inMemories(({ content, ...row }) => row), /content/],
    ['column unknown', inMemories(row => ({ ...row, wish: 1 })), /wish/],
    ['number for text', inMemories(row => ({ ...row, content: 7 })), /content/],
    ['text for number', inMemories(row => ({ ...row, created_at: 'now' })), /created_at/],
    ['null where there has to be a value', inMemories(row => ({ ...row, content: null })), /memories\.jsonl/],
    [
      'of no conversation',
      changed('data/segments.jsonl', text =>
        text.replaceAll(/"conversation_id":"[^"]+"/g, '"conversation_id":"x"'),
      ),
      /segments\.jsonl/,
    ],
  ];
  for (const [what, files, named] of variants) {
    await writeZip(file, files);
    const error = await t.throwsAsync<AppError>(rest.accountImport.take(user, file), undefined, what);
    t.is(error?.code, 'invalid_request', what);
    t.regex(error?.message ?? '', named, what);
    t.deepEqual(await rowsOf(rest.storage, user.id), {}, what);
  }
  const bytes = await readFile(await exported(t, rest));
  for (const [what, broken] of [
    ['cut', bytes.subarray(0, bytes.length / 2)],
    ['no ZIP', Buffer.from('hello')],
    ['empty', Buffer.alloc(0)],
    ['flipped', Buffer.concat([bytes.subarray(0, 60), Buffer.alloc(200, 0xff), bytes.subarray(260)])],
  ] as const) {
    await writeFile(file, broken);
    t.is(
      (await t.throwsAsync<AppError>(rest.accountImport.take(user, file), undefined, what))?.code,
      'invalid_request',
      what,
    );
    t.deepEqual(await rowsOf(rest.storage, user.id), {}, what);
  }
  await rm(file);
  t.is((await t.throwsAsync<AppError>(rest.accountImport.take(user, file)))?.code, 'invalid_request');
});

test('While an archive is taken in others write, nobody sees a part, and a start takes back what a killed server left', async t => {
  const rest = await lived(t);
  const file = await exported(t, rest);
  const { storage, accountImport, conversations, users } = rest;
  const eve = await users.add('eve');
  await storage.notifications.putSettings({
    ...(await rest.notifications.settings(eve.id)),
    timeZone: 'Asia/Tokyo',
  });
  const before = await rowsOf(storage, eve.id);
  await accountImport.take(eve, file, { dryRun: true });
  t.deepEqual(await rowsOf(storage, eve.id), before, 'settings stay as they were');

  const batches: Promise<unknown>[] = [];
  const dead = Promise.withResolvers<void>();
  const hang = () => {
    dead.resolve();
    return new Promise<never>(() => {});
  };
  const hanging = new Proxy(storage, {
    get: (target, name) =>
      name === 'embeddings' ? { ...target.embeddings, note: hang } : Reflect.get(target, name),
  });
  const dying = createAccountImport({ storage: hanging, clock: rest.clock });
  const text = { text: 'Said meanwhile.', source: 'omi', deviceId: null, language: 'en', geolocation: null };
  void dying.take(eve, file, {
    onProgress: () =>
      batches.push(
        conversations.storeText({ ...text, userId: rest.user.id, startedAt: null, finishedAt: null }),
      ),
  });
  await dead.promise;
  t.true(batches.length > 5);
  await Promise.all(batches);
  t.truthy((await users.byName('eve')).disabledAt, 'all rows are there, and nobody may see them yet');
  t.true((await storage.conversations.list(eve.id, { limit: 9, offset: 0 })).length > 0);
  await accountImport.recover();
  t.deepEqual(await rowsOf(storage, eve.id), {});
  const found = await users.byName('eve');
  t.is(found.disabledAt, null);
  await accountImport.take(found, file);
  t.true((await storage.conversations.list(eve.id, { limit: 9, offset: 0 })).length > 0);
  const [run] = await rest.foreignImports.list(found);
  t.is((await t.throwsAsync<AppError>(rest.foreignImports.undo(found, run?.id ?? '')))?.code, 'conflict');
});

test('One export of an account at a time, and one that is broken off ends', async t => {
  const { accountExport, user, users } = await lived(t);
  const first = accountExport.archive(user);
  t.is(t.throws<AppError>(() => accountExport.archive(user))?.code, 'rate_limited');
  accountExport.archive(await users.add('eve')).destroy();
  await new Promise(resolve => first.once('readable', resolve));
  const closed = new Promise(resolve => first.once('close', resolve));
  first.destroy();
  await closed;
  t.notThrows(() => accountExport.archive(user).destroy());
});

test('The interface hands the archive over, and deletes the account that asks, by its name', async t => {
  const { send, url, token, user, storage } = await lived(t);
  const answer = await fetch(`${url}/v1/users/export`, { headers: { Authorization: `Bearer ${token}` } });
  t.is(answer.headers.get('Content-Type'), 'application/zip');
  const file = join(await temporaryDirectory(t), 'export.zip');
  await writeFile(file, Buffer.from(await answer.arrayBuffer()));
  t.true((await filesOf(file)).has('earshot.json'));

  t.is((await send('DELETE', '/v1/users/me', { name: 'somebody' })).status, 409);
  t.true((await storage.conversations.list(user.id, { limit: 1, offset: 0 })).length > 0);
  t.deepEqual((await send('DELETE', '/v1/users/me', { name: user.name })).body, {
    removed: true,
    remains: [],
  });
  t.deepEqual(await rowsOf(storage, user.id), {});
  t.is((await send('GET', '/v1/dev/user/conversations')).status, 401);
});

test('The command line exports and imports, with the running server and without', async t => {
  const server = await openServer(t, { stt: [] });
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'owner.zip');
  const at = ['--data-dir', server.dataDir];
  await server.app.commands['user.add']({ name: 'eve' });
  const { token } = await server.app.commands.token({ user: 'owner' });
  await fetch(`${server.url}/v1/dev/user/memories`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ content: 'Likes tea' }),
  });
  const made = await earshot([...at, 'export', 'owner', '--to', file], {});
  t.regex(made.stdout, /^Everything of owner is in .*owner\.zip \(0\.0 MB\)\.\n$/, made.stderr);
  t.regex((await earshot([...at, 'export', 'owner', '--to', file], {})).stderr, /there already.*--to/);
  t.regex((await earshot([...at, 'export', 'nobody'], {})).stderr, /nobody/);
  const tried = await earshot([...at, 'import', file, '--user', 'eve', '--dry-run'], {});
  t.regex(tried.stdout, /1 +memories\n.*Nothing was changed/s, tried.stderr);
  await server.app.stop();
  const taken = await earshot([...at, 'import', file, '--user', 'eve'], {});
  t.regex(taken.stdout, /The account eve has it all now/, taken.stderr);
  t.regex((await earshot([...at, 'import', file, '--user', 'eve'], {})).stderr, /not empty/);
  t.regex((await earshot([...at, 'import', '/nowhere.zip', '--user', 'eve'], {})).stderr, /cannot be read/);
});
