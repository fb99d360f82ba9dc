import { createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import yazl from 'yazl';
import { openDatabases } from '../../../helpers/databases.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { openRest } from '../../../helpers/rest.ts';

const DATABASES = await openDatabases(test);
type Body = string | FormData | Uint8Array<ArrayBuffer>;
type Rest = Awaited<ReturnType<typeof openRest>>;

const SUBTITLES = '1\n00:00:01,000 --> 00:00:02,000\nAnna: The kettle is on.\n';
const OTHERS = '1\n00:00:01,000 --> 00:00:02,000\nBen: Seven umbrellas.\n';

function upload({ url, token }: Rest, query: string, body: Body, by = token) {
  const headers: Record<string, string> = { Authorization: `Bearer ${by}` };
  if (!(body instanceof FormData)) headers['Content-Type'] = 'application/octet-stream';
  return fetch(`${url}/v1/imports${query}`, { method: 'POST', headers, body });
}

/** Resolves to the progress of the latest import when it has ended. */
async function over({ send }: Rest, token?: string) {
  return eventually(
    async () => (await send('GET', '/v1/imports/progress', undefined, token)).body,
    ({ running }) => running === false,
  );
}

const conversations = async ({ storage, user }: Rest) =>
  storage.conversations.list(user.id, { limit: 10, offset: 0 });

/** Files of uploads that still exist. */
const left = ({ mediaDir }: Rest) => readdir(join(mediaDir, 'uploads')).catch(() => []);

async function zipOf(t: ExecutionContext, files: Record<string, string>): Promise<Uint8Array<ArrayBuffer>> {
  const zip = new yazl.ZipFile();
  for (const [name, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), name);
  zip.end();
  const path = join(await temporaryDirectory(t), 'files.zip');
  await pipeline(zip.outputStream, createWriteStream(path));
  return new Uint8Array(await readFile(path));
}

for (const { name, open } of DATABASES)
  test(`${name}: an upload is previewed, imported, recognised again and undone`, async t => {
    const rest = await openRest(t, open);
    const { send } = rest;
    t.like((await send('GET', '/v1/imports/progress')).body, { work: null, running: false, done: 0 });

    t.is((await upload(rest, '?name=talk.srt&dry_run=true', SUBTITLES)).status, 200);
    t.like(await over(rest), { work: 'dry_run', import_id: null, counts: { conversation: 1 }, error: null });
    t.deepEqual(await conversations(rest), []);
    t.deepEqual((await send('GET', '/v1/imports')).body, []);

    const form = new FormData();
    form.append('file', new Blob([await zipOf(t, { 'a.srt': SUBTITLES, 'b.srt': OTHERS })]), 'talks.zip');
    t.like(await (await upload(rest, '', form)).json(), { work: 'import', running: true });
    const came = await over(rest);
    t.like(came, { work: 'import', done: 2, error: null, known: 0 });
    t.is(came.counts.conversation, 2);
    t.is((await conversations(rest)).length, 2);
    t.like((await send('GET', '/v1/imports')).body[0], {
      id: came.import_id,
      name: 'talks.zip',
      state: 'done',
    });

    await upload(rest, '?name=again.zip', await zipOf(t, { 'a.srt': SUBTITLES }));
    t.like(await over(rest), { known: 1 });
    t.is((await conversations(rest)).length, 2);

    const eve = await rest.users.add('eve');
    const token = await rest.users.token('eve');
    t.deepEqual((await send('GET', '/v1/imports', undefined, token)).body, []);
    t.is((await send('POST', `/v1/imports/${came.import_id}/undo`, undefined, token)).status, 404);
    t.like((await send('GET', '/v1/imports/progress', undefined, token)).body, { work: null });
    t.deepEqual(await rest.foreignImports.list(eve), []);

    t.is((await send('POST', `/v1/imports/${came.import_id}/undo`)).status, 200);
    t.like(await over(rest), { work: 'undo', import_id: came.import_id, error: null });
    t.deepEqual(await conversations(rest), []);
    t.is((await send('POST', `/v1/imports/${came.import_id}/undo`)).status, 409);
    t.deepEqual(await left(rest), [], 'no upload stays on the disk');
  });

test('unknown formats, damaged files, and archives of Earshot are rejected by name, and nothing is stored', async t => {
  const rest = await openRest(t);
  const cases: [name: string, body: Body, why: RegExp][] = [
    ['letter.docx', 'PK?', /letter\.docx: unknown format/],
    ['broken.zip', (await zipOf(t, { 'a.srt': SUBTITLES })).subarray(0, 60), /broken\.zip is a damaged ZIP/],
    ['mixed.zip', await zipOf(t, { 'a.srt': SUBTITLES, 'b.exe': 'MZ' }), /b\.exe: unknown format/],
    ['earshot.zip', await zipOf(t, { 'earshot.json': '{}' }), /archive of Earshot/],
    ['..%2F..%2Fetc%2Fpasswd', 'root:x:0', /Nothing was imported: passwd: unknown format/],
    ['%00%01..', 'x', /unknown format/],
  ];
  for (const [name, body, why] of cases) {
    const answer = await upload(rest, `?name=${name}`, body);
    t.is(answer.status, 200, await answer.text());
    t.regex((await over(rest)).error, why, name);
  }
  t.is((await upload(rest, '?name=empty.srt', '')).status, 422);
  t.is((await upload(rest, '?dry_run=perhaps', SUBTITLES)).status, 422);
  const two = new FormData();
  for (const file of ['a.srt', 'b.srt']) two.append('file', new Blob([SUBTITLES]), file);
  t.is((await upload(rest, '', two)).status, 422);
  t.deepEqual(await conversations(rest), []);
  t.deepEqual(await rest.foreignImports.list(rest.user), []);
  t.deepEqual(await left(rest), []);
});

test('neither an import that failed nor that of a whole account can be undone', async t => {
  const { send, storage, user } = await openRest(t);
  const common = { userId: user.id, name: 'owner.zip', counts: {}, startedAt: 1, endedAt: 2 };
  await storage.foreignImports.insert({ ...common, id: 'whole', format: 'Earshot', state: 'done' });
  await storage.foreignImports.insert({ ...common, id: 'broken', format: 'Omi', state: 'failed' });
  const whole = await send('POST', '/v1/imports/whole/undo');
  t.is(whole.status, 409);
  t.regex(whole.body.detail, /delete the account/);
  const broken = await send('POST', '/v1/imports/broken/undo');
  t.is(broken.status, 409);
  t.regex(broken.body.detail, /failed, and stored nothing/);
});

test('one import per account runs at a time, and two in total', async t => {
  const rest = await openRest(t);
  const tokens = [rest.token];
  for (const name of ['ben', 'cleo']) {
    await rest.users.add(name);
    tokens.push(await rest.users.token(name));
  }
  const [anna, ben, cleo] = tokens;
  const first = await upload(rest, '?name=talk.srt', SUBTITLES, anna);
  t.like(await first.json(), { running: true });
  const second = await upload(rest, '?name=talk.srt', OTHERS, anna);
  t.is(second.status, 409);
  t.is((await upload(rest, '?name=talk.srt', OTHERS, ben)).status, 200);
  const third = await upload(rest, '?name=talk.srt', OTHERS, cleo);
  t.is(third.status, 429);
  t.is(third.headers.get('retry-after'), '60');
  for (const token of [anna, ben]) t.is((await over(rest, token)).error, null);
  t.is((await upload(rest, '?name=talk.srt', OTHERS, cleo)).status, 200, 'when they are over');
  t.is((await over(rest, cleo)).counts.conversation, 1);
});
