import test, { type ExecutionContext } from 'ava';
import type { Config } from '../../../config/schema.ts';
import { createServer } from '../../../core/http/server.ts';
import { openRest } from '../../helpers/rest.ts';

const PAGE = 'https://app.example.org';
const FOLDERS = '/v1/dev/user/folders';

async function start(t: ExecutionContext, origins: string[]) {
  const rest = await openRest(t);
  const server = createServer({
    ...rest,
    listen: { paths: [], refusal: () => null, authorize: async () => null, accept: async () => {} },
    config: {
      listen: { maxConnections: 100 } as Config['listen'],
      trustedProxies: ['loopback'],
      cors: { origins },
    },
    health: async () => ({ status: 'ok', parts: [] }),
  });
  const { port } = await server.listen('127.0.0.1', 0);
  t.teardown(() => server.close());
  return async (origin: string | null, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${FOLDERS}`, {
      method,
      headers: { ...(origin === null ? {} : { Origin: origin }), ...headers },
    });
    await response.arrayBuffer();
    const header = (name: string) => response.headers.get(name);
    return {
      status: response.status,
      origin: header('access-control-allow-origin'),
      exposed: header('access-control-expose-headers'),
      methods: header('access-control-allow-methods'),
      asked: header('access-control-allow-headers'),
      credentials: header('access-control-allow-credentials'),
      vary: header('vary'),
      token: rest.token,
    };
  };
}

const PREFLIGHT = {
  'Access-Control-Request-Method': 'PATCH',
  'Access-Control-Request-Headers': 'authorization,content-type',
};

test('An allowed origin can send requests, and can read responses and remaining limits', async t => {
  const ask = await start(t, [PAGE]);
  const asked = await ask(PAGE, PREFLIGHT, 'OPTIONS');
  t.like(asked, { status: 204, origin: PAGE, vary: 'Origin', credentials: null });
  t.regex(asked.methods ?? '', /\bPATCH\b/);
  t.regex(asked.asked ?? '', /\bAuthorization\b.*\bContent-Type\b/);
  const answered = await ask(PAGE, { Authorization: `Bearer ${asked.token}` });
  t.like(answered, { status: 200, origin: PAGE, vary: 'Origin', credentials: null });
  for (const name of ['Retry-After', 'X-RateLimit-Remaining'])
    t.true(answered.exposed?.split(', ').includes(name), name);
  t.like(await ask(PAGE), { status: 401, origin: PAGE }); // failures are readable, too
});

test('Other origins are refused, whatever they are called', async t => {
  const ask = await start(t, [PAGE]);
  const nothing = { origin: null, methods: null, asked: null, exposed: null };
  for (const origin of ['https://evil.example', `${PAGE}.evil.example`, 'http://app.example.org', 'null']) {
    t.like(await ask(origin), { ...nothing, vary: 'Origin' }, origin);
    t.like(await ask(origin, PREFLIGHT, 'OPTIONS'), nothing, origin);
  }
  t.like(await ask(null), { ...nothing, status: 401 });
  const closed = await start(t, []);
  t.like(await closed(PAGE), { ...nothing, vary: null });
  t.like(await closed(PAGE, PREFLIGHT, 'OPTIONS'), nothing);
});

test('Every origin is allowed if the operator configures it', async t => {
  const ask = await start(t, ['*']);
  t.like(await ask('https://any.example'), { status: 401, origin: '*', vary: null, credentials: null });
  t.like(await ask('null', PREFLIGHT, 'OPTIONS'), { status: 204, origin: '*' });
  t.is((await ask('https://any.example', {}, 'OPTIONS')).methods, null); // which is not a preflight
});
