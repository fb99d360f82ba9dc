import { setImmediate } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { decodeJwt } from 'jose';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { connectListen, type ListenClient, refusedListen } from '../../helpers/listen-client.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { buildHouse, countingStt, type House, openHouse } from '../../helpers/services.ts';
import { speech } from '../../helpers/sound.ts';

const test = anyTest as TestFn<{ house: House }>;

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const PATHS = ['/v4/listen', '/v4/web/listen'];
const REVOKED = { code: 1008, reason: 'this credential was revoked' };
/** Times that a credential ends while somebody connects with it, each a turn of the event loop later. */
const RACES = 50;
const DAY_MS = 24 * 3600_000;

test.before(async t => {
  t.context.house = await buildHouse(countingStt());
});
test.after.always(t => t.context.house.stop());

async function connect(
  house: House,
  credential: string,
  path: string,
  device: string,
): Promise<ListenClient> {
  const isWeb = path === '/v4/web/listen';
  const query = { ...PCM, client_device_id: device, stream: device }; // who comes back waits for the one before
  const client = await connectListen(house.url, isWeb ? null : credential, query, path);
  if (isWeb) client.socket.send(JSON.stringify({ type: 'auth', token: credential }));
  return client;
}

const ready = (client: ListenClient) => client.until('service_status', event => event.status === 'ready');

const newKey = ({ app }: House, user: string) => app.commands.key({ user, scopes: ['listen'] });

async function answers({ socket }: ListenClient): Promise<boolean> {
  socket.ping();
  await new Promise(resolve => socket.once('pong', resolve));
  return socket.readyState === socket.OPEN;
}

/** An account with two keys and a token, of which one is about to end. */
interface Standing {
  user: string;
  token: string;
  keyId: string;
}

const ENDS: {
  what: string;
  ends: 'key' | 'token';
  end(house: House, standing: Standing): Promise<unknown>;
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
  test(`${what} ends its live connections and no others, and what was said there is stored`, async t => {
    const { house } = t.context;
    const { commands } = house.app;
    await commands['user.add']({ name: what });
    const { key, id: keyId } = await newKey(house, what);
    const { key: other } = await newKey(house, what);
    const { token } = await commands.token({ user: what });
    const ending = ends === 'key' ? key : token;
    const staying = [other, ends === 'key' ? token : key, house.key];

    const revoked = await Promise.all(PATHS.map(path => connect(house, ending, path, path)));
    const bystanders = await Promise.all(
      staying.flatMap((credential, n) =>
        PATHS.map(path => connect(house, credential, path, `${what}, bystander ${n} ${path}`)),
      ),
    );
    await Promise.all([...revoked, ...bystanders].map(ready));
    for (const client of revoked) {
      client.socket.send(samplesToBytes(speech('budget')));
      t.true(await answers(client));
    }
    await end(house, { user: what, token, keyId });
    for (const client of revoked) t.deepEqual(await client.closed, REVOKED);
    t.is((await refusedListen(house.url, ending, PCM)).status, 401);
    for (const client of bystanders) t.true(await answers(client));

    for (const path of PATHS) {
      const back = await connect(house, other, '/v4/listen', path);
      back.socket.send(JSON.stringify({ type: 'finish_conversation' }));
      const { conversation_id: id } = await back.until('conversation_session');
      t.is((await back.until('conversation_finished')).conversation_id, id, 'it has words');
      back.socket.close();
    }
    for (const { socket } of bystanders) socket.close();
  });
}

test('a key that ends while somebody connects with it leaves no connection behind', async t => {
  const { house } = t.context;
  const user = 'races';
  await house.app.commands['user.add']({ name: user });
  for (let race = 0; race < RACES; race++) {
    const { key, id } = await newKey(house, user);
    const path = PATHS[race % 2] ?? '';
    const connecting = connect(house, key, path, `race ${race}`).catch(() => null); // refused in time
    for (let turn = 0; turn < race; turn++) await setImmediate();
    await house.app.commands['key.revoke']({ user, id });
    const { code, reason } = (await (await connecting)?.closed) ?? REVOKED;
    t.is(code, REVOKED.code, reason);
  }
});

test('a live connection ends with the ID token that opened it', async t => {
  const clock = manualClock();
  const house = await openHouse(
    t,
    { ...countingStt(), listen: { idleMs: 365 * DAY_MS, heartbeatMs: DAY_MS } },
    { clock },
  );
  const { token } = await house.app.commands.token({ user: 'owner' });
  const expiring = await Promise.all(PATHS.map(path => connect(house, token, path, path)));
  const keyed = await connect(house, house.key, '/v4/listen', 'key');
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
  t.is((await refusedListen(house.url, token, PCM)).status, 401);
  keyed.socket.close();
});
