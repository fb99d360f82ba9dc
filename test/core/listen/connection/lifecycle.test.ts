import test from 'ava';
import { pino } from 'pino';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import {
  type ConnectionEvent,
  type ConnectionState,
  createLifecycle,
  LIFE,
} from '../../../../core/listen/connection/lifecycle.ts';
import { createLog } from '../../../../core/runtime/log.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../../helpers/services.ts';
import { join as joined, silence, speech } from '../../../helpers/sound.ts';

/** Events that lead into each state. */
const WAYS: Record<ConnectionState, ConnectionEvent[]> = {
  connecting: [],
  authenticating: ['accepted'],
  ready: ['accepted', 'authenticated'],
  streaming: ['accepted', 'authenticated', 'audio'],
  processing: ['accepted', 'authenticated', 'audio', 'ended'],
  closed: ['accepted', 'refused'],
};
const EVENTS: ConnectionEvent[] = ['accepted', 'authenticated', 'refused', 'audio', 'ended', 'closed'];
/** Every possible event; text without audio is one, as the protocol allows it. */
const TABLE = [
  'connecting accepted authenticating',
  'connecting refused closed',
  'authenticating authenticated ready',
  'authenticating refused closed',
  'ready audio streaming',
  'ready ended processing',
  'ready closed closed',
  'streaming audio streaming',
  'streaming ended processing',
  'streaming closed closed',
  'processing audio streaming',
  'processing ended processing',
  'processing closed closed',
];

function connection(way: ConnectionEvent[]) {
  const logged: { level: number; state?: string; event?: string }[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const counts = new Map<string, number>();
  const life = createLifecycle(counts, log);
  for (const event of way) life.on(event);
  return { life, counts, errors: () => logged.filter(({ level }) => level >= 50) };
}

for (const [state, way] of Object.entries(WAYS) as [ConnectionState, ConnectionEvent[]][])
  for (const event of EVENTS) {
    const next = TABLE.find(row => row.startsWith(`${state} ${event} `))?.split(' ')[2] as
      | ConnectionState
      | undefined;
    test(`${state}: ${event} ${next ? `leads to ${next}` : 'cannot happen: it is logged as an error, and changes nothing'}`, t => {
      const { life, counts, errors } = connection(way);
      t.is(life.state, state);
      life.on(event);
      t.is(life.state, next ?? state);
      t.deepEqual(
        errors().map(({ state, event }) => ({ state, event })),
        next ? [] : [{ state, event }],
      );
      const counted = [...counts].filter(([, count]) => count !== 0);
      t.deepEqual(counted, life.state === 'closed' ? [] : [[life.state, 1]]);
    });
  }

test('the table has every state, and no other transitions than these', t => {
  t.deepEqual(Object.keys(LIFE).sort(), Object.keys(WAYS).sort());
  const rows = Object.entries(LIFE).flatMap(([state, ways]) =>
    Object.entries(ways).map(([event, next]) => `${state} ${event} ${next}`),
  );
  t.deepEqual(rows.sort(), [...TABLE].sort());
});

// ── real connections ────────────────────────────────────────────────────────────────────────────────────────────────

async function states(server: TestServer): Promise<Record<string, number>> {
  const text = await (await fetch(new URL('/metrics', server.url))).text();
  const found = text.matchAll(/^earshot_connections\{state="(\w+)"\} ([1-9]\d*)$/gm);
  return Object.fromEntries([...found].map(([, state, count]) => [state, Number(count)]));
}

async function until(server: TestServer, state: string | null): Promise<void> {
  await eventually(
    () => states(server),
    now => Object.keys(now).join() === (state ?? ''),
  );
}

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };

test('a connection moves through its states as its client sends, and logs each', async t => {
  const lines: { level: number; msg: string }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLog({ level: 'info', format: 'json' }, { write });
  const server = await openServer(t, countingStt(), { log });
  const { token } = await server.app.commands.token({ user: 'owner' });
  const client = await connectListen(server.url, null, PCM, '/v4/web/listen');
  const say = (message: unknown) => client.socket.send(JSON.stringify(message));
  await until(server, 'authenticating');
  say({ type: 'auth', token });
  await until(server, 'ready');
  client.socket.send(samplesToBytes(joined(speech('budget'), silence(1))));
  await until(server, 'streaming');
  await client.until('segments');
  say({ type: 'finish_conversation' });
  await until(server, 'processing');
  client.socket.send(samplesToBytes(silence(1)));
  await until(server, 'streaming');
  client.socket.close();
  await until(server, null);
  t.deepEqual(
    lines.flatMap(({ msg }) => /^connection is (\w+)$/.exec(msg)?.[1] ?? []),
    ['ready', 'streaming', 'processing', 'streaming', 'closed'],
  );
  t.deepEqual(
    lines.filter(({ level }) => level >= 50),
    [],
  );
});

test('a connection that is refused, by status or by close code, leaves nothing behind', async t => {
  const server = await openServer(t, countingStt());
  const stranger = await connectListen(server.url, null, PCM, '/v4/web/listen');
  await until(server, 'authenticating');
  stranger.socket.send('{"type":"auth","token":"nonsense"}');
  t.is((await stranger.closed).code, 1008);
  await t.throwsAsync(connectListen(server.url, 'nonsense', PCM), { message: /401/ });
  t.is((await (await connectListen(server.url, server.key, { codec: 'mp3' })).closed).code, 1003);
  await until(server, null);
});
