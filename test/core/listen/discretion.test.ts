import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { accountOf } from '../../helpers/accounts.ts';
import { say as reply, startChatServer } from '../../helpers/chat-server.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { startOpenAiServer } from '../../helpers/openai-server.ts';
import { drawn } from '../../helpers/photo.ts';
import { openServer } from '../../helpers/services.ts';
import { join as joined, silence } from '../../helpers/sound.ts';
import { answer, startLibreTranslate } from '../../helpers/translation-servers.ts';
import {
  patient,
  profileRecording,
  sentence,
  type VoiceName,
  voiceModelOptions,
} from '../../helpers/voices.ts';

const SAID = 'Die Blumen im Garten brauchen heute Abend noch Wasser.';
const SAID_LATER = 'Der Nachbar hat gestern seinen Schlüssel im Keller verloren.';
const SEEN = 'A red umbrella leans against the door of a bakery.';
const AUDIO = { codec: 'pcm16', sample_rate: 16_000, language: 'de', conversation_timeout: 600 };
/** Enough Base64 characters to identify a picture. */
const PICTURE_CHARS = 60;

/** A server with every service that hears, sees and translates, each a peer on a real socket. */
async function open(t: ExecutionContext) {
  const [stt, chat, translator] = [
    await startOpenAiServer(),
    await startChatServer(),
    await startLibreTranslate(),
  ];
  t.teardown(() => Promise.all([stt.close(), chat.close(), translator.close()]));
  stt.transcribe = (_, response) => answer(response, 200, { text: SAID, language: 'de' });
  chat.chat = (_, response) => reply(response, JSON.stringify({ description: SEEN, shows_nothing: false }));
  const plugins = {
    openai: { baseUrl: stt.baseUrl },
    'sherpa-speakers': await voiceModelOptions(t),
    libretranslate: { baseUrl: translator.url },
    'openai-llm': { baseUrl: chat.baseUrl, model: 'llama3.2', visionModel: 'llava' },
  };
  const services = { stt: ['openai'], speakers: ['sherpa-speakers'], translator: ['libretranslate'] };
  const server = await openServer(
    t,
    { ...services, llm: ['openai-llm'], understanding: ['plain-understanding'], plugins },
    { clock: patient },
  );
  const account = await accountOf(server, 'owner');
  const post = (path: string, body: Uint8Array<ArrayBuffer>) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.token}`, 'Content-Type': 'application/octet-stream' },
      body,
    });
  return { server, account, post, stt, chat, translator };
}

async function speak(client: ListenClient, name: VoiceName): Promise<void> {
  const before = new Set(client.segments().map(({ id }) => id));
  client.socket.send(samplesToBytes(joined(sentence(name), silence(4))));
  await client.until('segments', ({ segments }) => segments.some(({ id }) => !before.has(id)));
}

function sendPhoto({ socket }: ListenClient, id: string, bytes: Buffer): string {
  const data = bytes.toString('base64');
  socket.send(JSON.stringify({ type: 'image_chunk', id, index: 0, total: 1, data }));
  return data;
}

test('no log line at any level contains voice prints, photos, translations or words, even if services fail and quote them', async t => {
  const { server, account, post, stt, chat, translator } = await open(t);
  await account.send('PATCH', '/v1/users/speech-settings', { translate_to: 'en' });
  t.is((await post('/v1/users/speech-profile', samplesToBytes(profileRecording('slt')))).status, 200);
  const client = await connectListen(server.url, server.key, AUDIO);
  await speak(client, 'slt-1');
  await client.until('translation');
  const pictures = [sendPhoto(client, 'one', await drawn().jpeg(90))];
  await client.until('photo_described');
  await speak(client, 'rms-1');
  const { conversation_id: id } = await client.until('conversation_session');
  const { id: eve } = await account.post('/v1/people', { name: 'Eve' });
  await account.post(`/v1/conversations/${id}/speakers/1`, { person_id: eve, days: 30 });

  // Each fails, and quotes its input or its data.
  stt.transcribe = (_, response) => answer(response, 200, { text: SAID_LATER, language: 'de' });
  translator.translate = ({ body }, response) => answer(response, 500, { error: `cannot: ${body.q}` });
  chat.chat = ({ messages }, response) => answer(response, 500, { error: JSON.stringify(messages) });
  await speak(client, 'slt-2');
  pictures.push(sendPhoto(client, 'two', await drawn(320, 320).jpeg(80)));
  await client.until('photo_processing', ({ temp_id: of }) => of === 'two');
  pictures.push(sendPhoto(client, 'three', Buffer.from(`no picture at all: ${SEEN} ${SEEN}`)));
  await client.until('error');
  stt.transcribe = (_, response) => answer(response, 500, { error: `cannot: ${SAID}` });
  const said = samplesToBytes(joined(silence(0.5), sentence('rms-2'), silence(1)));
  t.is((await post('/v2/voice-message/transcribe', said)).status, 502);
  t.is((await post('/v1/users/speech-profile', said)).status, 422);
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client.until('conversation_finished');
  client.socket.close();
  await eventually(() => server.lines.some(line => line.includes('libretranslate') && line.includes('500')));
  await eventually(() => server.lines.some(line => line.includes('openai-llm') && line.includes('500')));

  const folder = join(server.dataDir, 'photos', server.userId);
  for (const file of await readdir(folder))
    pictures.push((await readFile(join(folder, file))).toString('base64'));
  t.true(pictures.length >= 5);
  const all = server.lines.join('');
  const levels = new Set(server.lines.map(line => JSON.parse(line).level));
  t.true(levels.has('debug') || levels.has(20), [...levels].join());
  for (const hidden of [SAID, SAID_LATER, SEEN, ...pictures.map(data => data.slice(0, PICTURE_CHARS))])
    t.false(all.includes(hidden), hidden);
  // When it stops, its log is compared with all personal data in its database.
  await t.notThrowsAsync(server.stop);
});
