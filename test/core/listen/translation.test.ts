import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { accountOf } from '../../helpers/accounts.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { countingStt, openServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { startLibreTranslate } from '../../helpers/translation-servers.ts';

const AUDIO = { codec: 'pcm16', sample_rate: 16000, language: 'multi' };

test("speech is sent at once, then in its owner's language, and stored with the translation", async t => {
  const server = await startLibreTranslate();
  t.teardown(() => server.close());
  const { plugins, ...stt } = countingStt({ heard: 'de', languages: ['multi'] });
  const instance = await openServer(t, {
    ...stt,
    translator: ['libretranslate'],
    plugins: { ...plugins, libretranslate: { baseUrl: server.url } },
  });
  const { token, get } = await accountOf(instance, 'owner');
  const chosen = await fetch(`${instance.url}/v1/users/speech-settings`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ translate_to: 'en' }),
  });
  t.like(await chosen.json(), { translate_to: 'en' });
  t.like(await get('/v1/users/speech-settings'), { translate_to: 'en' });

  const released = Promise.withResolvers<void>();
  const { translate } = server;
  server.translate = async (...asked) => {
    await released.promise;
    return translate(...asked);
  };
  const client = await connectListen(instance.url, instance.key, AUDIO);
  client.socket.send(samplesToBytes(joined(speech('budget'), silence(1))));
  const { segments } = await client.until('segments'); // before any translation is done
  const [segment] = segments;
  released.resolve();
  const told = await client.until('translation');
  t.deepEqual(told.segments, [
    { id: segment?.id, translations: [{ lang: 'en', text: `(de-en) ${segment?.text}` }] },
  ] as never);
  const { conversation_id: id } = await client.until('conversation_session');
  const { body } = await instance.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  const { transcript_segments: kept } = body as { transcript_segments: { translations: unknown }[] };
  t.deepEqual(kept[0]?.translations, told.segments[0]?.translations);
  client.socket.close();
});

test('an invalid reading language is rejected', async t => {
  const instance = await openServer(t, countingStt());
  const { token } = await accountOf(instance, 'owner');
  for (const translate_to of ['multi', 'qq', 'english', '', 7]) {
    const { status } = await fetch(`${instance.url}/v1/users/speech-settings`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ translate_to }),
    });
    t.is(status, 422, String(translate_to));
  }
});
