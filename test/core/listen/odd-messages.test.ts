import { once } from 'node:events';
import test from 'ava';
import WebSocket from 'ws';
import type { Codec } from '../../../core/audio/codecs.ts';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { inputOf } from '../../../core/listen/connection/intake.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { garbageCollector, held } from '../../helpers/memory.ts'; // first, because it observes what others load
import { oddMessages } from '../../helpers/odd-messages.ts';
import { adtsFrames, messagesOf } from '../../helpers/packets.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { amount } from '../../helpers/thorough.ts';

const MESSAGES = amount(6400, 200_000);
const QUARTERS = 4;
const MAX_GROWTH_BYTES = 4 * 1024 * 1024;
const SEED = Number(process.env.EARSHOT_TEST_SEED ?? 20_261_121);
const SAID = joined(speech('health'), silence(4));

const sound = speech('budget').subarray(0, 16_000);
const AUDIO: Record<Codec, Uint8Array[]> = {
  pcm8: messagesOf(sound.subarray(0, 1600), 'pcm8'),
  pcm16: messagesOf(sound.subarray(0, 1600), 'pcm16'),
  opus: messagesOf(sound, 'opus'),
  opus_fs320: messagesOf(sound, 'opus_fs320'),
  aac: adtsFrames('tomorrow.aac'),
  lc3: messagesOf(sound, 'lc3'),
  lc3_fs1030: messagesOf(sound, 'lc3_fs1030'),
};

/** A client that sends arbitrary messages, and counts expected and actual answers. */
interface Odd {
  socket: WebSocket;
  /** Sends this many more, and resolves when the server has finished with them. */
  send(count: number): Promise<void>;
  errors: { due: number; told: number };
}

async function openOdd(server: TestServer, codec: Codec, customStt: boolean, seed: number): Promise<Odd> {
  const url = new URL('/v4/listen', server.url.replace('http', 'ws'));
  url.search = new URLSearchParams({
    ...{ codec, conversation_timeout: '14400', client_device_id: `${codec}-${customStt}` },
    ...(customStt ? { custom_stt: 'enabled' } : {}),
  }).toString();
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${server.key}` } });
  const errors = { due: 0, told: 0 };
  const ends = { due: 0, told: 0 };
  const messages = oddMessages(AUDIO[codec], seed);
  let look = () => {};
  socket.on('message', data => {
    const { type } = JSON.parse(String(data));
    if (type === 'error') errors.told += 1;
    if (type === 'conversation_finished') ends.told += 1;
    look();
  });
  socket.on('close', () => look());
  await once(socket, 'open');

  function sendText(text: string) {
    const { type } = inputOf({ binary: false, bytes: Buffer.from(text) });
    if (type === 'invalid' || type === 'speaker_assigned' || (type === 'suggested_transcript' && !customStt))
      errors.due += 1;
    if (type === 'finish_conversation') ends.due += 1;
    socket.send(text);
  }

  return {
    socket,
    errors,
    async send(count) {
      const isOpen = () => socket.readyState === socket.OPEN;
      for (let i = 0; i < count && isOpen(); i++) {
        const message = messages.next();
        if ('text' in message) sendText(message.text);
        else socket.send(message.bytes);
        if (i % 100 === 0) await new Promise(setImmediate);
        while (isOpen() && socket.bufferedAmount > 1024 * 1024) await new Promise(setImmediate);
      }
      sendText('{"type":"finish_conversation"}');
      const isDone = () => ends.told >= ends.due || !isOpen();
      if (!isDone()) await new Promise<void>(resolve => (look = () => isDone() && resolve()));
    },
  };
}

const collect = garbageCollector();

/** Measures once no work is left and memory no longer shrinks. */
async function heldAtRest(server: TestServer): Promise<number> {
  const isBusy = /^earshot_(jobs\{.*state="(due|running)"|spool_bytes\{state="pending").* [1-9]/m;
  while (isBusy.test(await (await fetch(`${server.url}/metrics`)).text())) await turn();
  let last = Number.POSITIVE_INFINITY;
  for (;;) {
    collect();
    const now = held();
    if (now > last - 100_000) return now;
    last = now;
    await turn();
  }
}

const turn = () => new Promise(resolve => setTimeout(resolve, 100));

test(`${MESSAGES} random messages (seed ${SEED}) crash nothing, leak nothing, and affect no other client`, async t => {
  const server = await openServer(t, countingStt());
  const neighbour = await connectListen(server.url, server.key, {
    ...{ codec: 'pcm16', sample_rate: 16000, conversation_timeout: 14400, client_device_id: 'neighbour' },
  });
  const codecs = Object.keys(AUDIO) as Codec[];
  const clients = await Promise.all([
    ...codecs.map((codec, at) => openOdd(server, codec, false, SEED + at)),
    openOdd(server, 'opus', true, SEED + codecs.length),
  ]);
  const memory: number[] = [];
  for (let quarter = 0; quarter < QUARTERS; quarter++) {
    neighbour.socket.send(samplesToBytes(SAID));
    await Promise.all(clients.map(client => client.send(MESSAGES / QUARTERS / clients.length)));
    await neighbour.until('segments', () => neighbour.segments().length === quarter + 1);
    for (const { socket } of clients) t.is(socket.readyState, socket.OPEN, `${socket.url} (seed ${SEED})`);
    memory.push(await heldAtRest(server));
  }
  t.log(`${memory.map(bytes => `${(bytes / 1e6).toFixed(1)} MB`).join(', ')} held after each quarter`);
  for (const { socket, errors } of clients) {
    t.is(errors.told, errors.due, `${socket.url} (seed ${SEED})`);
    socket.close();
  }
  const growth = (memory[3] ?? 0) - (memory[1] ?? 0);
  t.true(growth < MAX_GROWTH_BYTES, `${growth} bytes more after the last quarter (seed ${SEED})`);
  for (let offset = 0, length = 1; length > 0; offset += length) {
    const path = `/v1/dev/user/conversations?include_transcript=true&limit=25&offset=${offset}`;
    const { status, body } = await server.get(path);
    t.is(status, 200, `offset ${offset} (seed ${SEED})`);
    length = (body as unknown[]).length;
  }
  neighbour.socket.close();
});
