import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { concatSamples, encodeWav, SAMPLE_RATE, samplesToBytes } from '../../../../core/audio/pcm.ts';
import { newId } from '../../../../core/domain/ids.ts';
import { CLIP_FILES, createClips } from '../../../../core/domain/speech/clips.ts';
import { CLIPS_JOB } from '../../../../core/domain/speech/speech-settings.ts';
import { createUserFiles } from '../../../../core/domain/user-files.ts';
import { containerSamples } from '../../../../core/listen/recordings/containers.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { completedConversation, openDomain, temporaryDirectory } from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../../helpers/services.ts';
import { join as joined, silence, speech } from '../../../helpers/sound.ts';

const DAY_MS = 24 * 3_600_000;
const SETTINGS = '/v1/users/speech-settings';
const CONVERSATIONS = '/v1/dev/user/conversations';

interface Audio {
  id: string;
  started_at: string;
  seconds: number;
  bytes: number;
  has_text: boolean;
}

const get = ({ url }: { url: string }, token: string, path: string, headers = {}) =>
  fetch(url + path, { headers: { Authorization: `Bearer ${token}`, ...headers } });

async function samplesOf(t: ExecutionContext, bytes: ArrayBuffer): Promise<Int16Array> {
  const path = join(await temporaryDirectory(t), 'clip.ogg');
  await writeFile(path, Buffer.from(bytes));
  const parts: Int16Array[] = [];
  for await (const part of containerSamples(path)) parts.push(part);
  return concatSamples(parts);
}

/** Likeness of two recordings (0 to 1) at the best of all shifts up to `most` samples. */
function likeness(one: Int16Array, other: Int16Array, most: number): number {
  let best = 0;
  for (let shift = -most; shift <= most; shift += 4) {
    let [product, ofOne, ofOther] = [0, 0, 0];
    for (let i = 0; i < one.length; i += 3) {
      const [a, b] = [one[i] ?? 0, other[i + shift] ?? 0];
      product += a * b;
      ofOne += a * a;
      ofOther += b * b;
    }
    best = Math.max(best, product / Math.sqrt(ofOne * ofOther || 1));
  }
  return best;
}

async function say(server: TestServer, sound: Int16Array, stream: string): Promise<string> {
  const client = await connectListen(server.url, server.key, {
    codec: 'pcm16',
    sample_rate: SAMPLE_RATE,
    stream,
  });
  client.socket.send(samplesToBytes(sound));
  const { conversation_id: id } = await client.until('conversation_session');
  await client.until('segments');
  client.socket.close();
  await client.closed;
  return String(id);
}

test('speech is kept for those who want it: to listen to, to nobody else, and deleted with its text', async t => {
  const server = await openServer(t, countingStt());
  const owner = await accountOf(server, 'owner');
  const words = speech('budget');
  const sound = joined(silence(1), words, silence(2));
  const files = () => readdir(join(server.dataDir, 'clips', server.userId)).catch(() => []);

  const before = await say(server, sound, 'before');
  t.deepEqual(await owner.get(`/v1/conversations/${before}/audio`), [], 'nothing is kept unasked');
  for (const keep_audio_days of [0, -1, 36_501, 1.5, '30'])
    await t.throwsAsync(owner.send('PATCH', SETTINGS, { keep_audio_days }), { message: /keep_audio_days/ });
  t.like(await owner.send('PATCH', SETTINGS, { keep_audio_days: 30 }), { keep_audio_days: 30 });

  await owner.post(`/v1/conversations/${before}/finish`);
  const id = await say(server, sound, 'kept');
  const list = `/v1/conversations/${id}/audio`;
  const [clip, ...rest] = (await eventually(
    () => owner.get(list),
    found => found.length > 0,
  )) as unknown as Audio[];
  if (!clip) return t.fail();
  t.deepEqual(rest, []);
  t.true(clip.has_text);
  const { transcript_segments: segments, started_at } = (await owner.get(
    `${CONVERSATIONS}/${id}?include_transcript=true`,
  )) as unknown as { transcript_segments: { start: number }[]; started_at: string };
  const spokenAt = Date.parse(started_at) + (segments[0]?.start ?? 0) * 1000;
  t.true(Math.abs(Date.parse(clip.started_at) - spokenAt) < 1000);

  const answer = await get(server, owner.token, `/v1/audio/${clip.id}`);
  t.is(answer.headers.get('content-type'), 'audio/ogg');
  const heard = await samplesOf(t, await answer.arrayBuffer());
  t.true(Math.abs(heard.length / SAMPLE_RATE - clip.seconds) < 0.1);
  const alike = likeness(words.subarray(0, SAMPLE_RATE * 2), heard, SAMPLE_RATE);
  t.true(alike > 0.8, `what is played is like what was said: ${alike}`);
  const part = await get(server, owner.token, `/v1/audio/${clip.id}`, { Range: 'bytes=0-3' });
  t.deepEqual([part.status, await part.text()], [206, 'OggS']);

  const later = new Date(Date.parse(clip.started_at) + 1).toISOString();
  t.deepEqual(await owner.get(`${list}?since=${later}`), []);
  t.is((await owner.get(`${list}?since=${clip.started_at}&limit=1`)).length, 1);
  await server.app.commands['user.add']({ name: 'eve' });
  const eve = await accountOf(server, 'eve');
  for (const path of [list, `/v1/audio/${clip.id}`]) t.is((await get(server, eve.token, path)).status, 404);

  t.is((await files()).length, 1);
  await owner.send('DELETE', `${CONVERSATIONS}/${id}`);
  t.deepEqual(await files(), []);
  t.is((await get(server, owner.token, `/v1/audio/${clip.id}`)).status, 404);

  const again = await say(server, sound, 'again');
  await eventually(async () => (await files()).length === 1);
  await owner.send('PATCH', SETTINGS, { keep_audio_days: null });
  await eventually(async () => (await files()).length === 0);
  t.deepEqual(await owner.get(`/v1/conversations/${again}/audio`), []);
});

test('an uploaded recording can be listened to, too, each part beside its text', async t => {
  const server = await openServer(t, countingStt());
  const owner = await accountOf(server, 'owner');
  await owner.send('PATCH', SETTINGS, { keep_audio_days: 30 });
  const body = new FormData();
  const sound = joined(speech('tomorrow'), silence(3), speech('budget'), silence(1));
  body.append('files', new Blob([encodeWav(sound) as Uint8Array<ArrayBuffer>]), 'talk.wav');
  const headers = { Authorization: `Bearer ${owner.token}` };
  const url = `${server.url}/v1/conversations/from-audio?started_at=2026-03-01T09:00:00Z`;
  const [recording] = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    id: string;
  }[];
  const done = await eventually(
    () => owner.get(`/v1/recordings/${recording?.id}`),
    found => found.state === 'done',
  );
  const [id] = done.conversation_ids as unknown as string[];
  const clips = (await owner.get(`/v1/conversations/${id}/audio`)) as unknown as Audio[];
  t.is(clips.length, 2);
  const gapMs = Date.parse(clips[1]?.started_at ?? '') - Date.parse(clips[0]?.started_at ?? '');
  t.true(Math.abs(gapMs / 1000 - speech('tomorrow').length / SAMPLE_RATE - 3) < 1.5, `${gapMs}`);
});

test('beyond the limit in bytes the oldest clips of an account are deleted, and no others', async t => {
  const domain = await openDomain(t);
  const { clock, log, mediaDir, speechSettings, storage, users } = domain;
  const [anna, ben] = [await users.add('anna'), await users.add('ben')];
  const files = createUserFiles(join(mediaDir, 'clips'), CLIP_FILES);
  const encode = async () => Buffer.alloc(1000);
  const clips = createClips({
    ...{ storage, speechSettings, files, encode, clock, log, maxBytesPerUser: 3500 },
    async checkDisk() {},
  });
  const kept: Record<string, string> = {};
  for (const { id: userId, name } of [anna, ben]) {
    await speechSettings.change(userId, { keepAudioDays: 7 });
    kept[name] = (await completedConversation(domain, userId, ['Hello there'])).id;
  }
  const jobs = async () => {
    const found = await storage.jobs.claim([CLIPS_JOB], Number.MAX_SAFE_INTEGER, 1000, 10);
    for (const job of found) await storage.jobs.done(job);
    return found;
  };
  await jobs(); // of the settings
  const keep = (userId: string, name: string, startedAt: number) =>
    clips.keep({ userId, conversationId: kept[name] ?? '', startedAt, pcm: speech('tomorrow') });
  const startedAt = clock.now();
  await keep(ben.id, 'ben', startedAt);
  for (const [number, expected] of [0, 0, 0, 1, 1].entries()) {
    await keep(anna.id, 'anna', startedAt + 10 - number);
    const found = await jobs();
    t.is(found.length, expected, `clip ${number}`);
    for (const job of found) {
      t.is(job.key, anna.id);
      await clips.expire(job, new AbortController().signal);
    }
  }
  const left = await storage.clips.list(anna.id, kept.anna ?? '', { since: 0, limit: 9 });
  t.deepEqual(
    left.map(clip => clip.startedAt - startedAt),
    [8, 9, 10],
    'the first to be spoken went',
  );
  t.is((await readdir(join(mediaDir, 'clips', anna.id))).length, 3);
  t.is((await readdir(join(mediaDir, 'clips', ben.id))).length, 1);
});

test('a clip that is stored while its owner chooses to keep none is deleted', async t => {
  const domain = await openDomain(t);
  const { clock, log, mediaDir, speechSettings, storage, users } = domain;
  const { id: userId } = await users.add('anna');
  await speechSettings.change(userId, { keepAudioDays: 7 });
  const { id: conversationId } = await completedConversation(domain, userId, ['Hello there']);
  const expire = async () => {
    for (const job of await storage.jobs.claim([CLIPS_JOB], Number.MAX_SAFE_INTEGER, 1000, 10)) {
      await clips.expire(job, new AbortController().signal);
      await storage.jobs.done(job);
    }
  };
  const clips = createClips({
    ...{ storage, speechSettings, clock, log, maxBytesPerUser: 1e6 },
    files: createUserFiles(join(mediaDir, 'clips'), CLIP_FILES),
    async checkDisk() {},
    async encode() {
      await speechSettings.change(userId, { keepAudioDays: null });
      await expire(); // there is no row yet
      return new Uint8Array(1000);
    },
  });
  await clips.keep({ userId, conversationId, startedAt: clock.now(), pcm: speech('tomorrow') });
  await expire();
  t.deepEqual(await storage.clips.list(userId, conversationId, { since: 0, limit: 9 }), []);
  t.deepEqual(await readdir(join(mediaDir, 'clips', userId)), []);
});

test('clips are deleted when they are older than their owner wants, and files without a row at once', async t => {
  const domain = await openDomain(t);
  const { clips, clock, conversations, mediaDir, speechSettings, storage, users } = domain;
  const { id: userId } = await users.add('anna');
  await speechSettings.change(userId, { keepAudioDays: 7 });
  const talk = await completedConversation(domain, userId, ['Hello there, old friend']);
  const other = await completedConversation(domain, userId, ['Good evening, all of you']);
  const pcm = speech('tomorrow');
  const startedAt = clock.now();
  await clips.keep({ userId, conversationId: talk.id, startedAt, pcm });
  await clips.keep({ userId, conversationId: other.id, startedAt: startedAt + 5 * DAY_MS, pcm });
  await clips.keep({ userId, conversationId: newId(1), startedAt, pcm }); // it was deleted meanwhile
  const folder = join(mediaDir, 'clips', userId);
  t.is((await readdir(folder)).length, 2);

  const job = { key: userId } as Parameters<typeof clips.expire>[0];
  const { signal } = new AbortController();
  await clock.advance(6 * DAY_MS);
  await clips.expire(job, signal);
  t.is((await readdir(folder)).length, 2);
  await clock.advance(2 * DAY_MS);
  await clips.expire(job, signal);
  const [left] = await storage.clips.list(userId, other.id, { since: 0, limit: 9 });
  t.deepEqual(await readdir(folder), [`${left?.id}.ogg`]);

  await conversations.merge(userId, talk.id, other.id);
  t.deepEqual((await storage.clips.list(userId, talk.id, { since: 0, limit: 9 })).length, 1);
  await writeFile(join(folder, `${newId(2)}.ogg`), 'left by a process that was killed');
  await clips.nightly();
  t.deepEqual(await readdir(folder), [`${left?.id}.ogg`]);
});
