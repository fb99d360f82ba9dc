import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../core/contract/model.ts';
import { sent } from '../../fixtures/plugins/acme-channel.ts';
import { accountOf } from '../../helpers/accounts.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { type Behaviour, startReceiver } from '../../helpers/receiver.ts';
import { countingStt, openServer } from '../../helpers/services.ts';

const USERS = 20;
/** Far longer than a server needs to announce a task and stop, on any machine. */
const DUE_MS = 60_000;

interface Setting {
  behaviour?: Behaviour;
  dataDir?: string;
  clock?: Clock;
}

async function start(t: ExecutionContext, { behaviour, dataDir, clock }: Setting = {}) {
  const receiver = await startReceiver(t, behaviour);
  const fixture = (name: string) => ({ use: join(import.meta.dirname, `../../fixtures/plugins/${name}.ts`) });
  const { stt, plugins } = countingStt();
  const overrides = {
    ...(dataDir === undefined ? {} : { dataDir }),
    ...{ stt, llm: ['scribe'], notify: ['acme-channel'], delivery: { allowHosts: ['127.0.0.1'] } },
    plugins: { ...plugins, 'acme-channel': fixture('acme-channel'), scribe: fixture('scribe') },
  };
  const server = await openServer(t, overrides, clock ? { clock } : {});
  return { server, receiver, owner: await accountOf(server, 'owner') };
}

test.serial('Speech of twenty users triggers notifications of their app, each to its own user', async t => {
  const asks = JSON.stringify({
    notification: { prompt: 'Cheer {{user_name}} up', params: ['user_name'] },
  });
  const behaviour: Behaviour = response => void response.end(asks);
  const { server, receiver, owner } = await start(t, { behaviour });
  const app = await owner.post('/v1/apps', {
    name: 'Coach',
    capabilities: ['external_integration', 'proactive_notification'],
    external_integration: { triggers_on: 'transcript_processed', webhook_url: receiver.url },
    proactive_notification: { scopes: ['user_name'] },
  });
  const before = sent.length;
  const saidAt = new Map<string, number>();
  const users = await Promise.all(
    Array.from({ length: USERS }, async (_, index) => {
      const name = `user${index}`;
      await server.app.commands['user.add']({ name });
      const account = await accountOf(server, name);
      await account.post(`/v1/apps/enable?app_id=${app.id}`);
      const address = { number: `${1000 + index}` };
      await account.post('/v1/notifications/addresses', { channel: 'acme-channel', address });
      const { key } = await server.app.commands.key({ user: name, scopes: ['listen'] });
      const client = await connectListen(server.url, key, { custom_stt: 'enabled', language: 'en' });
      t.teardown(() => client.socket.close());
      await client.until('service_status', ({ status }) => status === 'ready');
      return { name, account, client, number: address.number };
    }),
  );
  for (const { client, number } of users) {
    saidAt.set(number, performance.now());
    const segment = {
      text: 'I am tired',
      speaker: 'SPEAKER_00',
      speaker_id: 0,
      is_user: true,
      start: 0,
      end: 1,
    };
    client.socket.send(
      JSON.stringify({
        type: 'suggested_transcript',
        stt_provider: 'phone',
        segments: [{ ...segment, person_id: null }],
      }),
    );
  }
  const tookMs: number[] = [];
  let seen = before;
  await eventually(() => {
    for (const { to } of sent.slice(seen)) tookMs.push(performance.now() - (saidAt.get(to) ?? Number.NaN));
    seen = sent.length;
    return tookMs.length >= USERS;
  });
  for (const { name, number, account } of users) {
    const own = sent.slice(before).filter(({ to }) => to === number);
    t.is(own.length, 1);
    t.like(own[0]?.message, { app: 'Coach', event: 'proactive', muteUrl: null });
    t.is(own[0]?.message.text, `Written: {"request":"Cheer ${name} up"}`);
    t.like((await account.get('/v1/notifications'))[0], { app_name: 'Coach', silence: null });
  }
  const sorted = tookMs.toSorted((a, b) => a - b);
  const ms = (part: number) => Math.round(sorted[Math.ceil(part * USERS) - 1] ?? 0);
  t.log(`from what was said to the notification, ${USERS} users at once, a model that takes 1000 ms:`);
  t.log(`median ${ms(0.5)} ms, p99 ${ms(0.99)} ms; the interface asks for 30,000 ms`);
});

test.serial(
  'Live audio is sent to a webhook every few seconds, and the rest when the client leaves',
  async t => {
    const { server, receiver, owner } = await start(t);
    await owner.post('/v1/users/developer/webhook/audio_bytes', { url: `${receiver.url}?mine=1,1` });
    const client = await connectListen(server.url, server.key, { codec: 'pcm16', sample_rate: 16_000 });
    await client.until('service_status', ({ status }) => status === 'ready');
    const sound = Int16Array.from({ length: 40_000 }, (_, index) => (index % 2000) - 1000);
    const bytes = Buffer.from(sound.buffer);
    for (let from = 0; from < bytes.length; from += 3200)
      client.socket.send(bytes.subarray(from, from + 3200));
    await receiver.arrived(2);
    client.socket.close();
    await receiver.arrived(3);
    t.deepEqual(
      receiver.received.map(({ body }) => body.length),
      [32_000, 32_000, 16_000],
    );
    t.deepEqual(Buffer.concat(receiver.received.map(({ body }) => body)), bytes);
    for (const { path, headers } of receiver.received) {
      t.is(path, `/hook?mine=1&sample_rate=16000&uid=${server.userId}`);
      t.is(headers['content-type'], 'application/octet-stream');
    }
  },
);

test.serial('Audio recorded earlier is sent to no webhook, and audio of a moment ago is', async t => {
  const { server, receiver, owner } = await start(t);
  await owner.post('/v1/users/developer/webhook/audio_bytes', { url: `${receiver.url},1` });
  const speak = async (agoMs: number, sample: number) => {
    const started_at = new Date(Date.now() - agoMs).toISOString();
    const query = { codec: 'pcm16', sample_rate: 16_000, started_at };
    const client = await connectListen(server.url, server.key, query);
    await client.until('service_status', ({ status }) => status === 'ready');
    client.socket.send(Buffer.from(new Int16Array(16_000).fill(sample).buffer));
    client.socket.close();
    await client.closed;
  };
  await speak(3_600_000, 1);
  await speak(2000, 2);
  await receiver.arrived(1);
  t.deepEqual(
    receiver.received.map(({ body }) => body.readInt16LE(0)),
    [2],
  );
});

test.serial('A new due date is announced at once, and its reminder comes at its time', async t => {
  const clock = fastClock(t);
  const { owner } = await start(t, { clock });
  const before = sent.length;
  const own = () =>
    sent
      .slice(before)
      .filter(({ to }) => to === '77')
      .map(({ message }) => message);
  await owner.post('/v1/notifications/addresses', { channel: 'acme-channel', address: { number: '77' } });
  const due_at = new Date(clock.now() + DUE_MS).toISOString();
  const { id } = await owner.post('/v1/dev/user/action-items', { description: 'Call Eve', due_at });
  await eventually(() => own().length >= 1);
  clock.hasten(20);
  await eventually(() => own().length >= 2);
  t.deepEqual(
    own().map(({ event }) => event),
    ['action_item_update', 'action_item_reminder'],
  );
  t.like(own()[1], { text: 'Call Eve', data: { id, due_at } });
});

test.serial('A reminder that became due during an outage is sent once afterwards', async t => {
  const dataDir = await temporaryDirectory(t);
  const clock = fastClock(t);
  const before = sent.length;
  const own = () =>
    sent
      .slice(before)
      .filter(({ to }) => to === '78')
      .map(({ message }) => message.event);
  const first = await start(t, { dataDir, clock });
  await first.owner.post('/v1/notifications/addresses', {
    channel: 'acme-channel',
    address: { number: '78' },
  });
  const dueAt = clock.now() + DUE_MS;
  const due_at = new Date(dueAt).toISOString();
  await first.owner.post('/v1/dev/user/action-items', { description: 'Call Eve', due_at });
  await eventually(() => own().length >= 1);
  await first.server.stop();
  clock.hasten(100);
  await eventually(() => clock.now() > dueAt);
  clock.hasten(1);
  t.deepEqual(own(), ['action_item_update']);
  const second = await start(t, { dataDir, clock });
  await eventually(() => own().length >= 2);
  await second.server.stop();
  await start(t, { dataDir, clock });
  t.deepEqual(own(), ['action_item_update', 'action_item_reminder']);
});
