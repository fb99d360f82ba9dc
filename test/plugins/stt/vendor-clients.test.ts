/**
 * Runs the vendors' clients against the servers of the tests, to compare their requests with those of our
 * plugins.
 */
import { DeepgramClient } from '@deepgram/sdk';
import test from 'ava';
import { OpenAI, toFile } from 'openai';
import { encodeWav } from '../../../core/audio/pcm.ts';
import { utteranceOf } from '../../../plugins/kit/suites/stt.ts';
import deepgram from '../../../plugins/stt/deepgram/index.ts';
import openai from '../../../plugins/stt/openai/index.ts';
import { SPEECH } from '../../helpers/known-speech.ts';
import { startOpenAiServer } from '../../helpers/openai-server.ts';
import { startSttServer } from '../../helpers/stt-servers.ts';
import { run } from './context.ts';

const never = new AbortController().signal;
const [hello] = SPEECH;
const samples = hello?.samples ?? new Int16Array(0);
const KEY = 'key-of-tests';
const VOCABULARY = ['Anna', 'Dr. Okonkwo'];

test("Deepgram's client works with the test server, and the plugin deepgram sends the same requests", async t => {
  const server = await startSttServer('deepgram');
  t.teardown(server.close);
  const client = new DeepgramClient({
    apiKey: KEY,
    environment: {
      base: server.url,
      production: server.url,
      agent: server.url,
      agentRest: server.url.replace('ws', 'http'),
    },
  });
  const theirs = await client.listen.v1.connect({
    ...{ Authorization: `Token ${KEY}`, reconnectAttempts: 0 },
    ...{ model: 'nova-3', language: 'en', encoding: 'linear16', sample_rate: 16_000, channels: 1 },
    ...{ interim_results: 'true', punctuate: 'true', smart_format: 'true', diarize: 'true' },
    keyterm: VOCABULARY,
  });
  const heard: string[] = [];
  const finalized = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  theirs.on('message', message => {
    if (message.type !== 'Results' || !message.is_final) return;
    heard.push(message.channel.alternatives[0]?.transcript ?? '');
    if (message.from_finalize) finalized.resolve();
  });
  theirs.on('close', () => closed.resolve());
  theirs.connect();
  await theirs.waitForOpen();
  theirs.sendMedia(Buffer.from(samples.buffer));
  theirs.sendFinalize({ type: 'Finalize' });
  await finalized.promise;
  theirs.sendCloseStream({ type: 'CloseStream' });
  await closed.promise;
  t.deepEqual(heard, ['good morning']);
  const saidByThem = server.said.splice(0);

  const { stt, stop } = await run(deepgram, { url: `${server.url}/v1/listen`, apiKey: KEY });
  t.teardown(stop);
  const session = await stt.open({ language: 'en', vocabulary: VOCABULARY, signal: never });
  for await (const { text } of session.transcribe(utteranceOf(samples, 0), never)) t.is(text, 'good morning');
  await session.close();
  await server.heard('CloseStream');
  t.deepEqual(
    server.said.filter(message => !message.includes('KeepAlive')),
    saidByThem,
  );
  const [their, our] = server.requests.map(({ url, headers }) => ({
    path: url.pathname,
    query: [...url.searchParams].sort(([a], [b]) => a.localeCompare(b)),
    authorization: headers.authorization,
  }));
  t.deepEqual(our, their);
});

test("OpenAI's client works with the test server, and the plugin openai sends the same form", async t => {
  const server = await startOpenAiServer();
  t.teardown(server.close);
  const client = new OpenAI({ apiKey: KEY, baseURL: server.baseUrl });
  const heard = await client.audio.transcriptions.create({
    file: await toFile(encodeWav(samples), 'utterance.wav', { type: 'audio/wav' }),
    ...{ model: 'whisper-1', language: 'en', response_format: 'verbose_json' },
  });
  t.is(heard.text.trim(), 'good morning');
  t.is(heard.segments?.length, 2);

  const { stt, stop } = await run(openai, { baseUrl: server.baseUrl, apiKey: KEY, model: 'whisper-1' });
  t.teardown(stop);
  const session = await stt.open({ language: 'en', signal: never });
  for await (const _ of session.transcribe(utteranceOf(samples, 0), never));
  await session.close();
  const [theirs, ours] = server.asked;
  t.deepEqual(ours, theirs);
  const posts = server.requests.filter(({ path }) => path.endsWith('/transcriptions'));
  t.deepEqual(posts[1], posts[0]);
  t.is(posts[0]?.authorization, `Bearer ${KEY}`);
});
