import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { earshot } from '../../helpers/cli.ts';
import { coreProcess } from '../../helpers/core-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { countingStt } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const CHUNK_SAMPLES = 1600;
const SENTENCE = joined(speech('budget'), silence(2));

test('after a loss of the data, a backup made under load restores everything acknowledged before it', async t => {
  const { stt, plugins } = countingStt();
  const server = await coreProcess(t, { stt, plugins, rateLimits: { enabled: false } });
  const elsewhere = await mkdtemp(join(tmpdir(), 'earshot-disk-'));
  t.teardown(() => rm(elsewhere, { recursive: true, force: true }));
  const made = await earshot([
    '--data-dir',
    server.dataDir,
    'key',
    'owner',
    '--scopes',
    'memories:read,memories:write',
    '--json',
  ]);
  const headers = {
    authorization: `Bearer ${JSON.parse(made.stdout).key}`,
    'content-type': 'application/json',
  };
  const post = async (content: string) => {
    const answer = await fetch(`${server.url}/v1/dev/user/memories`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ content }),
    });
    t.is(answer.status, 200, await answer.text());
  };
  const query = {
    ...{ codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 14_400, ack: 'enabled' },
    ...{ client_device_id: 'pendant', stream: 'pendant' },
  };
  const pendant = await connectListen(server.url, server.key, query);
  let sent = 0;
  const talk = (pieces: number) => {
    for (let piece = 0; piece < pieces; piece++)
      for (let at = 0; at < SENTENCE.length; at += CHUNK_SAMPLES, sent++)
        pendant.socket.send(samplesToBytes(SENTENCE.subarray(at, at + CHUNK_SAMPLES)));
  };
  await post('before');
  talk(3);
  await pendant.until('ack', ({ messages }) => messages === sent);
  const acknowledged = sent;

  talk(3);
  const [backup] = await Promise.all([
    earshot(['--data-dir', server.dataDir, 'backup', '--json', '--to', elsewhere]),
    ...Array.from({ length: 20 }, (_, number) => post(`meanwhile ${number}`)),
  ]);
  t.is(backup.code, 0, backup.stderr);
  const { file } = JSON.parse(backup.stdout);

  await server.kill();
  await rm(server.dataDir, { recursive: true });
  const restored = await earshot(['--data-dir', server.dataDir, 'restore', file]);
  t.is(restored.code, 0, restored.stderr);
  await server.start();

  const answer = await fetch(`${server.url}/v1/dev/user/memories?limit=100`, { headers });
  const memories = (await answer.json()) as { content: string }[];
  t.true(memories.some(({ content }) => content === 'before'));
  // Its key works, and it still has everything that was not acknowledged.
  const again = await connectListen(server.url, server.key, { ...query, from: acknowledged });
  const { received = 0, conversation_id: id } = await again.until('conversation_session');
  t.true(received >= acknowledged, `${received} of ${acknowledged}`);
  for (let number = acknowledged; number < sent; number++) {
    const at = (number * CHUNK_SAMPLES) % (Math.ceil(SENTENCE.length / CHUNK_SAMPLES) * CHUNK_SAMPLES);
    again.socket.send(samplesToBytes(SENTENCE.subarray(at, at + CHUNK_SAMPLES)));
  }
  if (received < sent) await again.until('ack', ({ messages }) => messages === sent);
  const words = async () => {
    const path = `/v1/dev/user/conversations/${id}?include_transcript=true`;
    const { transcript_segments: segments } = (await server.get(path)) as {
      transcript_segments: { text: string }[];
    };
    return segments.flatMap(({ text }) => text.match(/\d+/g) ?? []);
  };
  await eventually(words, ({ length }) => length >= 6);
  t.is((await words()).length, 6, 'each sentence once');
  again.socket.close();
});
