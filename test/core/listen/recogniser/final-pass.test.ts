import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import { newId } from '../../../../core/domain/ids.ts';
import { removeFinalPass } from '../../../../core/listen/recogniser/final-pass.ts';
import { coreProcess } from '../../../helpers/core-process.ts';
import { connectListen, type ListenClient } from '../../../helpers/listen-client.ts';
import { countingStt, failingStt, openServer } from '../../../helpers/services.ts';
import { join as joined, silence, speech } from '../../../helpers/sound.ts';

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600, client_device_id: 'pendant' };
const TALK = joined(speech('health'), silence(2));

interface Stored {
  transcript_segments: { id: string; text: string; speaker_id: number }[];
}

function say(client: ListenClient, samples: Int16Array) {
  for (let at = 0; at < samples.length; at += 1600)
    client.socket.send(samplesToBytes(samples.subarray(at, at + 1600)));
}

const finish = (client: ListenClient) => client.socket.send(JSON.stringify({ type: 'finish_conversation' }));

/** Both passes write tenths of a second as text; a real recogniser may replace the second. */
function twoPasses(second: Record<string, unknown> = {}, live: Record<string, unknown> = {}) {
  const { plugins } = countingStt(live);
  const use = join(import.meta.dirname, '../../../fixtures/plugins/second-stt.ts');
  return { plugins: { ...plugins, second: { use, ...second } }, stt: { live: 'counting', final: 'second' } };
}

const isFinal = ({ text }: { text: string }) => /Again/.test(text);

test('live words are sent at once; a second recogniser replaces them under the same segment id, and that text is stored', async t => {
  const stt = { live: ['counting'], final: 'pocketsphinx' };
  const server = await openServer(t, { ...twoPasses(), stt });
  const client = await connectListen(server.url, server.key, PCM);
  say(client, TALK);
  const first = await client.until('segments');
  t.regex(first.segments[0]?.text ?? '', /tenths$/);
  t.is(first.segments[0]?.stt_provider, 'counting');
  const replaced = await client.until('segments', ({ segments }) =>
    segments.some(({ text }) => /better/.test(text)),
  );
  const [segment] = replaced.segments;
  t.is(segment?.id, first.segments[0]?.id);
  t.is(segment?.stt_provider, 'pocketsphinx');
  finish(client);
  const { memory } = await client.until('memory_created');
  const stored = memory.transcript_segments as Stored['transcript_segments'];
  t.deepEqual(
    stored.map(({ id, text }) => ({ id, text })),
    client.segments().map(({ id, text }) => ({ id, text })),
  );
  t.false(
    stored.some(({ text }) => /tenths/.test(text)),
    'the summary is made of the final text',
  );
  t.deepEqual(await readdir(join(server.dataDir, 'final-pass')), [], 'no audio is left');
  client.socket.close();
});

test('an utterance of several speakers keeps its segments, and each gets its words', async t => {
  const server = await openServer(t, twoPasses({}, { speakers: 2 }));
  const client = await connectListen(server.url, server.key, PCM);
  say(client, TALK);
  await client.until('segments', () => client.segments().some(isFinal));
  const speakers = client.segments().map(({ speaker_id }) => speaker_id);
  t.true(speakers.includes(0) && speakers.includes(1), 'who spoke is what the live recogniser heard');
  client.socket.close();
});

test('if the second recogniser lacks the language, the live text stays, and no audio is kept', async t => {
  const server = await openServer(t, twoPasses({ languages: ['de'] }));
  const client = await connectListen(server.url, server.key, PCM);
  say(client, TALK);
  await client.until('segments');
  finish(client);
  await client.until('memory_created');
  t.false(client.segments().some(isFinal));
  t.deepEqual(await readdir(join(server.dataDir, 'final-pass')).catch(() => []), []);
  client.socket.close();
});

test('the second recogniser also serves live speech if no other can, and is not asked twice', async t => {
  const plugins = { pocketsphinx: { hmm: '/nowhere' }, ...countingStt().plugins };
  const server = await openServer(t, { plugins, stt: { live: 'pocketsphinx', final: 'counting' } });
  const client = await connectListen(server.url, server.key, PCM);
  say(client, TALK);
  await client.until('segments');
  finish(client);
  await client.until('memory_created');
  t.true(client.segments().every(({ text }) => /tenths$/.test(text)));
  client.socket.close();
});

test('while the second recogniser is unavailable the live text stays; after a kill and restart the server replaces it once', async t => {
  const outage = await failingStt(t);
  await outage.begin();
  const { use: _, ...away } = outage.plugins.counting;
  const core = await coreProcess(t, twoPasses(away));
  const client = await connectListen(core.url, core.key, PCM);
  say(client, TALK);
  await client.until('segments');
  const name = await waiting(core.dataDir);
  t.is((await stat(join(core.dataDir, 'final-pass', name))).mode & 0o777, 0o600);
  await core.kill();
  await client.closed;
  const live = client.segments();
  t.false(live.some(isFinal));

  await writeFile(join(core.dataDir, 'final-pass', `${name}.new`), 'half of an utterance');
  await outage.end();
  await core.start();
  const path = '/v1/dev/user/conversations?include_transcript=true';
  const again = await connectListen(core.url, core.key, PCM);
  finish(again);
  await again.until('memory_created');
  const [stored] = (await core.get(path)) as Stored[];
  const texts = stored?.transcript_segments ?? [];
  t.deepEqual(
    texts.map(({ id }) => id),
    live.map(({ id }) => id),
  );
  t.true(texts.every(isFinal));
  t.deepEqual(await readdir(join(core.dataDir, 'final-pass')), [], 'nothing is left, whole or half');
  again.socket.close();
});

test('the pending second passes of an account are deleted with it, and no others', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-final-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const [gone, kept] = [newId(1), newId(2)];
  for (const id of [gone, kept]) await writeFile(join(dir, `${id}-0.utterance`), '');
  await removeFinalPass(dir, [gone]);
  t.deepEqual(await readdir(dir), [`${kept}-0.utterance`]);
});

/** Waits until the audio of an utterance is on disk. */
async function waiting(dataDir: string): Promise<string> {
  for (;;) {
    const names = await readdir(join(dataDir, 'final-pass')).catch((): string[] => []);
    const name = names.find(each => each.endsWith('.utterance'));
    if (name) return name;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
