import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createCalendarSync } from '../../../core/domain/calendar/calendar-sync.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { type CaldavServer, caldavOutlet, openCaldavServer } from '../../helpers/caldav-server.ts';
import { openDomain } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';

const never = new AbortController().signal;

async function open(t: ExecutionContext, options?: Parameters<typeof openCaldavServer>[0]) {
  const [domain, server] = [await openDomain(t), await openCaldavServer(options)];
  t.teardown(server.close);
  const { checkUrl, ...outlet } = caldavOutlet(t, domain.clock);
  const sync = createCalendarSync({
    ...domain,
    feed: domain.calendarFeed,
    outlets: () => [outlet],
    checkUrl,
    log: pino({ level: 'silent' }),
  });
  const user = await domain.users.add('ada');
  const address = { url: server.url, username: 'ada', password: 'secret' };
  const connect = (changes: object = {}) =>
    sync.connect(user.id, { service: 'caldav', address: { ...address, ...changes } });
  const run = () =>
    sync.sync(
      {
        ...{ id: 'j', kind: 'calendar.sync', key: user.id, runAt: 0, attempts: 1, lease: 'l' },
        payload: { userId: user.id },
      },
      never,
    );
  const add = async (description: string, dueAt: number | null = null) => {
    const [item] = await domain.actionItems.create(user.id, [{ description, completed: false, dueAt }]);
    if (!item) throw new Error('nothing was made');
    return item;
  };
  return { ...domain, server, sync, user, connect, run, add };
}

const textWith = ({ entries }: CaldavServer, word: string) =>
  [...entries.values()].find(text => text.includes(word)) ?? '';

function change({ entries }: CaldavServer, word: string, by: (text: string) => string): void {
  for (const [file, text] of entries) if (text.includes(word)) entries.set(file, by(text));
}
const complete = (text: string) =>
  text.replace('STATUS:NEEDS-ACTION', 'STATUS:COMPLETED\r\nPERCENT-COMPLETE:100');

test('tasks are written to the calendar once, with their due date, and follow changes in Earshot', async t => {
  const { server, connect, run, add, actionItems, user } = await open(t);
  const task = await add('Call the plumber', Date.parse('2026-05-01T09:00:00Z'));
  t.like(await connect(), { name: 'Plans', address: { url: server.url, username: 'ada' } });
  await run();
  t.regex(textWith(server, 'Call the plumber'), /BEGIN:VTODO.*DUE:20260501T090000Z.*STATUS:NEEDS-ACTION/s);
  await run();
  t.is(
    server.requests.filter(each => each.startsWith('PUT')).length,
    1,
    'nothing changed, nothing is written',
  );

  await actionItems.edit(user.id, task.id, { description: 'Call the electrician', completed: true });
  await run();
  t.regex(textWith(server, 'electrician'), /STATUS:COMPLETED/);
  t.is(server.entries.size, 1);

  await actionItems.remove(user.id, task.id);
  await run();
  t.is(server.entries.size, 0);
});

test('a task completed in the calendar is completed in Earshot, and one reopened there is open again', async t => {
  const { server, connect, run, add, actionItems, user } = await open(t);
  const task = await add('Water the plants');
  await connect();
  await run();
  change(server, 'Water', complete);
  await run();
  t.true((await actionItems.get(user.id, task.id)).completed);
  const writes = server.requests.filter(each => each.startsWith('PUT')).length;
  await run();
  t.is(
    server.requests.filter(each => each.startsWith('PUT')).length,
    writes,
    'what came from there is not sent back',
  );

  change(server, 'Water', text =>
    text.replace('STATUS:COMPLETED\r\nPERCENT-COMPLETE:100', 'STATUS:NEEDS-ACTION'),
  );
  await run();
  t.false((await actionItems.get(user.id, task.id)).completed);
});

test("after changes on both sides, the calendar's completion and Earshot's wording both count, and the calendar's notes stay", async t => {
  const { server, connect, run, add, actionItems, user } = await open(t);
  const task = await add('Buy milk');
  await connect();
  await run();
  change(server, 'Buy milk', text =>
    complete(text).replace('END:VTODO', 'DESCRIPTION:two litres\r\nEND:VTODO'),
  );
  await actionItems.edit(user.id, task.id, { description: 'Buy oat milk' });
  await run();
  await run();
  t.true((await actionItems.get(user.id, task.id)).completed);
  t.regex(textWith(server, 'oat milk'), /DESCRIPTION:two litres/);
  t.regex(textWith(server, 'oat milk'), /STATUS:COMPLETED/);
});

test('an entry that changes between read and write is not overwritten, and is read again soon', async t => {
  const { server, connect, run, add, actionItems, user, clock } = await open(t);
  const task = await add('Buy milk');
  await connect();
  await run();
  await actionItems.edit(user.id, task.id, { description: 'Buy oat milk' });
  server.before = method => {
    if (method === 'PUT') change(server, 'Buy milk', complete);
  };
  t.deepEqual(await run(), { again: clock.now() + 60_000 });
  t.regex(textWith(server, 'Buy milk'), /STATUS:COMPLETED/);
  server.before = () => {};
  await run();
  t.true((await actionItems.get(user.id, task.id)).completed);
  t.regex(textWith(server, 'oat milk'), /STATUS:COMPLETED/);
});

test('an existing entry, as after a restore from backup, is adopted instead of duplicated', async t => {
  const { server, connect, run, add, actionItems, user } = await open(t);
  const task = await add('Pay the rent');
  await connect();
  await run();
  change(server, 'Pay', complete);
  await connect();
  await run();
  t.is(server.entries.size, 1);
  t.true((await actionItems.get(user.id, task.id)).completed);
});

test('an entry deleted in the calendar is not written again, and its task stays', async t => {
  const { server, connect, run, add, actionItems, user } = await open(t);
  const task = await add('Buy milk');
  await connect();
  await run();
  server.entries.clear();
  await run();
  await actionItems.edit(user.id, task.id, { description: 'Buy oat milk' });
  await run();
  t.is(server.entries.size, 0);
  t.is((await actionItems.get(user.id, task.id)).description, 'Buy oat milk');
});

test('a calendar for appointments only gets no tasks, and unrelated entries in it are left alone', async t => {
  const { server, connect, run, add } = await open(t, { components: ['VEVENT'] });
  server.entries.set('/calendars/ada/plans/own.ics', 'BEGIN:VCALENDAR\r\nUID:own\r\nEND:VCALENDAR\r\n');
  await add('Buy milk');
  await connect();
  await run();
  t.deepEqual([...server.entries.keys()], ['/calendars/ada/plans/own.ics']);
});

test('a wrong password, an unknown calendar and a private address are refused on connection', async t => {
  const { connect, sync, user } = await open(t);
  await t.throwsAsync(connect({ password: 'wrong' }), { message: /refuses the name or the password/ });
  await t.throwsAsync(connect({ calendar: 'Work' }), { message: /no calendar "Work".*there are: Plans/ });
  await t.throwsAsync(connect({ url: 'http://10.0.0.1/' }), { instanceOf: AppError });
  await t.throwsAsync(connect({ url: 7 }), { message: /url/ });
  t.is(await sync.get(user.id), null);
});

test('a calendar that becomes unreachable reports why, and is retried', async t => {
  const { connect, run, sync, user, server, clock } = await open(t);
  await connect();
  await run();
  t.is((await sync.get(user.id))?.failure, null);
  await server.close();
  t.deepEqual(await run(), { again: clock.now() + 15 * 60_000 });
  t.regex((await sync.get(user.id))?.failure ?? '', /127\.0\.0\.1|calendar/);
});

test('a change in Earshot schedules a run soon, and a disconnected calendar is left alone', async t => {
  const { connect, sync, add, user, server, run, storage, clock } = await open(t);
  sync.start();
  t.teardown(sync.stop);
  await connect();
  await storage.jobs.cancel('calendar.sync', user.id);
  await add('Buy milk');
  t.is(await eventually(() => storage.jobs.nextRunAt(['calendar.sync'], [])), clock.now() + 2000);
  await sync.disconnect(user.id);
  t.is(await run(), undefined);
  t.is(server.entries.size, 0);
  await t.throwsAsync(sync.disconnect(user.id), { message: /No calendar/ });
});
