import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transformer } from '@napi-rs/image';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import { createPictures } from '../../../../core/domain/photos/pictures.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { say as answer, type ChatServer, refuse, startChatServer } from '../../../helpers/chat-server.ts';
import { connectListen, type ListenClient } from '../../../helpers/listen-client.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';
import { drawn } from '../../../helpers/photo.ts';
import { countingStt, openServer, type TestServer } from '../../../helpers/services.ts';
import { join as joined, random, silence, speech } from '../../../helpers/sound.ts';

const OWN_STT = { custom_stt: 'enabled', conversation_timeout: 600 };
const SEEN = 'A red umbrella leans against the door of a bakery.';

/** A JPEG from a phone held sideways, with a location and a comment in its metadata. */
async function fromPhone(): Promise<Buffer> {
  const jpeg = await drawn().jpeg(90);
  const exif = Buffer.from(
    '45786966000049492a00080000000100' + '1201' + '0300' + '01000000' + '06000000' + '00000000',
    'hex',
  );
  const segment = (marker: number, data: Buffer) =>
    Buffer.concat([Buffer.from([0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 255]), data]);
  const remark = segment(0xfe, Buffer.from('taken at 52.5200 north'));
  return Buffer.concat([jpeg.subarray(0, 2), segment(0xe1, exif), remark, jpeg.subarray(2)]);
}

const say = ({ socket }: ListenClient, message: unknown) => socket.send(JSON.stringify(message));

/** Splits it into chunks of this many bytes, in random order, some of them twice. */
function sendImage(client: ListenClient, id: string, bytes: Uint8Array, size = 5000, seed = 1): void {
  const next = random(seed);
  const total = Math.ceil(bytes.length / size);
  const indices = Array.from({ length: total }, (_, index) => index).sort(() => next());
  for (const index of [...indices.slice(0, 2), ...indices].slice(0, total + 1)) {
    const data = Buffer.from(bytes.subarray(index * size, (index + 1) * size)).toString('base64');
    say(client, { type: 'image_chunk', id, index, total, data });
  }
  for (const index of indices.slice(-1))
    say(client, {
      ...{ type: 'image_chunk', id, index, total },
      data: Buffer.from(bytes.subarray(index * size, (index + 1) * size)).toString('base64'),
    });
}

async function filesOf({ dataDir }: TestServer, folder: string): Promise<string[]> {
  const entries = await readdir(join(dataDir, folder), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return entries.filter(entry => entry.isFile()).map(({ name }) => name);
}

/** Resolves when no chunk of an image is pending: a connection may end a moment after its socket. */
async function noUploads(instance: TestServer): Promise<void> {
  while ((await filesOf(instance, 'uploads')).length > 0)
    await new Promise(resolve => setTimeout(resolve, 20));
}

async function seeing(t: ExecutionContext) {
  const server = await startChatServer();
  t.teardown(server.close);
  const model = { baseUrl: server.baseUrl, model: 'llama3.2', visionModel: 'llava' };
  const { stt, plugins } = countingStt();
  const instance = await openServer(t, {
    ...{ stt, llm: ['openai-llm'], understanding: ['plain-understanding'] },
    plugins: { ...plugins, 'openai-llm': model },
  });
  return { instance, server };
}

const sees = (server: ChatServer, description: string, shows_nothing = false) => {
  server.chat = (_, response) => answer(response, JSON.stringify({ description, shows_nothing }));
};

async function open(instance: TestServer, query: Record<string, string | number> = OWN_STT) {
  const client = await connectListen(instance.url, instance.key, query);
  await client.until('service_status', ({ status }) => status === 'ready');
  return client;
}

test('a photo in chunks is stored upright without its metadata, described, found, and deleted with its files', async t => {
  const { instance, server } = await seeing(t);
  sees(server, SEEN);
  const owner = await accountOf(instance, 'owner');
  const client = await open(instance);
  sendImage(client, 'first', await fromPhone());
  const { photo_id: id } = await client.until('photo_processing', ({ temp_id }) => temp_id === 'first');
  t.like(await client.until('photo_described'), { photo_id: id, description: SEEN, discarded: false });
  const image = server.asked[0]?.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content,
  );
  t.regex(image?.find(part => part.type === 'image_url')?.image_url?.url ?? '', /^data:image\/jpeg;base64,/);

  say(client, { type: 'finish_conversation' });
  const { conversation_id: conversation } = await client.until('conversation_finished');
  t.truthy(conversation, 'a photo is no silence: the conversation stays');
  await client.until('memory_created');
  const [listed] = await owner.get(`/v1/conversations/${conversation}/photos`);
  t.like(listed, {
    id,
    conversation_id: conversation,
    width: 240,
    height: 320,
    description: SEEN,
    discarded: false,
  });

  const get = (path: string, token = owner.token) =>
    fetch(instance.url + path, { headers: { Authorization: `Bearer ${token}` } });
  const whole = await get(`/v1/photos/${id}`);
  t.is(whole.headers.get('content-type'), 'image/jpeg');
  const bytes = Buffer.from(await whole.arrayBuffer());
  t.like(await new Transformer(bytes).metadata(true), { format: 'jpeg', width: 240, height: 320 });
  t.false(bytes.includes('Exif') || bytes.includes('52.5200'));
  const small = Buffer.from(await (await get(`/v1/photos/${id}?size=small`)).arrayBuffer());
  t.like(await new Transformer(small).metadata(), { format: 'jpeg', height: 320 });

  const found = await owner.get('/v1/dev/user/conversations/search?query=bakery');
  t.deepEqual(
    found.map(each => each.id),
    [conversation],
  );
  t.like(found[0], { structured: { title: SEEN } });
  server.chat = (_, response) => refuse(response, 400, {});
  const { sources } = await owner.post('/v1/dev/user/ask', { question: 'Where did I see a bakery?' });
  t.like(sources, [{ type: 'conversation', id: conversation }], 'what a photo shows answers questions, too');

  await instance.app.commands['user.add']({ name: 'ben' });
  const ben = await accountOf(instance, 'ben');
  const foreign = await get(`/v1/photos/${id}`, ben.token);
  const unknown = await get('/v1/photos/01890000-0000-7000-8000-000000000000', ben.token);
  t.deepEqual([foreign.status, await foreign.text()], [unknown.status, await unknown.text()]);
  t.is((await get(`/v1/conversations/${conversation}/photos`, ben.token)).status, 404);

  t.is((await filesOf(instance, 'photos')).length, 2);
  const removed = await fetch(`${instance.url}/v1/dev/user/conversations/${conversation}`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${owner.token}` },
  });
  t.is(removed.status, 200);
  t.deepEqual(await filesOf(instance, 'photos'), []);
  t.is((await get(`/v1/photos/${id}`)).status, 404);
  client.socket.close();
  await client.closed;
});

test('JPEG, PNG and WebP are accepted under any name; dark, blurred and empty photos are discarded', async t => {
  const { instance, server } = await seeing(t);
  sees(server, '', true);
  const client = await open(instance);
  const kinds = {
    jpeg: await drawn().jpeg(90),
    png: await drawn().png(),
    webp: await drawn().webp(80),
  };
  for (const [name, bytes] of Object.entries(kinds)) sendImage(client, name, bytes, 2000, 3);
  for (const name of Object.keys(kinds)) {
    const { photo_id: id } = await client.until('photo_processing', ({ temp_id }) => temp_id === name);
    const told = await client.until('photo_described', ({ photo_id }) => photo_id === id);
    t.like(told, { description: '', discarded: true }, `the model sees nothing in the ${name}`);
  }
  const asked = server.asked.length;
  for (const [name, level] of Object.entries({ dark: 5, blank: 200 })) {
    sendImage(client, name, await drawn(320, 240, level).png());
    const { photo_id: id } = await client.until('photo_processing', ({ temp_id }) => temp_id === name);
    t.like(await client.until('photo_described', it => it.photo_id === id), { discarded: true }, name);
  }
  t.is(server.asked.length, asked, 'no model is asked about them');
  client.socket.close();
  await client.closed;
});

test('an invalid photo is rejected with an explanation, leaves no file, and the socket stays open', async t => {
  const instance = await openServer(t, { ...countingStt(), photos: { maxBytesPerUser: 30_000 } });
  const client = await open(instance);
  const errors = () => client.events.flatMap(event => (event.type === 'error' ? [event] : []));
  let seen = 0;
  const refused = async (id: string, code: string, message: RegExp) => {
    seen += 1;
    await client.until('error', () => errors().length >= seen);
    const error = errors()[seen - 1];
    t.is(error?.code, code, id);
    t.regex(error?.message ?? '', message, id);
  };
  const chunk = (
    id: string,
    index: number,
    total: number,
    data = Buffer.from('no picture').toString('base64'),
  ) => say(client, { type: 'image_chunk', id, index, total, data });
  const jpeg = await drawn().jpeg(90);
  chunk('text', 0, 1);
  await refused('text', 'invalid_image', /cannot be decoded/);
  sendImage(client, 'half', jpeg.subarray(0, 600));
  await refused('half', 'invalid_image', /"half"/);
  chunk('index', 2, 2);
  await refused('index', 'invalid_image', /index and total/);
  chunk('total', 0, 3);
  chunk('total', 1, 4);
  await refused('total', 'invalid_image', /index and total/);
  chunk('letters', 0, 1, 'not base64!');
  await refused('letters', 'invalid_message', /Base64/);
  chunk('pieces', 0, 9000);
  await refused('pieces', 'invalid_message', /total/);
  const piece = Buffer.alloc(700_000).toString('base64');
  for (let index = 0; index < 15; index++) chunk('large', index, 20, piece);
  await refused('large', 'invalid_image', /more than 10485760 bytes/);
  sendImage(client, 'quota', await drawn(1600, 1200).jpeg(95));
  await refused('quota', 'photos_full', /is full/);
  for (let number = 0; number < 51; number++) chunk(`open ${number}`, 0, 2);
  await refused('too many', 'too_many_images', /50/);

  sendImage(client, 'good', jpeg);
  t.truthy((await client.until('error', () => errors().length > seen)).code, 'those that are open count');
  client.socket.close();
  await client.closed;
  const next = await open(instance);
  await noUploads(instance);
  sendImage(next, 'good', jpeg);
  await next.until('photo_processing', ({ temp_id }) => temp_id === 'good');
  next.socket.close();
  await next.closed;
  await noUploads(instance);
  t.is((await filesOf(instance, 'photos')).length, 2);
});

test.serial('pictures that cannot be read do not end the process that reads them', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-pictures-'));
  let started = 0;
  const onStart = () => {
    started += 1;
  };
  subscribe('child_process', onStart);
  const pictures = createPictures({ clock: manualClock() });
  t.teardown(async () => {
    unsubscribe('child_process', onStart);
    await pictures.stop();
    await rm(folder, { recursive: true });
  });
  const [bad, good] = [join(folder, 'bad'), join(folder, 'good')];
  await writeFile(bad, 'x'.repeat(1000));
  await writeFile(good, await drawn().jpeg(90));
  const to = { to: join(folder, 'to'), small: join(folder, 'small') };
  for (let count = 0; count < 3; count++)
    await t.throwsAsync(pictures.prepare({ from: bad, ...to }), { message: /cannot be decoded/ });
  t.like(await pictures.prepare({ from: good, ...to }), { dark: false });
  t.is(started, 1);
});

test('photos are sent alongside speech, survive a restart, and are deleted with their account', async t => {
  const settings = { ...countingStt(), dataDir: join((await openServer(t)).dataDir, 'second') };
  const first = await openServer(t, settings);
  const client = await open(first, { codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 600 });
  const sound = joined(speech('budget'), silence(1));
  client.socket.send(samplesToBytes(sound));
  sendImage(client, 'beside', await drawn().png());
  const { photo_id: id } = await client.until('photo_processing');
  await client.until('segments');
  client.socket.close();
  await client.closed;
  await first.stop();

  const again = await openServer(t, settings);
  const owner = await accountOf(again, 'owner');
  const photo = await fetch(`${again.url}/v1/photos/${id}`, {
    headers: { Authorization: `Bearer ${owner.token}` },
  });
  t.is(photo.status, 200);
  const [file] = await filesOf(again, 'photos');
  t.true((await readFile(join(settings.dataDir, 'photos', again.userId, file ?? ''))).length > 500);
  await again.app.commands['user.add']({ name: 'ben' });
  await again.app.commands['user.role']({ user: 'ben', role: 'operator' });
  await again.app.commands['user.remove']({ user: 'owner' });
  t.deepEqual(await filesOf(again, 'photos'), []);
});
