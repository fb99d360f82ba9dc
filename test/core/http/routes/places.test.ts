import test, { type ExecutionContext } from 'ava';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const PLACES = '/v1/places';
const LIST = '/v1/dev/user/conversations';
const HOME = { latitude: 52.52, longitude: 13.405 };
/** 90 m north of it. */
const GARDEN = { latitude: 52.52081, longitude: 13.405 };
const MUNICH = { latitude: 48.137, longitude: 11.575 };

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  /** A conversation that was held there, a minute after the one before. */
  const talk = async (place: object | null, userId = rest.user.id) => {
    rest.clock.advance(60_000);
    const { id } = await completedConversation(rest, userId, ['x']);
    const path = `${LIST}/${id}`;
    if (place) t.is((await rest.send('PATCH', path, { geolocation: place })).status, 200);
    return id;
  };
  const places = async (): Promise<Record<string, unknown>[]> => (await rest.send('GET', PLACES)).body;
  const near = async (query: string): Promise<string[]> =>
    (await rest.send('GET', `${LIST}?near=${query}`)).body.map(({ id }: { id: string }) => id);
  return { ...rest, talk, places, near };
}

test('Places are where conversations happened, most of them first; each conversation of one is found there', async t => {
  const { talk, places, near, storage, user } = await start(t);
  const [first, second, far] = [
    await talk({ ...HOME, address: 'Lindenstraße 1' }),
    await talk(GARDEN),
    await talk({ ...MUNICH, address: 'Marienplatz' }),
  ];
  await talk(null);
  const found = await places();
  const beganAt = async (id: string) => {
    const { startedAt, createdAt } = (await storage.conversations.get(user.id, id)) ?? { createdAt: 0 };
    return new Date(startedAt ?? createdAt).toISOString();
  };
  t.deepEqual(found, [
    {
      ...{ id: null, name: null, address: 'Lindenstraße 1', ...GARDEN, radius_m: 150 },
      ...{ conversation_count: 2, last_at: await beganAt(second) },
    },
    {
      ...{ id: null, name: null, address: 'Marienplatz', ...MUNICH, radius_m: 150 },
      ...{ conversation_count: 1, last_at: await beganAt(far) },
    },
  ]);
  t.deepEqual(await near('52.52081,13.405,150'), [second, first]);
  t.deepEqual(await near('52.52,13.405,50'), [first]);
  t.deepEqual(await near(' 48.137 , 11.575 '), [far], 'within 150 m, as nothing else is said');
  t.is((await near('')).length, 4, 'an empty parameter counts as absent');
});

test('A named place keeps its conversations together, is renamed, and loses its name alone', async t => {
  const { talk, places, send, near } = await start(t);
  const id = await talk(GARDEN);
  const made = await send('POST', PLACES, { name: ' Home ', ...HOME });
  t.like(made, { status: 200, body: { name: 'Home', ...HOME } });
  t.like(await places(), [{ id: made.body.id, name: 'Home', ...HOME, conversation_count: 1 }]);
  t.is((await places()).length, 1, 'what belongs to a named place is no other one');

  const path = `${PLACES}/${made.body.id}`;
  t.like(await send('PATCH', path, { name: 'Garden', expected: { name: 'Home' } }), { status: 200 });
  const late = await send('PATCH', path, { name: 'House', expected: { name: 'Home' } });
  t.like(late, { status: 409, body: { detail: { current: { name: 'Garden' }, yours: { name: 'House' } } } });
  t.like(await places(), [{ name: 'Garden', conversation_count: 1 }]);

  t.deepEqual((await send('DELETE', path)).body, { success: true });
  t.is((await send('DELETE', path)).status, 404);
  t.like(await places(), [{ id: null, name: null, ...GARDEN, conversation_count: 1 }]);
  t.deepEqual(await near('52.52081,13.405'), [id]);
  const empty = await send('POST', PLACES, { name: 'Office', ...MUNICH });
  t.like((await places()).at(-1), { id: empty.body.id, conversation_count: 0, last_at: null });
});

test('Discarded and locked conversations, and those of others, are at no place', async t => {
  const { talk, places, storage, user, users, send } = await start(t);
  for (const flag of [{ discarded: true }, { locked: true }])
    await storage.conversations.update(user.id, await talk(HOME), flag);
  t.deepEqual(await places(), []);
  await talk(HOME);
  await users.add('ben');
  const ben = await users.token('ben');
  t.deepEqual((await send('GET', PLACES, undefined, ben)).body, []);
  t.deepEqual((await send('GET', `${LIST}?near=52.52,13.405`, undefined, ben)).body, []);
  const own = (await send('POST', PLACES, { name: 'Home', ...HOME })).body.id;
  t.is((await send('PATCH', `${PLACES}/${own}`, { name: 'Mine' }, ben)).status, 404);
  t.is((await send('DELETE', `${PLACES}/${own}`, undefined, ben)).status, 404);
});

test('The place of a conversation is changed and removed', async t => {
  const { talk, send, places } = await start(t);
  const path = `${LIST}/${await talk({ ...HOME, address: 'Lindenstraße 1' })}`;
  const moved = await send('PATCH', path, { geolocation: MUNICH });
  t.like(moved.body.geolocation, { ...MUNICH, address: null });
  t.like(await places(), [MUNICH]);
  t.is((await send('PATCH', path, { geolocation: { latitude: 91, longitude: 0 } })).status, 422);
  t.is((await send('PATCH', path, { starred: true })).body.geolocation.latitude, MUNICH.latitude);
  t.is((await send('PATCH', path, { geolocation: null })).body.geolocation, null);
  t.deepEqual(await places(), []);
});

test('A point that is none is refused with the form that is expected', async t => {
  const { send } = await start(t);
  for (const query of [
    'home',
    '52.52',
    '91,0',
    '0,181',
    '0,0,0',
    '0,0,50001',
    '0,0,1,2',
    '0,0,',
    '1e999,0',
    ',',
  ]) {
    const { status, body } = await send('GET', `${LIST}?near=${query}`);
    t.is(status, 422, query);
    t.like(body.detail[0], { loc: ['query', 'near'] });
    t.regex(body.detail[0].msg, /latitude,longitude,metres \(at most 50000\), such as 52\.52,13\.405,300/);
  }
  t.is((await send('GET', `${LIST}?near=${'1'.repeat(5000)}`)).status, 422);
});

test('An account has a bounded number of named places', async t => {
  const { send, storage, user, clock } = await start(t);
  for (let number = 0; number < 200; number += 1)
    await storage.places.insert({
      ...{ id: `p${number}`, userId: user.id, name: 'x', ...HOME, createdAt: clock.now() },
    });
  const { status, body } = await send('POST', PLACES, { name: 'One more', ...HOME });
  t.is(status, 409);
  t.is(body.detail, 'At most 200 places: delete one first');
});
