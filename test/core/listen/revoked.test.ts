import { setImmediate } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { decodeJwt } from 'jose';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { connectListen, type ListenClient, refusedListen } from '../../helpers/listen-client.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { buildServer, countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { speech } from '../../helpers/sound.ts';

const test = anyTest as TestFn<{ server: TestServer }>;

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const PATHS = ['/v4/listen', '/v4/web/listen'];
const REVOKED = { code: 1008, reason: 'this credential was revoked' };
/** Delays at which a credential is revoked during a connection attempt, one turn of the event loop apart. */
const RACES = 50;
const DAY_MS = 24 * 3600_000;

test.before(async t => {
  t.context.server = await buildServer(countingStt());
});
test.after.always(t => t.context.server.stop());

async function connect(
  server: TestServer,
  credential: string,
  path: string,
  device: string,
): Promise<ListenClient> {
  const isWeb = path === '/v4/web/listen';
  const query = { ...PCM, client_device_id: device, stream: device }; // a reconnect waits for the connection before it
  const client = await connectListen(server.url, isWeb ? null : credential, query, path);
  if (isWeb) client.socket.send(JSON.stringify({ type: 'auth', token: credential }));
  return client;
}

const ready = (client: ListenClient) => client.until('service_status', event => event.status === 'ready');

const newKey = ({ app }: TestServer, user: string) => app.commands.key({ user, scopes: ['listen'] });

async function answers(client: ListenClient): Promise<boolean> {
  await client.received();
  return client.socket.readyState === client.socket.OPEN;
}

/** An account with two keys and a token, one of which will be revoked. */
interface Standing {
  user: string;
  token: string;
  keyId: string;
}

const ENDS: {
  what: string;
  ends: 'key' | 'token';
  end(server: TestServer, standing: Standing): Promise<unknown>;
}[] = [
  {
    what: 'a key that is deleted',
    ends: 'key',
    end: ({ url }, { token, keyId }) =>
      fetch(`${url}/v1/dev/keys/${keyId}`, {
        method: 'DELETE',
        headers: { Authorization: `Bearer ${token}` },
      }),
  },
  {
    what: 'a key that another replaces',
    ends: 'key',
    end: ({ app }, { user, keyId }) => app.commands['key.rotate']({ user, id: keyId }),
  },
  {
    what: 'a token that is signed out',
    ends: 'token',
    end: ({ app }, { user }) => app.commands['user.signOut']({ user }),
  },
  {
    what: 'a token from before a new password',
    ends: 'token',
    end: ({ app }, { user }) => app.commands['user.password']({ user, password: 'correct horse battery' }),
  },
];

for (const { what, ends, end } of ENDS) {
  test(`${what} ends its live connections and no others, and their speech is stored`, async t => {
    const { server } = t.context;
    const { commands } = server.app;
    await commands['user.add']({ name: what });
    const { key, id: keyId } = await newKey(server, what);
    const { key: other } = await newKey(server, what);
    const { token } = await commands.token({ user: what });
    const ending = ends === 'key' ? key : token;
    const staying = [other, ends === 'key' ? token : key, server.key];

    const revoked = await Promise.all(PATHS.map(path => connect(server, ending, path, path)));
    const bystanders = await Promise.all(
      staying.flatMap((credential, n) =>
        PATHS.map(path => connect(server, credential, path, `${what}, bystander ${n} ${path}`)),
      ),
    );
    await Promise.all([...revoked, ...bystanders].map(ready));
    for (const client of revoked) {
      client.socket.send(samplesToBytes(speech('budget')));
      t.true(await answers(client));
    }
    await end(server, { user: what, token, keyId });
    for (const client of revoked) t.deepEqual(await client.closed, REVOKED);
    t.is((await refusedListen(server.url, ending, PCM)).status, 401);
    for (const client of bystanders) t.true(await answers(client));

    for (const path of PATHS) {
      const back = await connect(server, other, '/v4/listen', path);
      back.socket.send(JSON.stringify({ type: 'finish_conversation' }));
      const { conversation_id: id } = await back.until('conversation_session');
      t.is((await back.until('conversation_finished')).conversation_id, id, 'it has words');
      back.socket.close();
    }
    for (const { socket } of bystanders) socket.close();
  });
}

test('a key revoked during a connection attempt leaves no connection behind', async t => {
  const { server } = t.context;
  const user = 'races';
  await server.app.commands['user.add']({ name: user });
  for (let race = 0; race < RACES; race++) {
    const { key, id } = await newKey(server, user);
    const path = PATHS[race % 2] ?? '';
    const connecting = connect(server, key, path, `race ${race}`).catch(() => null); // refused in time
    for (let turn = 0; turn < race; turn++) await setImmediate();
    await server.app.commands['key.revoke']({ user, id });
    const { code, reason } = (await (await connecting)?.closed) ?? REVOKED;
    t.is(code, REVOKED.code, reason);
  }
});

test('a live connection ends when the ID token that opened it expires', async t => {
  const clock = manualClock();
  const server = await openServer(
    t,
    { ...countingStt(), listen: { idleMs: 365 * DAY_MS, heartbeatMs: DAY_MS } },
    { clock },
  );
  const { token } = await server.app.commands.token({ user: 'owner' });
  const expiring = await Promise.all(PATHS.map(path => connect(server, token, path, path)));
  const keyed = await connect(server, server.key, '/v4/listen', 'key');
  await Promise.all([keyed, ...expiring].map(ready));
  clock.advance(Number(decodeJwt(token).exp) * 1000 - 1 - clock.now());
  for (const client of expiring) t.true(await answers(client));
  clock.advance(1);
  for (const client of expiring) {
    const { code, reason } = await client.closed;
    t.is(code, 1008);
    t.regex(reason, /expired: connect with a new one/);
  }
  t.true(await answers(keyed));
  t.is((await refusedListen(server.url, token, PCM)).status, 401);
  keyed.socket.close();
});
