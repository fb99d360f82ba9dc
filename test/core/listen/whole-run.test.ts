import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { packetsOf } from '../../../core/cli/stream/recording.ts';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { say as answer, startChatServer } from '../../helpers/chat-server.ts';
import { coreProcess } from '../../helpers/core-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { drawn } from '../../helpers/photo.ts';
import { join as joined, silence } from '../../helpers/sound.ts';
import { startLibreTranslate } from '../../helpers/translation-servers.ts';
import { sentence, type VoiceName, voiceModelOptions } from '../../helpers/voices.ts';

const SEEN = 'A red umbrella leans against the door of a bakery.';
const fixture = (name: string) => join(import.meta.dirname, `../../fixtures/${name}.ts`);
/** Sound as pendants send it: Opus at 16 kHz, in frames of 20 ms. */
const PENDANT = { codec: 'opus_fs320', sample_rate: 16_000, language: 'de', client_device_id: 'pendant_1' };
const LIVE = { ...PENDANT, conversation_timeout: 600 };

interface Segment {
  id: string;
  text: string;
  speaker: string;
  is_user: boolean;
  person_id: string | null;
  translations: { lang: string; text: string }[] | null;
}

/** A server of its own, with every service that voices need, each a peer on a real socket. */
async function open(t: ExecutionContext) {
  const [chat, translator] = [await startChatServer(), await startLibreTranslate()];
  t.teardown(() => Promise.all([chat.close(), translator.close()]));
  chat.chat = (_, response) => answer(response, JSON.stringify({ description: SEEN, shows_nothing: false }));
  const patience = `NODE_OPTIONS=--import=${fixture('plugins/patient-process')}`;
  const core = await coreProcess(
    t,
    {
      stt: { live: 'prompt', final: 'second' },
      speakers: ['sherpa-speakers'],
      translator: ['libretranslate'],
      llm: ['openai-llm'],
      understanding: ['plain-understanding'],
      plugins: {
        prompt: { use: fixture('plugins/prompt-stt') },
        second: { use: fixture('plugins/second-stt'), languages: ['de'] },
        'sherpa-speakers': await voiceModelOptions(t),
        libretranslate: { baseUrl: translator.url },
        'openai-llm': { baseUrl: chat.baseUrl, model: 'llama3.2', visionModel: 'llava' },
      },
    },
    () => ['env', patience],
  );
  const made = await callControl(controlPath(core.dataDir), 'token', { user: 'owner' });
  if (made === 'absent') throw new Error('the server does not answer');
  const headers = { Authorization: `Bearer ${made.token}`, 'Content-Type': 'application/json' };
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const sent = body ? { body: JSON.stringify(body) } : {};
    return (await (await fetch(core.url + path, { method, headers, ...sent })).json()) as T;
  };
  await ask('PATCH', '/v1/users/speech-settings', { translate_to: 'en' });
  return { core, ask };
}

function speak({ socket }: ListenClient, name: VoiceName): void {
  const samples = joined(sentence(name), silence(4));
  for (const { bytes } of packetsOf({ samples, channels: 1, sampleRate: 16_000 }, 'opus_fs320'))
    socket.send(bytes);
}

/** Speaks, and resolves to the segment once the second pass has heard it, and it is translated. */
async function heard(client: ListenClient, name: VoiceName): Promise<string> {
  const before = new Set(client.segments().map(({ id }) => id));
  speak(client, name);
  const isNew = ({ id }: { id: string }) => !before.has(id);
  const live = await client.until('segments', ({ segments }) => segments.some(isNew));
  const segment = live.segments.find(isNew);
  const id = segment?.id ?? '';
  await client.until('segments', ({ segments }) =>
    segments.some(each => each.id === id && /^Again/.test(each.text)),
  );
  await client.until('translation', ({ segments }) => segments.some(each => each.id === id));
  return id;
}

for (const isKilled of [false, true])
  test(`two voices and a photo from a pendant${isKilled ? ', and the server is killed in their midst' : ''}: labels, a name, a suggestion, translations, the final text, all of it stored`, async t => {
    const { core, ask } = await open(t);
    let client = await connectListen(core.url, core.key, LIVE);
    const eve = (await ask<{ id: string }>('POST', '/v1/people', { name: 'Eve' })).id;
    const said = [await heard(client, 'slt-1'), await heard(client, 'rms-1')];
    const bytes = await drawn().jpeg(90);
    const data = bytes.toString('base64');
    client.socket.send(JSON.stringify({ type: 'image_chunk', id: 'one', index: 0, total: 1, data }));
    t.like(await client.until('photo_described'), { description: SEEN, discarded: false });
    const { conversation_id: id } = await client.until('conversation_session');
    if (isKilled) {
      await core.kill();
      await client.closed;
      await core.start();
      client = await connectListen(core.url, core.key, LIVE);
      t.is((await client.until('conversation_session')).conversation_id, id);
    }
    said.push(await heard(client, 'slt-2'));
    const assigned = {
      type: 'speaker_assigned',
      speaker_id: 0,
      person_id: eve,
      person_name: 'Eve',
      segment_ids: [],
    };
    client.socket.send(JSON.stringify(assigned));
    await client.until('segments', ({ segments }) =>
      segments.some(each => each.id === said[0] && each.person_id === eve),
    );
    client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
    await client.until('memory_created');
    client.socket.close();

    const talk = async () =>
      (
        await ask<{ transcript_segments: Segment[] }>(
          'GET',
          `/v1/dev/user/conversations/${id}?include_transcript=true`,
        )
      ).transcript_segments;
    const stored = await eventually(talk, all => all.every(({ translations }) => translations !== null));
    // After a restart the last may be placed before what was heard again: by their ids.
    const byId = (rows: unknown[][]) => rows.sort(([a], [b]) => String(a).localeCompare(String(b)));
    t.deepEqual(
      byId(stored.map(segment => [segment.id, segment.speaker, segment.person_id])),
      byId([
        [said[0], 'SPEAKER_00', eve],
        [said[1], 'SPEAKER_01', null],
        [said[2], 'SPEAKER_00', eve],
      ]),
    );
    for (const { text, translations } of stored) {
      t.regex(text, /^Again, \d+ tenths/);
      t.deepEqual(translations, [{ lang: 'en', text: `(de-en) ${text}` }]);
    }
    const photos = await ask<object[]>('GET', `/v1/conversations/${id}/photos`);
    t.is(photos.length, 1);
    t.like(photos[0], { description: SEEN });

    const next = await connectListen(core.url, core.key, { ...LIVE, source: 'bee' });
    speak(next, 'slt-1');
    t.like(await next.until('speaker_label_suggestion'), {
      person_id: eve,
      person_name: 'Eve',
      speaker_id: 0,
    });
    next.socket.close();
  });
