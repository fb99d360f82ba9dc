import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import yazl from 'yazl';
import { SAMPLE_RATE, samplesToBytes } from '../../../../core/audio/pcm.ts';
import type { Row, Storage } from '../../../../core/contract/plugin.ts';
import { LEFT_OUT } from '../../../../core/domain/export/account-files.ts';
import { createAccountMedia } from '../../../../core/domain/export/account-media.ts';
import { createExportFiles } from '../../../../core/domain/export/export-files.ts';
import { createAccountImport } from '../../../../core/domain/export/import.ts';
import { newId } from '../../../../core/domain/ids.ts';
import { decodeFile } from '../../../../core/listen/recordings/decode.ts';
import { openDisk } from '../../../../core/listen/spool/disk.ts';
import { type Entry as Message, openSpool } from '../../../../core/listen/spool/spool.ts';
import type { AppError } from '../../../../core/runtime/errors.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { command, earshot } from '../../../helpers/cli.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import {
  completedConversation,
  type Domain,
  openDomain,
  temporaryDirectory,
} from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { openRest } from '../../../helpers/rest.ts';
import { countingStt, failingStt, openServer } from '../../../helpers/services.ts';
import { join as joined, silence, speech } from '../../../helpers/sound.ts';
import { isThorough } from '../../../helpers/thorough.ts';

const DATABASES = await openDatabases(test);
type Open = (typeof DATABASES)[number]['open'];
type Rest = Awaited<ReturnType<typeof openRest>>;

const openZip = promisify<string, object, ZipFile>(yauzl.open);

const encodingOf = (path: string) =>
  /^(photos|recordings|clips|untranscribed)\//.test(path) ? 'latin1' : 'utf8';

/** Returns the text of every file of an archive. */
async function filesOf(file: string): Promise<Map<string, string>> {
  const zip = await openZip(file, { lazyEntries: true });
  const files = new Map<string, string>();
  const open = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', async (entry: Entry) => {
      let text = '';
      const encoding = encodingOf(entry.fileName);
      for await (const chunk of (await open(entry)).setEncoding(encoding)) text += chunk;
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
  for (const [path, text] of files) zip.addBuffer(Buffer.from(text, encodingOf(path)), path);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
}

/** Bytes of all photos and audio files of a user, by their names in the data directory. */
async function mediaOf({ mediaDir, storage }: Domain, userId: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const streams = await storage.streams.ids(userId);
  for (const folder of [`photos/${userId}`, `recordings/${userId}`, `clips/${userId}`, 'untranscribed'])
    for (const name of (await readdir(join(mediaDir, folder)).catch(() => [])).sort()) {
      const isTheirs = folder !== 'untranscribed' || streams.includes(name.slice(0, 36));
      const path = join(mediaDir, folder, name);
      if (isTheirs) files[`${folder.split('/')[0]}/${name}`] = (await readFile(path)).toString('base64');
    }
  return files;
}

/** Adds photos, a clip, a pending recording, and an utterance that every recogniser failed to transcribe. */
async function addMedia(
  { mediaDir, storage, clips, recordings }: Domain,
  userId: string,
  conversationId: string,
) {
  await mkdir(join(mediaDir, 'photos', userId), { recursive: true });
  await mkdir(join(mediaDir, 'untranscribed'), { recursive: true });
  for (const [number, description] of [null, 'A *red* bicycle'].entries()) {
    const id = newId(number);
    const jpeg = (bytes: number) => Buffer.concat([Buffer.of(0xff, 0xd8, 0xff), randomBytes(bytes)]);
    const [whole, small] = [jpeg(70_000 + number), jpeg(900)];
    await writeFile(join(mediaDir, 'photos', userId, `${id}.jpg`), whole);
    await writeFile(join(mediaDir, 'photos', userId, `${id}.small.jpg`), small);
    await storage.photos.insert({
      ...{ id, userId, conversationId, takenAt: 5, createdAt: 6, width: 64, height: 48 },
      ...{ bytes: whole.length + small.length, description, discarded: false },
    });
  }
  await clips.keep({ userId, conversationId, startedAt: 5, pcm: speech('tomorrow') });
  const wav = join(mediaDir, 'kitchen.WAV');
  await writeFile(wav, Buffer.concat([Buffer.from('RIFF'), randomBytes(200_000)]));
  await recordings.add(userId, { path: wav, name: 'kitchen.WAV', isTemporary: true });
  for (const [number, name] of ['walk', 'silent'].entries()) {
    const id = newId(number);
    await storage.streams.insert({
      ...{ id, userId, clientStream: name, channel: 0, conversationId, source: 'omi', deviceId: null },
      ...{ codec: 'pcm16', setup: null, anchorAt: 7, through: 1, received: 1, receivedSample: 1 },
    });
    const bytes = Buffer.concat([Buffer.from('RIFF'), randomBytes(64_000)]);
    if (name === 'walk') await writeFile(join(mediaDir, 'untranscribed', `${id}-16000.wav`), bytes);
  }
}

/** All exported rows of a user, by table; only streams whose audio is stored. */
async function rowsOf(storage: Storage, userId: string): Promise<Record<string, Row[]>> {
  const all: Record<string, Row[]> = {};
  for (const { name, rows } of await storage.owned()) {
    if (LEFT_OUT[name] !== undefined) continue;
    const found: Row[] = [];
    for await (const page of rows(userId)) found.push(...page.filter(row => row.client_stream !== 'silent'));
    if (found.length > 0) all[name] = found.map(row => ({ ...row, user_id: 'the owner' })).sort(byText);
  }
  return all;
}

const byText = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);

/** A user with data of every kind that the API offers. */
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
  const garden = { latitude: 52.520008, longitude: -13.404954 };
  await done('POST', '/v1/places', { name: 'Garden', ...garden });
  const changes = { folder_id: folder.id, starred: true, geolocation: garden };
  await done('PATCH', `/v1/dev/user/conversations/${id}`, changes);
  const { transcript_segments } = await done(
    'GET',
    `/v1/dev/user/conversations/${id}?include_transcript=true`,
  );
  await done('PATCH', `/v1/conversations/${id}/segments/${transcript_segments[0].id}`, { person_id: eve.id });
  await addMedia(rest, user.id, id);
  await done('POST', '/v1/marks', { conversation_id: id });
  const voice = { userId: user.id, space: 'sherpa.tests', vector: Float32Array.of(0.6, -0.8), seconds: 9 };
  await storage.voices.put({
    ...{ ...voice, conversationId: id, speakerId: 0, isUser: false, personId: eve.id, isChosen: true },
    updatedAt: 7,
  });
  for (const personId of [eve.id, null])
    await storage.voices.putSample({
      ...{ ...voice, id: randomUUID(), personId, conversationId: null, speakerId: null, createdAt: 7 },
    });
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
  await done('PUT', '/v1/users/listening', { schedule: [{ days: ['mon'], from: '22:00', to: '07:00' }] });
  await done('POST', '/v1/users/listening/pause', { minutes: 60 });
  await done('PUT', '/v1/users/retention', {
    keep_starred: false,
    rules: [{ data: 'conversations', folder_id: folder.id, days: 30 }],
  });
  return rest;
}

async function exported(t: ExecutionContext, rest: Rest): Promise<string> {
  const file = join(await temporaryDirectory(t), 'export.zip');
  await pipeline(rest.accountExport.archive(rest.user), createWriteStream(file));
  return file;
}

/** Pairs of source and target; with Postgres, one from it and one to it are enough. */
const ROUTES = DATABASES.flatMap(from => DATABASES.map(to => ({ from, to }))).filter(
  ({ from, to }) => isThorough || DATABASES.length === 1 || from !== to,
);

for (const { from, to } of ROUTES)
  test(`${from.name} to ${to.name}: an account is restored unchanged, under another name`, async t => {
    const rest = await lived(t, from.open);
    const file = await exported(t, rest);
    const other = await openDomain(t, to.open);
    await other.users.add('bob');
    const user = await other.users.add('eve');
    const before = await rowsOf(rest.storage, rest.user.id);
    t.true(Object.keys(before).length >= 8, Object.keys(before).join(', '));
    t.deepEqual([before.voices?.length, before.voice_samples?.length], [1, 2], 'voice prints, too');

    const checked = await other.accountImport.take(user, file, { dryRun: true });
    t.deepEqual(await rowsOf(other.storage, user.id), {}, 'a dry run changes nothing');
    t.deepEqual(await mediaOf(other, user.id), {}, 'and leaves no file');
    const media = await mediaOf(rest, rest.user.id);
    t.is(Object.keys(media).length, 7, Object.keys(media).join());
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
    t.deepEqual(await mediaOf(other, user.id), media, 'photos and audio, byte for byte');
    const kinds = ['recording.transcribe', 'photo.describe'];
    const jobs = await other.storage.jobs.claim(kinds, Number.MAX_SAFE_INTEGER, 1000, 10);
    t.deepEqual(jobs.map(({ kind, payload }) => [kind, payload.userId]).sort(), [
      ['photo.describe', user.id],
      ['recording.transcribe', user.id],
    ]);
    const found = await other.conversations.search(user.id, 'Sternchen', { limit: 5, offset: 0 });
    t.is(found.length, 1, 'it can be searched');

    t.is((await other.users.byName('eve')).disabledAt, null);
    const again = await t.throwsAsync<AppError>(other.accountImport.take(user, file));
    t.is(again?.code, 'conflict');
    t.deepEqual(await rowsOf(other.storage, user.id), after);
    const twin = await rest.users.add('twin');
    await rest.accountImport.take(twin, file);
    const { streams: _, ...others } = before;
    t.deepEqual(await rowsOf(rest.storage, twin.id), others, 'beside the account that it is of');
    const beside = Object.entries(media).filter(([name]) => !name.startsWith('untranscribed/'));
    t.deepEqual(await mediaOf(rest, twin.id), Object.fromEntries(beside));
    await rest.storage.users.remove(twin.id);
    t.deepEqual(await rowsOf(rest.storage, twin.id), {}, 'nothing of it is left, voice prints neither');
  });

const START = 1_767_225_600_000;
const GAP_MS = 500;
const PIECE = 1600;
const PIECE_MS = PIECE / (SAMPLE_RATE / 1000);

/** Stores messages of a live connection that have no text yet, as a server that was killed leaves them. */
async function hold(
  domain: Domain,
  userId: string,
  {
    client,
    messages,
    ...asked
  }: { client: string; messages: Message[]; tagged?: boolean; customStt?: boolean },
) {
  const { mediaDir, clock, log, conversations } = domain;
  const spool = await openSpool({
    disk: await openDisk(join(mediaDir, 'audio')),
    ...{ clock, log, metrics: { synced() {} } },
    limits: { maxBytes: 1e9, maxBytesPerUser: 1e9, minFreeBytes: 0 },
  });
  const { streams } = await conversations.connect({
    ...{ userId, language: 'de', deviceId: client, timeoutMs: 60_000, recordedAt: null },
    source: asked.tagged ? 'phone_call' : 'omi',
    ...{ stream: client, tagged: false, sttService: null, customStt: false, ...asked },
    format: { codec: 'pcm16', sampleRate: SAMPLE_RATE, channels: 1 },
  });
  const held = spool.open(streams[0], 0);
  for (const message of messages) await held.append(message);
  for (const { id } of streams) await conversations.anchor(userId, id, START);
  held.close();
  await spool.close();
  return streams;
}

/** A message of as many samples as `PIECE`, each of this value. */
function message(number: number, { value = number + 1, gapMs = 0, channel = [] as number[] } = {}): Message {
  const sound = Buffer.from(new Int16Array(PIECE).fill(value).buffer);
  return { kind: 'audio', number, gapMs, at: START, bytes: Buffer.concat([Buffer.from(channel), sound]) };
}

/** Lengths of the stretches of equal samples in a recording. */
async function stretches(path: string): Promise<[value: number, count: number][]> {
  const found: [number, number][] = [];
  const signal = new AbortController().signal;
  for await (const piece of decodeFile({ path, name: 'held.wav' }, { clock: systemClock, signal }))
    for (const value of piece) {
      const last = found.at(-1);
      if (last?.[0] === value) last[1] += 1;
      else found.push([value, 1]);
    }
  return found;
}
const systemClock = { sleep: (ms: number) => sleep(ms) };

for (const { from, to } of isThorough ? ROUTES : ROUTES.slice(0, 1))
  test(`${from.name} to ${to.name}: live audio without text becomes recordings of the time it was spoken`, async t => {
    const domain = await openDomain(t, from.open);
    const user = await domain.users.add('anna');
    const stranger = await domain.users.add('stranger');
    const [walk] = await hold(domain, user.id, {
      client: 'walk',
      messages: [
        message(0),
        message(1),
        message(2, { gapMs: GAP_MS }),
        message(2, { value: 99 }), // written twice
        message(3, { gapMs: 60_000 }),
        { kind: 'finish', number: 4, at: START },
        message(4),
      ],
    });
    // the first message has its text, and a quarter of the second one
    const through = PIECE + PIECE / 4;
    await domain.conversations.advance(user.id, walk.id, { through, received: 1, receivedSample: PIECE });
    await hold(domain, user.id, {
      client: 'call',
      tagged: true,
      messages: [message(0, { channel: [1] }), message(1, { channel: [2] }), message(2, { channel: [1] })],
    });
    await hold(domain, user.id, { client: 'own text', customStt: true, messages: [message(0)] });
    await hold(domain, stranger.id, { client: 'strange', messages: [message(0, { value: 1234 })] });

    const file = join(await temporaryDirectory(t), 'export.zip');
    await pipeline(domain.accountExport.archive(user), createWriteStream(file));
    const other = await openDomain(t, to.open);
    await other.users.add('bob');
    const eve = await other.users.add('eve');
    await other.accountImport.take(eve, file);

    const came = await other.recordings.list(eve.id, { limit: 99, offset: 0 });
    const heard = await Promise.all(
      came.map(async ({ id, startedAt, state, language, source, silenceMs }) => ({
        at: (startedAt ?? 0) - START,
        sound: await stretches(other.recordings.pathOf(eve.id, id)),
        ...{ state, language, source, silenceMs },
      })),
    );
    const rest = { state: 'waiting', language: 'de', source: 'omi', silenceMs: 60_000 };
    const call = { ...rest, source: 'phone_call' };
    const secondAt = 3 * PIECE_MS + GAP_MS + 60_000;
    const gap = GAP_MS * (SAMPLE_RATE / 1000);
    const byTime = (one: { at: number; sound: number[][] }, next: typeof one) =>
      one.at - next.at || (one.sound[0]?.[0] ?? 0) - (next.sound[0]?.[0] ?? 0);
    t.deepEqual(heard.sort(byTime), [
      {
        at: 0,
        sound: [
          [1, PIECE],
          [3, PIECE],
        ],
        ...call,
      },
      { at: 0, sound: [[2, PIECE]], ...call },
      {
        at: PIECE_MS * 1.25,
        sound: [
          [2, PIECE * 0.75],
          [0, gap],
          [3, PIECE],
        ],
        ...rest,
      },
      { at: secondAt, sound: [[4, PIECE]], ...rest },
      { at: secondAt + PIECE_MS, sound: [[5, PIECE]], ...rest },
    ]);
    const jobs = await other.storage.jobs.claim(['recording.transcribe'], Number.MAX_SAFE_INTEGER, 1000, 10);
    t.deepEqual(
      jobs.map(({ payload }) => [payload.userId, payload.recordingId]).sort(),
      came.map(({ id }) => [eve.id, id]).sort(),
    );
    t.is((await readdir(join(domain.mediaDir, 'audio'))).length, 4, 'the server still has its audio');
  });

test('Speech for which there was no recogniser goes along with the account, and becomes text on another server', async t => {
  const { begin, end: _, ...stt } = await failingStt(t);
  await begin();
  const server = await openServer(t, stt);
  const sound = joined(silence(0.5), speech('tomorrow'), silence(2));
  const client = await connectListen(server.url, server.key, {
    ...{ codec: 'pcm16', sample_rate: SAMPLE_RATE, stream: 'walk', ack: 'enabled' },
  });
  const startedAt = Date.now();
  client.socket.send(samplesToBytes(sound));
  await client.until('ack');
  const { token } = await server.app.commands.token({ user: 'owner' });
  const answer = await fetch(`${server.url}/v1/users/export`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'owner.zip');
  await writeFile(file, Buffer.from(await answer.arrayBuffer()));
  client.socket.close();
  await client.closed;
  await server.app.stop();
  const stopped = join(directory, 'stopped.zip');
  const run = await earshot(['--data-dir', server.dataDir, 'export', 'owner', '--to', stopped], {});
  t.is(run.code, 0, run.stderr);

  const other = await openServer(t, countingStt());
  for (const [name, archive] of [
    ['ada', file],
    ['bob', stopped],
  ] as const) {
    await other.app.commands['user.add']({ name });
    const taken = await earshot(['--data-dir', other.dataDir, 'import', archive, '--user', name], {});
    t.is(taken.code, 0, taken.stderr);
    const account = await accountOf(other, name);
    const [recording] = (await eventually(
      () => account.get('/v1/recordings'),
      ([found]) => found?.state === 'done',
    )) as unknown as { started_at: string; conversation_ids: string[] }[];
    t.true(Math.abs(Date.parse(recording?.started_at ?? '') - startedAt) < 60_000);
    const path = `/v1/dev/user/conversations/${recording?.conversation_ids[0]}?include_transcript=true`;
    const { transcript_segments: segments } = (await account.get(path)) as unknown as {
      transcript_segments: { text: string }[];
    };
    t.regex(segments[0]?.text ?? '', /^\d+ tenths$/);
  }
});

test('The archive has files for people and for programs, without credentials or data of other accounts', async t => {
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
  const [, photo = ''] =
    /!\[A \\\*red\\\* bicycle\]\(\.\.\/\.\.\/\.\.\/(photos\/[^)]+)\)/.exec(markdown) ?? [];
  t.true(files.has(photo), markdown);
  t.true(markdown.includes('Tea at \\<b\\>seven\\</b\\>'), markdown);
  t.is(markdown.split(', marked): ').length, 2, 'one line is marked');
  t.regex(files.get('data/marks.jsonl') ?? '', /^\{[^\n]+\}\n$/);
  const vtt = files.get(names.find(name => name.includes('etcpasswd') && name.endsWith('.vtt')) ?? '') ?? '';
  t.regex(vtt, /^WEBVTT\n\n00:00:0\d\.\d{3} --> 00:00:\d\d\.\d{3}\n<v Eve/);
  t.true(vtt.includes('&lt;b&gt;seven&lt;/b&gt; --&gt; now'));
  t.regex(files.get('people.vcf') ?? '', /FN:Eve\\; "the loud"\\, 雷\r\n/);
  t.regex(files.get('memories.md') ?? '', /- Likes tea \(/);
  t.regex(files.get('calendar.ics') ?? '', /SUMMARY:Call Eve/);
});

test('The tables excluded from an export exist', async t => {
  const { storage } = await openDomain(t);
  const names = new Set((await storage.owned()).map(({ name }) => name));
  t.deepEqual(
    Object.keys(LEFT_OUT).filter(name => !names.has(name)),
    [],
  );
});

test('A damaged archive is rejected with the position of the damage, and none of it is stored', async t => {
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
  const [photo = '', small = ''] = [...good.keys()].filter(name => name.startsWith('photos/'));
  const [wav = ''] = [...good.keys()].filter(name => name.startsWith('untranscribed/'));
  await rm(join(rest.mediaDir, wav)); // audio is transcribed once on this server
  const [recording = ''] = [...good.keys()].filter(name => name.startsWith('recordings/'));
  variants.push(
    ['photo missing', without(photo), /photos\.jsonl, line 1: its file in photos\/ is missing/],
    ['thumbnail missing', without(small), /photos\.jsonl, line 1: its file in photos\/ is missing/],
    ['photo cut', changed(photo, text => text.slice(0, -1)), /photos\.jsonl, line 1: its files .* bytes/],
    ['photo a page', changed(photo, text => text.replace(/^.../s, '<ht')), /photos\/.* is damaged/],
    ['recording missing', without(recording), /recordings\.jsonl, line 1: its file/],
    ['recording longer', changed(recording, text => `${text}x`), /recordings\.jsonl, line 1: its files/],
    ['audio missing', without(wav), /streams\.jsonl, line 1: its file/],
    ['audio no WAV', changed(wav, text => text.replace('RIFF', 'FFIR')), /untranscribed\/.* is damaged/],
    [
      'photo of no row',
      changed('data/photos.jsonl', text => text.replace(/"id":"[^"]+"/, '"id":"../../../../etc/passwd"')),
      /its file in photos\/ is missing/,
    ],
  );
  for (const [what, files, named] of variants) {
    await writeZip(file, files);
    const error = await t.throwsAsync<AppError>(rest.accountImport.take(user, file), undefined, what);
    t.is(error?.code, 'invalid_request', what);
    t.regex(error?.message ?? '', named, what);
    t.deepEqual(await rowsOf(rest.storage, user.id), {}, what);
    t.deepEqual(await mediaOf(rest, user.id), {}, what);
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
  const runs = await rest.foreignImports.list(user);
  t.deepEqual([...new Set(runs.map(({ state }) => state))], ['failed']);
});

test("Photos beyond an account's limit are rejected before anything is written", async t => {
  const rest = await lived(t);
  const file = await exported(t, rest);
  const eve = await rest.users.add('eve');
  const media = createAccountMedia({ dataDir: rest.mediaDir, maxPhotoBytes: 100_000, minFreeBytes: 0 });
  const { storage, clock } = rest;
  const few = createAccountImport({ storage, clock, media });
  t.regex((await t.throwsAsync(few.take(eve, file)))?.message ?? '', /100000 \(photos\.maxBytesPerUser\)/);
  const full = createAccountMedia({ dataDir: rest.mediaDir, maxPhotoBytes: 1e9, minFreeBytes: 2 ** 60 });
  const none = createAccountImport({ storage, clock, media: full });
  t.regex((await t.throwsAsync(none.take(eve, file)))?.message ?? '', /no room/);
  t.deepEqual(await rest.foreignImports.list(eve), []);
});

test('A photo whose file is missing is left out, and large files do not use memory', async t => {
  const rest = await lived(t);
  const { mediaDir, user, storage, recordings } = rest;
  const [photo] = await readdir(join(mediaDir, 'photos', user.id));
  await rm(join(mediaDir, 'photos', user.id, photo ?? ''));
  const large = join(mediaDir, 'large.wav');
  for (let part = 0; part < 64; part += 1) await writeFile(large, randomBytes(4 * 2 ** 20), { flag: 'a' });
  const { id } = await recordings.add(user.id, { path: large, name: 'large.wav' });
  const eve = await rest.users.add('eve');
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const file = await exported(t, rest);
  await rest.accountImport.take(eve, file);
  clearInterval(watch);
  t.log(
    `${Math.round((most - before) / 2 ** 20)} MiB for an archive of ${(await stat(file)).size / 2 ** 20} MiB`,
  );
  t.true(most - before < 128 * 2 ** 20);
  t.is((await stat(join(mediaDir, 'recordings', eve.id, id))).size, 256 * 2 ** 20);
  const conversations = await storage.conversations.list(eve.id, { limit: 9, offset: 0 });
  const photos = await Promise.all(conversations.map(each => storage.photos.list(eve.id, each.id, 9)));
  t.is(photos.flat().length, 1);
});

test('During an import others can write, nobody sees part of it, and a restart rolls an interrupted one back', async t => {
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
  const dying = createAccountImport({ storage: hanging, clock: rest.clock, media: rest.media });
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
  t.is(Object.keys(await mediaOf(rest, eve.id)).length, 6, 'all files but those that are here already');
  await accountImport.recover();
  t.deepEqual(await rowsOf(storage, eve.id), {});
  t.deepEqual(await mediaOf(rest, eve.id), {});
  t.is(Object.keys(await mediaOf(rest, rest.user.id)).length, 7, 'those of the other account stay');
  const found = await users.byName('eve');
  t.is(found.disabledAt, null);
  await accountImport.take(found, file);
  t.true((await storage.conversations.list(eve.id, { limit: 9, offset: 0 })).length > 0);
  const [run] = await rest.foreignImports.list(found);
  t.is((await t.throwsAsync<AppError>(rest.foreignImports.undo(found, run?.id ?? '')))?.code, 'conflict');
});

test('An account has one export at a time, and a cancelled export ends', async t => {
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

test('The API downloads the archive, and deletes the calling account when its name is given', async t => {
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

type ShownExport = { id: string; state: string; bytes: number; error: string | null };

async function readyExport({ send }: Rest): Promise<ShownExport> {
  await send('POST', '/v1/users/exports');
  return eventually<ShownExport>(
    async () => (await send('GET', '/v1/users/exports')).body[0],
    ({ state }) => state !== 'running',
  );
}

test('An export kept as a file is resumed wherever it was cut off, by its owner alone, for a day', async t => {
  const rest = await lived(t);
  const { url, send, token, user, clock, mediaDir, exportFiles } = rest;
  const { id, bytes, ...made } = await readyExport(rest);
  t.like(made, { state: 'ready', error: null });
  const address = `${url}/v1/users/exports/${id}`;
  const part = (headers: Record<string, string>) =>
    fetch(address, { headers: { ...headers, Authorization: `Bearer ${token}` } });
  const whole = await part({});
  t.is(whole.status, 200);
  const tag = whole.headers.get('ETag') ?? '';
  const all = Buffer.from(await whole.arrayBuffer());
  t.is(all.length, bytes);
  const file = join(await temporaryDirectory(t), 'export.zip');
  await writeFile(file, all);
  t.true((await filesOf(file)).has('earshot.json'));

  for (const cut of [0, 1, 65_536, Math.floor(bytes / 2), bytes - 1]) {
    const rest = await part({ Range: `bytes=${cut}-`, 'If-Range': tag });
    t.is(rest.status, 206);
    t.is(rest.headers.get('Content-Range'), `bytes ${cut}-${bytes - 1}/${bytes}`);
    const joined = Buffer.concat([all.subarray(0, cut), Buffer.from(await rest.arrayBuffer())]);
    t.true(joined.equals(all), `cut at ${cut}`);
  }
  const read = async (headers: Record<string, string>) => {
    const answer = await part(headers);
    return [answer.status, Buffer.from(await answer.arrayBuffer()).length];
  };
  t.deepEqual(await read({ Range: 'bytes=10-19' }), [206, 10]);
  t.deepEqual(await read({ Range: 'bytes=-7' }), [206, 7]);
  t.deepEqual(await read({ Range: 'bytes=5-', 'If-Range': '"another"' }), [200, bytes], 'another file');
  t.deepEqual(await read({ Range: 'bytes=1-2,4-5' }), [200, bytes]);
  t.deepEqual(await read({ Range: 'bytes=9-1' }), [200, bytes]);
  t.is((await read({ Range: `bytes=${bytes}-` }))[0], 416);
  t.is((await fetch(address, { method: 'HEAD', headers: { Authorization: `Bearer ${token}` } })).status, 200);

  await rest.users.add('stranger');
  const stranger = await rest.users.token('stranger');
  for (const method of ['GET', 'DELETE'])
    t.is((await send(method, `/v1/users/exports/${id}`, undefined, stranger)).status, 404, method);
  t.deepEqual((await send('GET', '/v1/users/exports', undefined, stranger)).body, []);
  t.is((await send('GET', '/v1/users/exports/..%2f..%2fphotos')).status, 404);

  clock.advance(24 * 3_600_000 - 1);
  await exportFiles.sweep();
  t.is((await part({})).status, 200);
  clock.advance(1);
  t.is((await part({})).status, 404, 'expired');
  const folder = join(mediaDir, 'exports', user.id);
  t.deepEqual(await readdir(folder), [`${id}.zip`]);
  await exportFiles.sweep();
  await t.throwsAsync(readdir(folder), { code: 'ENOENT' });
});

test('One export is kept for an account; one that is made, deleted or out of room leaves nothing else', async t => {
  const rest = await lived(t);
  const { send, user, mediaDir, exportFiles, accountExport, clock, log } = rest;
  const folder = join(mediaDir, 'exports', user.id);
  const [one, same] = await Promise.all([exportFiles.begin(user), exportFiles.begin(user)]);
  t.is(one.id, same.id, 'the one that is being made');
  t.is((await send('GET', `/v1/users/exports/${one.id}`)).status, 409);
  await exportFiles.remove(user.id, one.id);
  t.deepEqual(await readdir(folder).catch(() => []), []);
  const first = await readyExport(rest);
  const second = await readyExport(rest);
  t.not(first.id, second.id);
  t.deepEqual(await readdir(folder), [`${second.id}.zip`]);
  t.is((await send('DELETE', `/v1/users/exports/${second.id}`)).status, 200);
  t.is((await send('GET', `/v1/users/exports/${second.id}`)).status, 404);

  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'x.unfinished'), 'of a server that was killed');
  await exportFiles.sweep();
  t.deepEqual(await readdir(folder).catch(() => []), []);

  const full = createExportFiles({ dataDir: mediaDir, minFreeBytes: 2 ** 60, accountExport, clock, log });
  await full.begin(user);
  const failed = await eventually(
    () => full.current(user.id),
    found => found?.state !== 'running',
  );
  t.like(failed, { state: 'failed', error: 'The disk of the server has no room for the export' });
  t.deepEqual(await readdir(folder).catch(() => []), []);

  await readyExport(rest);
  await exportFiles.removeAll(user.id);
  t.deepEqual(await readdir(folder).catch(() => []), [], 'as when the account goes');
});

/** A line to a server that breaks every connection after so many bytes of answers. */
async function openWeakLine(t: ExecutionContext, target: string, limit: number) {
  let cuts = 0;
  const line = createServer(client => {
    const server = connect(Number(new URL(target).port), '127.0.0.1');
    let carried = 0;
    for (const socket of [client, server]) socket.on('error', () => {});
    client.on('data', bytes => server.write(bytes)).on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    server.on('data', bytes => {
      carried += bytes.length;
      if (carried < limit) return client.write(bytes);
      cuts += 1;
      client.end(bytes.subarray(0, limit - carried));
      return server.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(line, 'listening');
  t.teardown(() => line.close());
  const { port } = line.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, cuts: () => cuts };
}

test('The command line resumes a download over a line that breaks, also in a second run', async t => {
  const rest = await lived(t);
  const directory = await temporaryDirectory(t);
  const [file, tokenFile] = [join(directory, 'anna.zip'), join(directory, 'token')];
  await writeFile(tokenFile, `${rest.token}\n`);
  const { id, bytes } = await readyExport(rest);
  const whole = await fetch(`${rest.url}/v1/users/exports/${id}`, {
    headers: { Authorization: `Bearer ${rest.token}` },
  });
  const all = Buffer.from(await whole.arrayBuffer());
  await writeFile(`${file}.${id}.part`, all.subarray(0, 1000)); // left by a run that was ended
  const line = await openWeakLine(t, rest.url, Math.ceil(bytes / 4));
  const run = (...args: string[]) =>
    earshot(['export', 'anna', '--to', file, '--url', line.url, '--token-file', ...args]);
  const made = await run(tokenFile);
  t.regex(made.stdout, /^Everything of anna is in .*anna\.zip/, made.stderr);
  t.true((await readFile(file)).equals(all));
  t.true(line.cuts() >= 3, `${line.cuts()} cuts`);
  t.deepEqual((await readdir(directory)).sort(), ['anna.zip', 'token']);
  t.deepEqual((await rest.send('GET', '/v1/users/exports')).body, [], 'deleted once it is here');
  t.regex((await run(join(directory, 'nowhere'))).stderr, /--token-file: .* cannot be read/);
  await writeFile(tokenFile, 'wrong');
  t.regex((await run(tokenFile)).stderr, /The server refuses/);
});

test('The command line exports and imports, with and without a running server', async t => {
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
  await writeFile(`${file}.unfinished`, 'of a server that was killed');
  const made = await command([...at, 'export', 'owner', '--to', file], {});
  t.regex(made.stdout, /^Everything of owner is in .*owner\.zip \(\d+ kB\)\.\n$/, made.stderr);
  t.regex((await command([...at, 'export', 'owner', '--to', file], {})).stderr, /there already.*--to/);
  t.regex((await command([...at, 'export', 'nobody'], {})).stderr, /nobody/);
  const tried = await command([...at, 'import', file, '--user', 'eve', '--dry-run'], {});
  t.regex(tried.stdout, /^ROWS {2}TABLE\n.*1 +memories\n.*valid.*Nothing was changed/s, tried.stderr);
  t.notRegex(tried.stdout, /^0 /m);
  const trials = await earshot([...at, 'import', '--user', 'eve', '--list'], {});
  t.regex(trials.stdout, /checked +Earshot +owner\.zip +memories: 1\n/, trials.stderr);
  await server.app.stop();
  const taken = await command([...at, 'import', file, '--user', 'eve'], {});
  t.regex(taken.stdout, /Everything was imported into the account eve/, taken.stderr);
  const list = await command([...at, 'import', '--user', 'eve', '--list'], {});
  t.regex(list.stdout, /done +Earshot +owner\.zip +memories: 1\n/, list.stderr);
  t.regex((await command([...at, 'import', file, '--user', 'eve'], {})).stderr, /not empty/);
  t.regex(
    (await command([...at, 'import', '/nowhere.zip', '--user', 'eve'], {})).stderr,
    /nowhere\.zip does not exist/,
  );
});
