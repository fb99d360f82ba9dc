import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import { startBridge } from '../../../bridge/main.ts';
import type { Sound } from '../../../bridge/simulator/board.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { packetsOf } from '../../../core/cli/stream/recording.ts';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { say as answer, startChatServer } from '../../helpers/chat-server.ts';
import { coreProcess } from '../../helpers/core-process.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { drawn } from '../../helpers/photo.ts';
import { PATIENT, startRecogniser } from '../../helpers/recogniser-process.ts';
import { join as joined, silence } from '../../helpers/sound.ts';
import { startLibreTranslate } from '../../helpers/translation-servers.ts';
import { sentence, type VoiceName, voiceModelOptions } from '../../helpers/voices.ts';

const SEEN = 'A red umbrella leans against the door of a bakery.';
process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
/** Multiple of real time at which the wearable sends. */
const SPEED = 10;

interface Segment {
  id: string;
  text: string;
  speaker: string;
  is_user: boolean;
  person_id: string | null;
  translations: { lang: string; text: string }[];
}

/** A dictionary of short words only: with it, pocketsphinx recognises less than the second pass. */
async function shortWords(t: ExecutionContext): Promise<string> {
  const all = await readFile('/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict', 'utf8');
  const file = join(await temporaryDirectory(t), 'short.dict');
  await writeFile(
    file,
    all
      .split('\n')
      .filter(line => /^[a-z']{1,4}(\(\d\))? /.test(line))
      .join('\n'),
  );
  return file;
}

/**
 * A separate server with every service that voices need: pocketsphinx for live words, a remote recogniser for
 * the second pass, sherpa-onnx for voices, and peers on real sockets for images and translations.
 */
async function open(t: ExecutionContext) {
  const [chat, translator] = [await startChatServer(), await startLibreTranslate()];
  t.teardown(() => Promise.all([chat.close(), translator.close()]));
  const { url: recogniser } = await startRecogniser(t);
  chat.chat = (_, response) => answer(response, JSON.stringify({ description: SEEN, shows_nothing: false }));
  const core = await coreProcess(
    t,
    {
      stt: { live: 'pocketsphinx', final: 'custom-stt' },
      speakers: ['sherpa-speakers'],
      translator: ['libretranslate'],
      llm: ['openai-llm'],
      understanding: ['plain-understanding'],
      plugins: {
        pocketsphinx: { dict: await shortWords(t) },
        'custom-stt': { url: recogniser },
        'sherpa-speakers': await voiceModelOptions(t),
        libretranslate: { baseUrl: translator.url },
        'openai-llm': { baseUrl: chat.baseUrl, model: 'llama3.2', visionModel: 'llava' },
      },
    },
    () => ['env', `NODE_OPTIONS=${PATIENT}`],
  );
  const made = await callControl(controlPath(core.dataDir), 'token', { user: 'owner' });
  if (made === 'absent') throw new Error('the server does not answer');
  const headers = { Authorization: `Bearer ${made.token}`, 'Content-Type': 'application/json' };
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const sent = body ? { body: JSON.stringify(body) } : {};
    return (await (await fetch(core.url + path, { method, headers, ...sent })).json()) as T;
  };
  await ask('PATCH', '/v1/users/speech-settings', { translate_to: 'de' });
  return { core, ask };
}

type Told<E extends BridgeEvent['event']> = Extract<BridgeEvent, { event: E }>;
type Glasses = Awaited<ReturnType<typeof wear>>;

/** Simulated glasses with Opus and a camera, in range of a bridge that forwards them to the server. */
async function wear(t: ExecutionContext, { core }: Awaited<ReturnType<typeof open>>) {
  const said: Uint8Array[] = [];
  const sound: Sound = {
    length: Number.POSITIVE_INFINITY,
    frameMs: 20,
    at(index) {
      glasses.faults.asleep = index + 1 >= said.length; // until more is said
      return said[index] ?? new Uint8Array();
    },
  };
  const glasses = createPendant({ codecId: 21, frames: sound, hasCamera: true, clock, speed: SPEED });
  glasses.faults.asleep = true;
  const controller = createController();
  controller.add(glasses);
  const events: BridgeEvent[] = [];
  const watchers = new Set<() => void>();
  const bridge = await startBridge({
    config: ConfigSchema.parse({
      dataDir: await temporaryDirectory(t),
      bridge: {
        core: core.url.replace('http', 'ws'),
        key: core.key,
        language: 'en',
        conversationTimeoutS: 600,
      },
    }),
    log: pino({ level: 'silent' }),
    clock,
    load: simulatedNoble(controller),
    limits: { uplink: { firstRetryMs: 50, maxRetryMs: 200 } },
    onEvent(event) {
      events.push(event);
      for (const look of [...watchers]) look();
    },
  });
  t.teardown(async () => {
    glasses.stop();
    await bridge.stop();
  });

  /** Resolves to the first matching event, past or future. */
  function until<E extends BridgeEvent['event']>(name: E, fits = (_: Told<E>) => true): Promise<Told<E>> {
    const { promise, resolve } = Promise.withResolvers<Told<E>>();
    const look = () => {
      const found = events.find((one): one is Told<E> => one.event === name && fits(one as Told<E>));
      if (!found) return;
      watchers.delete(look);
      resolve(found);
    };
    watchers.add(look);
    look();
    return promise;
  }

  return {
    events,
    until,
    takePhoto: glasses.takePhoto,
    say(name: VoiceName) {
      const samples = joined(sentence(name), silence(4));
      for (const { bytes } of packetsOf({ samples, channels: 1, sampleRate: 16_000 }, 'opus_fs320'))
        said.push(bytes);
      glasses.faults.asleep = false;
    },
  };
}

/** Plays it, and resolves to the segment after the second pass and the translation of its final text. */
async function heard(glasses: Glasses, name: VoiceName): Promise<string> {
  const told = glasses.events.flatMap(event => (event.event === 'segments' ? event.segments : []));
  const before = new Set(told.map(({ id }) => id));
  glasses.say(name);
  const isNew = ({ id }: { id: string }) => !before.has(id);
  const live = await glasses.until('segments', ({ segments }) => segments.some(isNew));
  const id = live.segments.find(isNew)?.id ?? '';
  const isFinal = (each: { id: string; stt_provider: string | null }) =>
    each.id === id && each.stt_provider === 'custom-stt';
  const { segments } = await glasses.until('segments', told => told.segments.some(isFinal));
  const text = segments.find(isFinal)?.text ?? '';
  const isOf = (each: { id: string; translations: { text: string }[] }) =>
    each.id === id && each.translations.some(translation => translation.text.endsWith(text));
  await glasses.until('translation', told => told.segments.some(isOf));
  return id;
}

for (const isKilled of [false, true])
  test(`two voices and a photo from simulated glasses, over the bridge${isKilled ? ', with a kill of the server' : ''}: labels, a name, a suggestion, translations and the final text are stored`, async t => {
    const server = await open(t);
    const { core, ask } = server;
    const glasses = await wear(t, server);
    const eve = (await ask<{ id: string }>('POST', '/v1/people', { name: 'Eve' })).id;
    const said = [await heard(glasses, 'slt-1'), await heard(glasses, 'rms-1')];
    glasses.takePhoto(await drawn().jpeg(90));
    t.like(await glasses.until('photo_described'), { description: SEEN, discarded: false });
    const { conversation_id: id } = await glasses.until('conversation_session');
    if (isKilled) {
      await core.kill();
      await core.start();
      await glasses.until('connected', ({ received }) => received > 0);
    }
    said.push(await heard(glasses, 'slt-2'));
    await ask('POST', `/v1/conversations/${id}/speakers/0`, { person_id: eve });
    await ask('POST', `/v1/conversations/${id}/finish`);
    await glasses.until('memory_created', ({ memory }) => memory.id === id);

    const talk = async () =>
      (
        await ask<{ transcript_segments: Segment[] }>(
          'GET',
          `/v1/dev/user/conversations/${id}?include_transcript=true`,
        )
      ).transcript_segments;
    const stored = await talk();
    // After a restart the last one may precede repeated ones, so they are ordered by id.
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
      t.regex(text, /^[A-Z].*[a-z]{5}.*\.$/, 'the second pass knows longer words');
      t.deepEqual(translations, [{ lang: 'de', text: `(en-de) ${text}` }]);
    }
    const photos = await ask<object[]>('GET', `/v1/conversations/${id}/photos`);
    t.is(photos.length, 1);
    t.like(photos[0], { description: SEEN });

    glasses.say('slt-1');
    t.like(await glasses.until('speaker_label_suggestion'), {
      person_id: eve,
      person_name: 'Eve',
      speaker_id: 0,
    });
  });
