import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import ICAL from 'ical.js';
import { command } from '../../../helpers/cli.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';
import { openServer } from '../../../helpers/services.ts';

type Rest = Awaited<ReturnType<typeof openRest>>;

const LINK = '/v1/calendar/link';
const DAY = 24 * 3600_000;

async function linked({ send }: Pick<Rest, 'send'>, credential?: string): Promise<string> {
  return (await send('POST', LINK, undefined, credential)).body.path;
}

async function read({ url }: Pick<Rest, 'url'>, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Parses a calendar like a calendar program. */
function entriesOf(t: ExecutionContext, text: string) {
  for (const line of text.split('\r\n')) t.true(Buffer.byteLength(line) <= 75, line);
  t.false(text.includes('\u0000') || text.includes('\ufffd'));
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
  const plain = (component: ICAL.Component) =>
    Object.fromEntries(
      component.getAllProperties().map(property => [property.name, String(property.getFirstValue())]),
    );
  return {
    zone: calendar.getFirstPropertyValue('x-wr-timezone'),
    events: calendar.getAllSubcomponents('vevent').map(plain),
    tasks: calendar.getAllSubcomponents('vtodo').map(plain),
  };
}

async function heard(
  rest: Rest,
  userId: string,
  events: [title: string, startAt: number, duration: number][],
) {
  const { id } = await completedConversation(rest, userId);
  const found = await rest.storage.conversations.get(userId, id);
  if (!found) throw new Error('it was just made');
  const structured = {
    ...found.structured,
    events: events.map(([title, startAt, duration]) => ({
      ...{ title, startAt, duration },
      ...{ description: '', created: false },
    })),
  };
  await rest.storage.conversations.update(userId, id, { structured });
  return id;
}

test('A calendar program reads events and tasks by a secret link, which shows one account', async t => {
  const rest = await openRest(t);
  const { send, user, users, clock } = rest;
  await users.add('ben');
  const ben = await users.token('ben');
  const startAt = Date.parse('2026-11-27T08:30:00Z');
  await send('PATCH', '/v1/notifications/settings', { time_zone: 'Europe/Berlin' });
  const title = `Dentist; bring card, "x"\r\nand \u0000 ${'🎉'.repeat(60)}`;
  await heard(rest, user.id, [[title, startAt, 45]]);
  await heard(rest, user.id, [
    [title, startAt, 45],
    ['Open end', startAt + DAY, 0],
  ]);
  const open = { description: 'Buy milk', due_at: '2026-11-28T17:00:00.000Z' };
  await send('POST', '/v1/dev/user/action-items', open);
  const { body: done } = await send('POST', '/v1/dev/user/action-items', { description: 'Ring Eve' });
  await send('PATCH', `/v1/dev/user/action-items/${done.id}`, { completed: true });
  await send('POST', '/v1/dev/user/action-items', { description: 'His own' }, ben);

  const path = await linked(rest);
  const { status, headers, text } = await read(rest, path);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/calendar; charset=utf-8');
  t.is(headers.get('cache-control'), 'private, no-cache');
  const { zone, events, tasks } = entriesOf(t, text);
  t.is(zone, 'Europe/Berlin');
  t.deepEqual(
    events.map(({ dtstart, duration, summary }) => [dtstart, duration, summary]),
    [
      ['2026-11-27T08:30:00Z', 'PT45M', `Dentist; bring card, "x"\nand   ${'🎉'.repeat(60)}`],
      ['2026-11-28T08:30:00Z', 'PT1H', 'Open end'],
    ],
  );
  t.deepEqual(
    tasks.map(({ summary, due, status: state, completed }) => [summary, due, state, completed]),
    [
      ['Buy milk', '2026-11-28T17:00:00Z', 'NEEDS-ACTION', undefined],
      ['Ring Eve', undefined, 'COMPLETED', isoSeconds(clock.now())],
    ],
  );
  const his = entriesOf(t, (await read(rest, await linked(rest, ben))).text);
  t.deepEqual([his.events, his.tasks.map(({ summary }) => summary)], [[], ['His own']]);

  const shown = entriesOf(t, (await read(rest, `${path}&tasks=event`)).text);
  t.deepEqual(shown.tasks, []);
  t.deepEqual(
    shown.events.slice(2).map(({ dtstart, duration, summary }) => [dtstart, duration, summary]),
    [['2026-11-28T16:45:00Z', 'PT15M', '☐ Buy milk']],
  );
  t.deepEqual(entriesOf(t, (await read(rest, `${path}&tasks=none`)).text).tasks, []);
  t.is((await read(rest, `${path}&tasks=all`)).status, 422);
});

function isoSeconds(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

test('An unchanged calendar is answered without a body, and a changed one is sent', async t => {
  const rest = await openRest(t);
  const path = await linked(rest);
  const first = await read(rest, path);
  const tag = first.headers.get('etag') ?? '';
  const same = await read(rest, path, { 'If-None-Match': tag });
  t.deepEqual([same.status, same.text, same.headers.get('etag')], [304, '', tag]);
  await rest.send('POST', '/v1/dev/user/action-items', { description: 'New' });
  const changed = await read(rest, path, { 'If-None-Match': tag });
  t.is(changed.status, 200);
  t.regex(changed.text, /SUMMARY:New\r\n/);
  const head = await fetch(rest.url + path, { method: 'HEAD' });
  t.deepEqual([head.status, head.headers.get('etag')], [200, changed.headers.get('etag')]);
});

test('A link is shown once, replaced and revoked at once, and never stored in plain text', async t => {
  const rest = await openRest(t);
  const { send, storage, user, accounts, users } = rest;
  t.is((await send('GET', LINK)).body, null);
  t.is((await send('DELETE', LINK)).status, 404);
  const { body: made } = await send('POST', LINK);
  t.is(made.url, `https://earshot.example${made.path}`);
  const secret = made.path.split('token=')[1];
  t.deepEqual((await send('GET', LINK)).body, { hint: made.hint, created_at: made.created_at });
  t.false(JSON.stringify(await storage.calendarLinks.get(user.id)).includes(secret.slice(8, -4)));
  const next = await linked(rest);
  t.deepEqual([(await read(rest, made.path)).status, (await read(rest, next)).status], [404, 200]);
  t.is((await send('DELETE', LINK)).status, 204);
  t.is((await read(rest, next)).status, 404);

  const lost = await linked(rest);
  await accounts.lost('anna');
  t.is((await read(rest, lost)).status, 404, 'whoever found the phone reads on');
  const again = await rest.calendarLinks.renew(user.id);
  await users.setDisabled(user, true);
  t.is((await read(rest, again.path)).status, 404);
});

test('Guesses at links are rate-limited by address before any lookup', async t => {
  const rest = await openRest(t);
  const found: string[] = [];
  const { byHash } = rest.storage.calendarLinks;
  rest.storage.calendarLinks.byHash = hash => {
    found.push(hash);
    return byHash(hash);
  };
  for (const wrong of [
    '',
    '?token=',
    '?token=cal_1',
    `?token=cal_${'0'.repeat(32)}`,
    `?token=${'x'.repeat(9000)}`,
  ])
    t.is((await read(rest, `/v1/calendar/feed.ics${wrong}`)).status, 404);
  t.is(found.length, 1, 'what cannot be a secret is looked up');
  const answers = rest.rateLimits.attempted('127.0.0.1').headers;
  const left = Number(answers['X-RateLimit-Remaining']);
  t.is(60_000 - left, 6);
});

test('A calendar has at most 2,000 events and 1,000 open tasks, and is generated as it is read', async t => {
  const rest = await openRest(t);
  const { user, storage, clock } = rest;
  const startAt = clock.now() + DAY;
  for (let part = 0; part < 45; part += 1)
    await heard(
      rest,
      user.id,
      Array.from({ length: 50 }, (_, index) => [`Meeting ${part} ${index}`, startAt + index, 30]),
    );
  await storage.actionItems.insert(
    Array.from({ length: 1100 }, (_, index) => ({
      ...{ id: `018f0000-0000-7000-8000-${String(index).padStart(12, '0')}`, userId: user.id },
      ...{ description: `Task ${index}`, completed: false, createdAt: 1, updatedAt: 1 },
      ...{ dueAt: null, completedAt: null, conversationId: null, segmentId: null, locked: false },
    })),
  );
  const path = await linked(rest);
  const { text } = await read(rest, path);
  t.is(text.split('BEGIN:VEVENT').length - 1, 2000);
  t.is(text.split('BEGIN:VTODO').length - 1, 1000);
  t.true(text.endsWith('END:VCALENDAR\r\n'));

  const socket = connect(rest.port, '127.0.0.1');
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('data', () => {
    socket.destroy();
    resolve();
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await promise;
  t.is((await read(rest, path)).status, 200, 'a reader that goes away leaves nothing behind');
});

test('earshot calendar creates and revokes the link of an account', async t => {
  const { url, dataDir } = await openServer(t, { stt: [] });
  const run = (...args: string[]) => command(['calendar', ...args], { EARSHOT_DATA_DIR: dataDir });
  const { stdout } = await run('link', 'owner', '--json');
  const { path, url: whole } = JSON.parse(stdout);
  t.is(whole, null);
  t.is((await fetch(url + path)).status, 200);
  t.regex(
    (await run('link', 'owner')).stdout,
    /^Subscribe to: \/v1\/calendar\/feed\.ics\?token=cal_[0-9a-f]{32} /,
  );
  t.is((await fetch(url + path)).status, 404);
  t.is((await run('unlink', 'owner')).code, 0);
  t.regex((await run('unlink', 'owner')).stderr, /^error: There is no calendar link\n$/);
});
