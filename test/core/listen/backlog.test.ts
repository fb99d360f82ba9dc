import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { createBacklog } from '../../../core/listen/backlog.ts';
import { RETURN_MS } from '../../../core/listen/connection/parameters.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { failingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const QUERY = {
  codec: 'pcm16',
  sample_rate: 16000,
  conversation_timeout: 2,
  client_device_id: 'pendant',
  stream: 'walk',
  ack: 'enabled',
};
const SAID = joined(speech('budget'), silence(4));

interface Stored {
  id: string;
  status: string;
  transcript_segments: { start: number }[];
}

/**
 * A server whose recogniser is unavailable between calls of `begin` and `end`, with a clock on which a slow
 * machine causes no timeouts.
 */
async function serverWithOutages(t: ExecutionContext, listen: Record<string, number> = {}) {
  const { begin, end, ...stt } = await failingStt(t);
  const server = await openServer(t, { ...stt, listen }, { clock: fastClock(t) });
  return { server, begin, end };
}

async function say(server: TestServer, from: number): Promise<ListenClient> {
  const client = await connectListen(server.url, server.key, { ...QUERY, from });
  client.socket.send(samplesToBytes(SAID));
  await client.until('ack', ({ messages }) => messages === from + 1);
  return client;
}

async function stored(server: TestServer, enough: (list: Stored[]) => boolean): Promise<Stored[]> {
  const path = '/v1/dev/user/conversations?include_transcript=true';
  const { body } = await eventually(
    () => server.get(path),
    ({ status, body }) => status === 200 && enough(body as Stored[]),
  );
  return body as Stored[];
}

test('streams of the backlog are processed four at a time, and none before its client had time to reconnect', async t => {
  const clock = manualClock();
  const left = Array.from({ length: 11 }, (_, n) => ({ id: `stream ${n}`, userId: 'owner' }));
  const ends: (() => void)[] = [];
  const worked: string[] = [];
  const backlog = createBacklog({
    left: () => left.filter(({ id }) => !worked.includes(id)),
    async work({ id }) {
      worked.push(id);
      await new Promise<void>(resolve => ends.push(resolve));
    },
    touch: async () => ({ againMs: 10 * RETURN_MS, mayReturn: true }),
    maxWaitMs: 1e9,
    clock,
    log: pino({ level: 'silent' }),
  });
  await backlog.takeUp();
  await clock.asleep(RETURN_MS);
  clock.advance(RETURN_MS - 1);
  await turn();
  t.deepEqual(worked, []);
  const claim = await backlog.claim('stream 0');
  t.false(claim.wasWorking);

  clock.advance(1);
  for (let done = 0; done < 10; done++) {
    const under = Math.min(4, 10 - done);
    while (ends.length < under) await turn();
    for (let more = 0; more < 5; more++) await turn();
    t.is(ends.length, under, `${done} are done`);
    ends.shift()?.();
  }
  t.deepEqual(
    worked.toSorted(),
    left
      .slice(1)
      .map(({ id }) => id)
      .toSorted(),
  );
  claim.release();
  await clock.asleep(RETURN_MS);
  await backlog.stop();
  t.is(worked.length, 10, 'who came back and went again is waited for anew');
});

test('audio that no recogniser could take is stored, and transcribed without its client once one is available', async t => {
  const { server, begin, end } = await serverWithOutages(t);
  await begin();
  const client = await say(server, 0);
  const failed = await client.until('service_status', ({ status }) => status === 'stt_failed');
  t.like(failed, { provider: 'counting', retryable: true });
  t.is((await client.closed).code, 1011);
  await end();
  const list = await stored(server, ({ length }) => length > 0);
  t.is(list.length, 1);
  t.is(list[0]?.transcript_segments.length, 1);
});

test('text that arrives after the end of its conversation is added to it, at its time', async t => {
  const { server, begin, end } = await serverWithOutages(t, { maxUntranscribedMs: 1000 });
  const first = await say(server, 0);
  await first.until('segments');
  first.socket.close();
  await first.closed;
  await begin();
  const second = await say(server, 1);
  // Each segment is added, and processed, right after the other.
  for (let more = 0; more < 5; more++) second.socket.send(samplesToBytes(SAID));
  await second.until('ack', ({ messages }) => messages === 7);
  t.is((await second.closed).code, 1011);

  const [before] = await stored(server, ({ length }) => length > 0);
  t.is(before?.transcript_segments.length, 1, 'it does not wait for ever');
  await end();
  const list = await stored(server, ([conversation]) => conversation?.transcript_segments.length === 7);
  t.deepEqual(
    list.map(({ id }) => id),
    [before?.id],
  );
  const start = list[0]?.transcript_segments[1]?.start ?? 0;
  t.true(Math.abs(start - SAID.length / 16_000) < 0.5, `at ${start} s`);
});
