import test from 'ava';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../helpers/listen-client.ts';
import { countingStt } from '../helpers/services.ts';
import { join as joined, silence, speech } from '../helpers/sound.ts';
import { isThorough } from '../helpers/thorough.ts';

const MESSAGE_SAMPLES = 1600;
const PART = joined(speech('budget'), silence(4));
const PART_S = PART.length / 16_000;
const QUERY = { codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 600, ack: 'enabled' };

interface Stored {
  id: string;
  transcript_segments: { start: number; end: number }[];
}

/** Sends in messages of 100 ms from this one on, as fast as possible. */
function send(client: ListenClient, sound: Int16Array, from = 0): number {
  let message = 0;
  for (let at = 0; at < sound.length; at += MESSAGE_SAMPLES, message++)
    if (message >= from) client.socket.send(samplesToBytes(sound.subarray(at, at + MESSAGE_SAMPLES)));
  return message;
}

async function finished(core: CoreProcess, count: number): Promise<Stored[]> {
  const path = '/v1/dev/user/conversations?include_transcript=true';
  return eventually(
    async () => (await core.get(path)) as Stored[],
    ({ length }) => length >= count,
  );
}

/** One that does not even end when it is asked to hangs as well. */
for (const behaviour of isThorough ? ['hangs', 'ignores'] : ['ignores']) {
  test(`a recogniser that ${behaviour} and clients that keep sending neither delay a stop nor lose a word`, async t => {
    const core = await coreProcess(t, countingStt({ behaviour }));
    const query = (device: string) => ({
      ...QUERY,
      client_device_id: device,
      stream: `walk${device}`,
      from: 0,
    });
    const devices = ['a', 'b', 'c'];
    const talk = joined(PART, PART);
    const clients = await Promise.all(
      devices.map(async device => {
        const client = await connectListen(core.url, core.key, query(device));
        const messages = send(client, talk);
        await client.until('ack', ack => ack.messages === messages);
        const noise = setInterval(() => client.socket.send(Buffer.alloc(3200)), 20);
        const closed = client.closed.finally(() => clearInterval(noise));
        return { client, messages, closed };
      }),
    );
    t.is(await core.stop(), 0);
    for (const { client, closed } of clients) {
      t.is((await closed).code, 1012);
      t.deepEqual(client.segments(), []);
    }

    await core.start(countingStt());
    for (const [i, device] of devices.entries()) {
      const client = await connectListen(core.url, core.key, query(device));
      const { received = 0 } = await client.until('conversation_session');
      t.true(received >= (clients[i]?.messages ?? 0), `${received} received`);
      client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
      await client.until('memory_created');
      client.socket.close();
    }
    for (const { transcript_segments: segments } of await finished(core, 3)) {
      t.is(segments.length, 2);
      const [first, second] = segments;
      t.true(Math.abs((second?.end ?? 0) - (first?.end ?? 0) - PART_S) <= 0.1);
    }
  });
}

/** `crash.test.ts` continues a stream after a kill. */
for (const end of isThorough ? (['stop', 'kill'] as const) : (['stop'] as const)) {
  test(`after a ${end} in the middle two devices continue their streams, each with its own text, once`, async t => {
    const core = await coreProcess(t, countingStt());
    const talk = joined(PART, PART, PART, PART);
    const devices = ['a', 'b'].map(device => ({
      ...QUERY,
      client_device_id: device,
      stream: `walk of ${device}`,
      from: 0,
    }));
    const half = talk.length / 2 - MESSAGE_SAMPLES * 35;
    await Promise.all(
      devices.map(async device => {
        const client = await connectListen(core.url, core.key, device);
        send(client, talk.subarray(0, half));
        await client.until('segments');
      }),
    );
    if (end === 'stop') t.is(await core.stop(), 0);
    else await core.kill();
    await core.start();

    const ids = await Promise.all(
      devices.map(async device => {
        const client = await connectListen(core.url, core.key, device);
        const session = await client.until('conversation_session');
        send(client, talk);
        client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
        const { conversation_id: id } = await client.until('conversation_finished');
        t.is(id, session.conversation_id, 'the conversation goes on');
        client.socket.close();
        return id;
      }),
    );
    t.is(new Set(ids).size, 2);
    for (const { transcript_segments: segments } of await finished(core, 2)) {
      t.is(segments.length, 4);
      for (const [i, segment] of segments.entries())
        t.true(
          Math.abs(segment.end - (segments[0]?.end ?? 0) - i * PART_S) <= 0.1,
          `${i} ends at ${segment.end} s`,
        );
    }
  });
}
