import test from 'ava';
import { openRest } from '../../../helpers/rest.ts';

type Rest = Awaited<ReturnType<typeof openRest>>;

const OMI = { id: 'omi_1', name: 'Omi', source: 'omi', driver: 'omi', state: 'streaming', codec: 'opus' };
const MINUTE = 60_000;

function bridge({ send }: Pick<Rest, 'send'>, id = 'kitchen', credential?: string) {
  return (devices: object[], buttons: object[] = []) =>
    send('PUT', `/v1/bridges/${id}`, { name: id, version: '0.1.0', devices, buttons }, credential);
}

/** Takes the events so far. */
function happenings({ told }: Pick<Rest, 'told'>) {
  return told['device.happened'].splice(0).map(({ device, happening: { kind, button } }) => {
    return [device.id, kind, ...(button === null ? [] : [button])].join(' ');
  });
}

test('a bridge reports its wearables with a key that has no other permission, and each account sees its own', async t => {
  const rest = await openRest(t);
  const { send, user, users, keys } = rest;
  await users.add('ben');
  const ben = await users.token('ben');
  const { key } = await keys.create(user.id, { name: 'bridge', scopes: ['listen'] });
  const report = bridge(rest, 'kitchen', key);
  t.is((await report([{ ...OMI, battery: 80, signal_dbm: -61, frames: 990, lost: 10 }])).status, 200);
  const { devices } = (await send('GET', '/v1/devices')).body;
  t.like(devices[0], {
    ...{ id: 'omi_1', name: 'Omi', custom_name: null, state: 'streaming', connected: true, battery: 80 },
    ...{ signal_dbm: -61, loss_percent: 1, bridge: { id: 'kitchen', name: 'kitchen', version: '0.1.0' } },
  });
  t.deepEqual((await send('GET', '/v1/devices', undefined, ben)).body, { devices: [] });
  t.is((await send('GET', '/v1/devices', undefined, key)).status, 403);
  for (const [method, body] of [
    ['GET', undefined],
    ['PATCH', { name: 'Mine' }],
    ['DELETE', undefined],
  ] as const)
    t.is((await send(method, '/v1/devices/omi_1', body, ben)).status, 404, method);
  await bridge(rest, 'kitchen', ben)([{ ...OMI, battery: 7 }]);
  t.is((await send('GET', '/v1/devices/omi_1')).body.battery, 80);
});

test('the owner renames and deletes a wearable; its bridge adds it again', async t => {
  const rest = await openRest(t);
  const { send } = rest;
  await bridge(rest)([OMI]);
  const renamed = await send('PATCH', '/v1/devices/omi_1', { name: 'Pendant' });
  t.like(renamed.body, { name: 'Pendant', custom_name: 'Pendant', advertised_name: 'Omi' });
  await bridge(rest)([{ ...OMI, name: 'Omi DevKit' }]);
  t.like((await send('GET', '/v1/devices/omi_1')).body, { name: 'Pendant', advertised_name: 'Omi DevKit' });
  t.is((await send('PATCH', '/v1/devices/omi_1', { name: null })).body.name, 'Omi DevKit');
  happenings(rest);
  t.is((await send('DELETE', '/v1/devices/omi_1')).status, 200);
  t.deepEqual((await send('GET', '/v1/devices')).body, { devices: [] });
  t.is((await send('DELETE', '/v1/devices/omi_1')).status, 404);
  t.deepEqual(happenings(rest), ['omi_1 removed']);
  await bridge(rest)([OMI]);
  t.is((await send('GET', '/v1/devices')).body.devices.length, 1);
});

test('each change is announced once: connected, disconnected, changed, button pressed', async t => {
  const rest = await openRest(t);
  const { clock } = rest;
  const report = bridge(rest);
  await report([OMI, { ...OMI, id: 'never_connected', state: 'disconnected' }]);
  t.deepEqual(happenings(rest), ['omi_1 connected']);
  await report([{ ...OMI, signal_dbm: -80, frames: 100, lost: 2 }]);
  t.deepEqual(happenings(rest), [], 'signal and counts are no news');
  const press = { id: 'omi_1', button: 'double', at: new Date(clock.now()).toISOString() };
  await report([{ ...OMI, state: 'quiet', reason: 'asleep' }], [press]);
  t.deepEqual(happenings(rest), ['omi_1 changed', 'omi_1 button double']);
  await report([{ ...OMI, state: 'quiet', reason: 'asleep' }], [press]);
  t.deepEqual(happenings(rest), [], 'a report that is sent again presses nothing');
  await report([{ ...OMI, state: 'disconnected', reason: 'out of reach' }]);
  t.deepEqual(happenings(rest), ['omi_1 disconnected']);
  clock.advance(MINUTE);
  await report([OMI]);
  await report([]);
  t.deepEqual(
    happenings(rest),
    ['omi_1 connected', 'omi_1 disconnected'],
    'a bridge that tells of it no more',
  );
});

test('a low battery is announced once, also by a notification, until it has been charged', async t => {
  const rest = await openRest(t);
  const { send } = rest;
  const report = bridge(rest);
  for (const battery of [40, 15, 14, null, 20, 12]) await report([{ ...OMI, battery }]);
  t.deepEqual(
    happenings(rest).filter(each => !each.endsWith('changed')),
    ['omi_1 connected', 'omi_1 battery_low'],
  );
  t.like((await send('GET', '/v1/devices/omi_1')).body, { battery: 12, low_battery: true });
  const inbox = async () =>
    (await rest.notifications.list(rest.user.id, { limit: 10 })).map(({ event, text }) => [event, text]);
  t.deepEqual(await inbox(), [['device_battery_low', 'Its battery is at 15 %.']]);
  for (const battery of [25, 15]) await report([{ ...OMI, battery }]);
  t.is((await inbox()).length, 2);
});

test('a wearable belongs to the bridge it is connected to, whatever another bridge reports', async t => {
  const rest = await openRest(t);
  const { send, clock, devices } = rest;
  const [kitchen, cellar] = [bridge(rest, 'kitchen'), bridge(rest, 'cellar')];
  const where = async () => {
    const { state, bridge: at } = (await send('GET', '/v1/devices/omi_1')).body;
    return `${state} ${at.id}`;
  };
  await kitchen([OMI]);
  await cellar([{ ...OMI, state: 'disconnected' }]);
  t.is(await where(), 'streaming kitchen');
  await cellar([OMI]);
  await kitchen([{ ...OMI, state: 'disconnected' }]);
  await kitchen([]);
  t.is(await where(), 'streaming cellar');
  t.deepEqual(
    happenings(rest).filter(each => !each.endsWith('changed')),
    ['omi_1 connected'],
    'a wearable that wanders is not gone',
  );
  clock.advance(3 * MINUTE);
  await devices.sweep();
  t.is(await where(), 'streaming cellar');
  clock.advance(1);
  await devices.sweep();
  t.is(await where(), 'disconnected cellar');
  await devices.sweep();
  t.deepEqual(happenings(rest), ['omi_1 disconnected']);
});

test('a report is bounded, and an account has at most a hundred wearables', async t => {
  const rest = await openRest(t);
  const { issues, send } = rest;
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...OMI, id: `omi_${from + index}` }));
  const body = (devices: object[], buttons: object[] = []) => ({ name: 'x', devices, buttons });
  const place = '/v1/bridges/kitchen';
  t.deepEqual(await issues('PUT', place, body(many(0, 65))), { 'body.devices': 'too_long' });
  t.deepEqual(await issues('PUT', place, body([{ ...OMI, battery: 101, state: 'gone' }])), {
    'body.devices.0.state': 'enum',
    'body.devices.0.battery': 'less_than_equal',
  });
  t.deepEqual(await issues('PUT', place, body([{ ...OMI, name: 'a\u001b[31m' }])), {
    'body.devices.0.name': 'value_error',
  });
  await bridge(rest, 'one')(many(0, 60));
  const refused = await bridge(rest, 'two')(many(60, 41));
  t.is(refused.status, 409);
  t.regex(refused.body.detail, /At most 100 devices: forget one/);
  t.is((await send('GET', '/v1/devices')).body.devices.length, 60, 'nothing of a refused report is kept');
  t.is((await bridge(rest, 'two')(many(60, 40))).status, 200);
});
