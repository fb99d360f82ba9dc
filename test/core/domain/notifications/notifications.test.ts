import test, { type ExecutionContext } from 'ava';
import type { NotificationMessage } from '../../../../core/contract/plugin.ts';
import { DELIVER_JOB } from '../../../../core/domain/apps/deliveries.ts';
import { newId } from '../../../../core/domain/ids.ts';
import type { AddressDraft } from '../../../../core/domain/notifications/channel-addresses.ts';
import { RELEASE_JOB, type Telling } from '../../../../core/domain/notifications/notifications.ts';
import { createDueNotices } from '../../../../core/domain/tasks/due-notices.ts';
import { NOTICE_JOB, REMINDER_JOB } from '../../../../core/domain/tasks/reminders.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import type { JobHandler } from '../../../../core/runtime/jobs.ts';
import acme from '../../../fixtures/plugins/acme-channel.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { type Domain, openDomain } from '../../../helpers/domain.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SECRET = 'canary-pin-7719';
const TEXT = 'canary-text: call the doctor';
const databases = await openDatabases(test);
/** SQLite, for tests that do not depend on the database. */
const [{ open: onSqlite }] = databases as [(typeof databases)[number]];

/** Log lines of all tests. */
const logs: unknown[] = [];
test.after('No text and no secret was logged', t => {
  t.true(logs.length > 0);
  t.false(JSON.stringify(logs).includes('canary'));
});

function acmeChannel() {
  const { notify } = acme.setup({
    error: (code, message) => new AppError(code, message),
  } as Parameters<typeof acme.setup>[0]);
  return { name: acme.name, title: acme.title, channel: notify };
}

async function start(t: ExecutionContext, open = onSqlite) {
  const domain = await openDomain(t, open);
  const { storage, clock, notifications, channelAddresses } = domain;
  domain.channels.push(acmeChannel());
  const anna = await domain.users.add('anna');
  const { notice, reminder } = createDueNotices({ storage, clock, notifications });
  const handlers: Record<string, JobHandler> = {
    [NOTICE_JOB]: notice,
    [REMINDER_JOB]: reminder,
    [RELEASE_JOB]: notifications.release,
  };
  const address = (draft: Partial<AddressDraft> = {}) =>
    channelAddresses.add(anna.id, {
      channel: 'acme-channel',
      address: { number: '+4912', pin: SECRET },
      ...draft,
    });
  const tell = async (telling: Partial<Telling> = {}) => {
    const told = await notifications.tell(anna.id, {
      ...{ appId: null, event: 'hook_off', rule: 'A webhook fails', title: 'Off', text: TEXT },
      ...telling,
    });
    clock.advance(1); // ids sort by time
    return told;
  };

  /** Runs the jobs that are due, as the job runner would; resolves to their kinds. */
  async function work(): Promise<string[]> {
    const done: string[] = [];
    for (;;) {
      const [job] = await storage.jobs.claim(Object.keys(handlers), clock.now(), 60_000, 1);
      if (!job) return done;
      done.push(job.kind);
      const result = await handlers[job.kind]?.(job, new AbortController().signal);
      if (!result) await storage.jobs.done(job);
      else if ('again' in result) await storage.jobs.retryAt(job, result.again, null);
      else
        await storage.transaction('work', async tx => {
          await tx.jobs.done(job);
          await result.commit(tx);
        });
    }
  }

  /** Messages handed to the channels since the last call, in order. */
  const seen = new Set<string>();
  async function messages(): Promise<NotificationMessage[]> {
    const rows = await storage.deliveries.list(anna.id, { limit: 1000 });
    const fresh = rows.filter(({ id }) => !seen.has(id)).reverse();
    for (const { id } of fresh) seen.add(id);
    const whole = await Promise.all(fresh.map(({ id }) => storage.deliveries.get(anna.id, id)));
    return whole.map(delivery => JSON.parse(delivery?.body ?? ''));
  }
  const inbox = () => notifications.list(anna.id, { limit: 100 });

  logs.push(domain.logged);
  return { ...domain, anna, address, tell, work, messages, inbox };
}

/** An app that anna installed. */
async function installed(
  { storage, anna, clock }: Pick<Domain, 'storage' | 'clock'> & { anna: { id: string } },
  name = 'Coach',
) {
  const now = clock.now();
  const app = {
    ...{ id: newId(now), userId: anna.id, name, description: '', capabilities: [], triggersOn: [] },
    ...{ webhookUrl: null, setupCompletedUrl: null, actions: [], notificationScopes: [] },
    ...{ createdAt: now, updatedAt: now },
  };
  await storage.apps.insert(app);
  return app;
}

for (const { name, open } of databases) {
  test(`${name}: A notification is stored in the inbox, and queued for every enabled address`, async t => {
    const { storage, address, tell, messages, inbox, channelAddresses, anna } = await start(t, open);
    const [one, two] = [await address(), await address({ address: { number: '2' }, label: 'Kitchen' })];
    const three = await address({ address: { number: '3' } });
    await channelAddresses.edit(anna.id, three.id, { enabled: false });
    const told = await tell({ data: { hook_id: 'h' } });
    t.deepEqual(await inbox(), [told]);
    const sent = await messages();
    t.is(sent.length, 2);
    t.like(sent[0], {
      id: told.id,
      title: 'Off',
      text: TEXT,
      app: 'Earshot',
      event: 'hook_off',
      rule: 'A webhook fails',
      urgency: 'normal',
      data: { hook_id: 'h' },
    });
    const claimed = await storage.jobs.claim([DELIVER_JOB], told.createdAt, 1000, 10);
    t.deepEqual(claimed.map(({ key }) => key).sort(), [one.id, two.id].sort());
  });

  test(`${name}: Quiet hours hold it back, and a stored job sends it at their end`, async t => {
    const { clock, address, tell, messages, inbox, work, notifications, anna } = await start(t, open);
    await address();
    await notifications.changeSettings(anna.id, { quietHours: { from: 11 * 60, to: 13 * 60 } });
    const told = await tell();
    t.is(told.heldUntil, told.createdAt + HOUR_MS);
    t.deepEqual(await messages(), []);
    clock.advance(HOUR_MS - 2);
    t.deepEqual(await work(), []);
    clock.advance(1);
    t.deepEqual(await work(), [RELEASE_JOB]);
    t.deepEqual(
      (await messages()).map(({ id }) => id),
      [told.id],
    );
    t.is((await inbox())[0]?.heldUntil, null);
    clock.advance(DAY_MS);
    t.deepEqual(await work(), [], 'once');
  });

  test(`${name}: A digest combines the notifications since the last one`, async t => {
    const { clock, address, tell, messages, work, notifications, anna } = await start(t, open);
    await address();
    await notifications.changeSettings(anna.id, { digestAt: 18 * 60 });
    const first = await tell({ title: 'First', text: 'a' });
    clock.advance(HOUR_MS);
    const second = await tell({ title: 'Second', text: 'b\nc' });
    await work();
    t.deepEqual(await messages(), []);
    clock.advance(5 * HOUR_MS);
    await work();
    const [digest, ...others] = await messages();
    t.deepEqual(others, []);
    t.like(digest, {
      title: '2 notifications',
      text: '• First: a\n• Second: b c',
      event: 'digest',
      data: { notification_ids: [first.id, second.id] },
    });
    clock.advance(HOUR_MS);
    const alone = await tell({ title: 'Third' });
    clock.advance(DAY_MS);
    await work();
    t.deepEqual(
      (await messages()).map(({ id }) => id),
      [alone.id],
      'one by itself needs no digest',
    );
  });

  test(`${name}: An app has a budget, and notifications beyond it remain in the inbox`, async t => {
    const domain = await start(t, open);
    const { clock, address, tell, messages, inbox, notifications, anna } = domain;
    await address();
    const [coach, quiet] = [await installed(domain), await installed(domain, 'Quiet')];
    for (let count = 0; count < 21; count += 1) await tell({ appId: coach.id });
    t.is((await messages()).length, 20, 'as the operator grants');
    t.is((await inbox())[0]?.silence, 'budget');
    await notifications.changeSettings(anna.id, { budgets: { [quiet.id]: 1 } });
    for (let count = 0; count < 2; count += 1) await tell({ appId: quiet.id });
    t.is((await messages()).length, 1, 'as the user grants');
    await tell();
    t.is((await messages()).length, 1, 'the server itself has none');
    clock.advance(HOUR_MS);
    await tell({ appId: quiet.id });
    t.like((await messages())[0], { app: 'Quiet' });
  });
}

test('A muted notification, or one without an address, remains in the inbox with the reason', async t => {
  const domain = await start(t);
  const { address, tell, messages, inbox, notifications, anna } = domain;
  t.is((await tell()).silence, 'no_channel');
  await address();
  const app = await installed(domain);
  await notifications.mute(anna.id, [app.id]);
  await notifications.mute(anna.id, ['hook_off']);
  t.is((await tell()).silence, 'muted');
  t.is((await tell({ appId: app.id, event: 'app_message' })).silence, 'muted');
  t.deepEqual(await messages(), []);
  t.is((await inbox()).length, 3);
  t.is((await tell({ event: 'day_summary' })).silence, null);
  await notifications.unmute(anna.id, [app.id]);
  t.is((await tell({ appId: app.id, event: 'hook_off' })).silence, null, 'an app is muted by its id alone');
  t.is((await messages()).length, 2);
});

test('Notifications held back by quiet hours are sent as one, except urgent ones', async t => {
  const { clock, address, tell, messages, work, notifications, anna } = await start(t);
  await address();
  await notifications.changeSettings(anna.id, { quietHours: { from: 11 * 60, to: 13 * 60 } });
  for (let count = 0; count < 6; count += 1) await tell({ title: `Nr ${count}` });
  const urgent = await tell({ event: 'action_item_reminder', title: 'Due now' });
  clock.advance(HOUR_MS);
  await work();
  const sent = await messages();
  t.deepEqual(sent.map(({ title }) => title).sort(), ['6 notifications', 'Due now']);
  t.like(
    sent.find(({ id }) => id === urgent.id),
    { urgency: 'high' },
  );
});

test('A notification that is useless tomorrow waits for the end of quiet hours, not for the digest', async t => {
  const { clock, address, tell, notifications, anna } = await start(t);
  const at = clock.now();
  await address();
  await notifications.changeSettings(anna.id, { digestAt: 18 * 60 });
  t.is((await tell({ event: 'action_item_reminder' })).heldUntil, null);
  await notifications.changeSettings(anna.id, { quietHours: { from: 11 * 60, to: 13 * 60 } });
  t.is((await tell({ event: 'action_item_reminder' })).heldUntil, at + HOUR_MS);
  await notifications.changeSettings(anna.id, { quietHours: { from: 17 * 60, to: 19 * 60 } });
  t.is((await tell()).heldUntil, at + 7 * HOUR_MS, 'a digest in quiet hours waits for their end');
});

test('A change of settings re-evaluates the notifications held back', async t => {
  const { clock, address, tell, messages, work, inbox, notifications, anna } = await start(t);
  await address();
  await notifications.changeSettings(anna.id, { quietHours: { from: 11 * 60, to: 23 * 60 } });
  const told = await tell();
  await notifications.changeSettings(anna.id, { quietHours: { from: 11 * 60, to: 13 * 60 } });
  await work();
  t.is((await inbox())[0]?.heldUntil, told.createdAt + HOUR_MS);
  await notifications.changeSettings(anna.id, { quietHours: null });
  await work();
  t.deepEqual(
    (await messages()).map(({ id }) => id),
    [told.id],
  );
  await notifications.changeSettings(anna.id, { digestAt: 18 * 60 });
  await tell();
  await notifications.mute(anna.id, ['hook_off']);
  await work();
  t.like((await inbox())[0], { silence: 'muted', heldUntil: null });
  clock.advance(DAY_MS);
  await work();
  t.deepEqual(await messages(), []);
});

test('Any number of notifications can be held back, and all are sent', async t => {
  const { clock, address, tell, messages, work, inbox, notifications, storage, anna } = await start(t);
  await address();
  await notifications.changeSettings(anna.id, { digestAt: 18 * 60 });
  for (let count = 0; count < 201; count += 1) await tell();
  await notifications.mute(anna.id, ['day_summary']);
  t.deepEqual(await work(), [RELEASE_JOB]);
  clock.advance(6 * HOUR_MS);
  t.deepEqual(await work(), [RELEASE_JOB, RELEASE_JOB]);
  t.is((await messages()).length, 2);
  t.deepEqual(await storage.notifications.held(anna.id, Number.MAX_SAFE_INTEGER, 10), []);
  t.is((await inbox())[0]?.silence, null);
});

test("Quiet hours follow the user's local time, also in the night when clocks go back", async t => {
  const { clock, address, tell, notifications, anna } = await start(t);
  await address();
  await notifications.changeSettings(anna.id, {
    timeZone: 'Europe/Berlin',
    quietHours: { from: 22 * 60, to: 2 * 60 + 30 },
  });
  clock.advance(Date.parse('2027-10-30T23:00:00Z') - clock.now()); // 01:00 in Berlin, clocks go back at 03:00
  t.is((await tell()).heldUntil, Date.parse('2027-10-31T00:30:00Z'));
  clock.advance(Date.parse('2027-10-31T01:10:00Z') - clock.now()); // 02:10 for the second time
  t.is((await tell()).heldUntil, null);
});

test('Invalid settings are rejected with the reason', async t => {
  const { notifications, anna } = await start(t);
  const refused = async (changes: object, field: string) => {
    const error = await t.throwsAsync(notifications.changeSettings(anna.id, changes), {
      instanceOf: AppError,
    });
    t.deepEqual([error.code, error.issues?.[0]?.loc], ['invalid_request', ['body', field]]);
  };
  await refused({ timeZone: 'Mars/Olympus' }, 'time_zone');
  await refused({ quietHours: { from: 60, to: 60 } }, 'quiet_hours');
  await refused({ digestAt: 1440 }, 'digest_at');
  await refused({ muted: Array.from({ length: 201 }, (_, index) => `e${index}`) }, 'muted');
  await refused({ budgets: { app: -1 } }, 'budgets');
  t.is((await notifications.settings(anna.id)).timeZone, 'UTC', 'nothing of it is kept');
});

test('The link in a message turns off its kind only; a modified link does nothing', async t => {
  const domain = await start(t);
  const { address, tell, messages, notifications, anna } = domain;
  await address();
  const app = await installed(domain);
  await tell({ appId: app.id, event: 'app_message' });
  const [message] = await messages();
  const url = new URL(message?.muteUrl ?? '');
  t.is(url.origin + url.pathname, 'https://earshot.example/v1/notifications/mute');
  const token = url.searchParams.get('token') ?? '';
  const link = await notifications.muteLink(token);
  t.is(link.what, '“Coach”');
  t.deepEqual((await notifications.settings(anna.id)).muted, [], 'looking does not mute');
  await link.mute();
  await link.mute();
  t.deepEqual((await notifications.settings(anna.id)).muted, [app.id]);
  const [text, seal = ''] = token.split('.');
  const other = Buffer.from(JSON.stringify([anna.id, 'hook_off'])).toString('base64url');
  for (const wrong of [
    '',
    text ?? '',
    `${other}.${seal}`,
    `${text}.${seal.slice(1)}`,
    `${text}.`,
    'x'.repeat(9999),
  ])
    await t.throwsAsync(
      notifications.muteLink(wrong),
      { message: /belongs to another server/ },
      wrong.slice(0, 40),
    );
});

test('Text from others is shortened, and has no control characters', async t => {
  const { address, tell, messages } = await start(t);
  await address();
  await tell({ title: 'a\u0000b\nc', text: `x\u001b[31m${'🫖'.repeat(5000)}` });
  const [message] = await messages();
  t.is(message?.title, 'a b c');
  t.is([...(message?.text ?? '')].length, 4000);
  t.true(message?.text.startsWith('x [31m🫖'));
});

test('An address is described by its channel, and its secrets are not shown again', async t => {
  const { anna, address, channelAddresses, storage } = await start(t);
  const made = await address({ label: ' Pager ' });
  t.like(made, { channel: 'acme-channel', label: 'Pager', address: { number: '+4912' }, secrets: ['pin'] });
  t.false(JSON.stringify([made, await channelAddresses.list(anna.id)]).includes(SECRET));
  t.like((await channelAddresses.channels())[0], { name: 'acme-channel', publicInfo: { country: 'DE' } });
  await channelAddresses.edit(anna.id, made.id, { address: { number: '7' } });
  t.deepEqual((await storage.channelAddresses.get(anna.id, made.id))?.address, { number: '7', pin: SECRET });
  t.like(await channelAddresses.edit(anna.id, made.id, { address: { pin: null } }), { secrets: [] });
  for (const wrong of [{}, { number: 'x' }, { number: '1', more: 1 }, { number: '1', pin: 'abc' }]) {
    const error = await t.throwsAsync(address({ address: wrong }), { instanceOf: AppError });
    t.is(error.code, 'invalid_request');
    t.deepEqual(error.issues?.[0]?.loc.slice(0, 2), ['body', 'address']);
  }
  await t.throwsAsync(address({ channel: 'pigeon' }), { message: /should be one of: acme-channel/ });
});

test('Adding an existing address again enables it', async t => {
  const { anna, address, channelAddresses } = await start(t);
  const made = await address();
  await channelAddresses.edit(anna.id, made.id, { enabled: false });
  t.like(await address({ address: { pin: SECRET, number: '+4912' } }), { id: made.id, enabled: true });
  t.is((await channelAddresses.list(anna.id)).length, 1);
  for (let number = 1; number < 20; number += 1) await address({ address: { number: String(number) } });
  await t.throwsAsync(address({ address: { number: '99' } }), { message: /20 addresses already/ });
});

test('A test notification reports its result, at most 20 times an hour', async t => {
  const { anna, address, channelAddresses } = await start(t);
  const good = await address();
  const bad = await address({ address: { number: 'bad' } });
  t.is(await channelAddresses.test(anna.id, good.id), null);
  t.is(await channelAddresses.test(anna.id, bad.id), 'Acme answers 500');
  for (let count = 2; count < 20; count += 1) await channelAddresses.test(anna.id, good.id);
  const error = await t.throwsAsync(channelAddresses.test(anna.id, good.id), { instanceOf: AppError });
  t.deepEqual([error.code, error.retryAfter], ['rate_limited', 3600]);
});

test('Nobody can access notifications of others', async t => {
  const { users, anna, address, tell, notifications, channelAddresses } = await start(t);
  const ben = await users.add('ben');
  const made = await address();
  const told = await tell();
  t.deepEqual(await notifications.list(ben.id, { limit: 10 }), []);
  t.deepEqual(await notifications.markRead(ben.id, [told.id]), { read: 0, unread: 0 });
  for (const attempt of [
    () => channelAddresses.edit(ben.id, made.id, { enabled: false }),
    () => channelAddresses.remove(ben.id, made.id),
    () => channelAddresses.test(ben.id, made.id),
  ])
    await t.throwsAsync(attempt(), { message: 'Address not found' });
  t.deepEqual(await notifications.markRead(anna.id, [told.id, 'no id']), { read: 1, unread: 0 });
  t.deepEqual(await notifications.markRead(anna.id, 'all'), { read: 0, unread: 0 });
});

test('Old notifications are deleted from the inbox', async t => {
  const { clock, tell, inbox, notifications } = await start(t);
  await tell();
  clock.advance(DAY_MS);
  const young = await tell();
  await notifications.prune(clock.now() - HOUR_MS);
  t.deepEqual(await inbox(), [young]);
});

for (const { name, open } of databases) {
  test(`${name}: A due date that is set, changed or removed is announced, with the data that apps need`, async t => {
    const { clock, anna, actionItems, address, messages, work } = await start(t, open);
    await address();
    const dueAt = clock.now() + DAY_MS;
    const [item] = await actionItems.create(anna.id, [{ description: TEXT, completed: false, dueAt }]);
    await work();
    const due_at = new Date(dueAt).toISOString();
    t.like((await messages())[0], {
      title: 'Due Tue 3 Nov, 12:00',
      text: TEXT,
      event: 'action_item_update',
      data: { id: item?.id, description: TEXT, due_at },
    });
    await actionItems.edit(anna.id, item?.id ?? '', { description: 'canary: bring flowers' });
    await work();
    t.deepEqual(await messages(), [], 'another text is no other due date');
    await actionItems.edit(anna.id, item?.id ?? '', { completed: true });
    await work();
    t.like((await messages())[0], { event: 'action_item_delete', urgency: 'low' });
    clock.advance(2 * DAY_MS);
    t.deepEqual(await work(), [], 'nobody is reminded of what is done');
  });

  test(`${name}: A reminder is sent once, at its time, from the current task`, async t => {
    const { clock, anna, actionItems, storage, address, messages, work } = await start(t, open);
    await address();
    const create = async (dueAt: number) =>
      (await actionItems.create(anna.id, [{ description: TEXT, completed: false, dueAt }]))[0]?.id ?? '';
    const due = clock.now() + HOUR_MS;
    const [plain, moved, gone, locked] = [
      await create(due),
      await create(due),
      await create(due),
      await create(due),
    ];
    await actionItems.edit(anna.id, plain, { description: 'canary: new text' });
    await actionItems.edit(anna.id, moved, { dueAt: due + HOUR_MS });
    await actionItems.remove(anna.id, gone);
    await storage.actionItems.update(anna.id, locked, { locked: true });
    await work();
    await messages();
    clock.advance(HOUR_MS);
    await work();
    const at = await messages();
    t.deepEqual(
      at.map(({ event, text }) => [event, text]),
      [['action_item_reminder', 'canary: new text']],
    );
    t.is(at[0]?.title, 'Due now (Mon 2 Nov, 13:00)');
    clock.advance(-HOUR_MS);
    t.deepEqual(await work(), [], 'a clock that is set back reminds of nothing');
    clock.advance(HOUR_MS);
    t.deepEqual(await work(), [], 'nor does the same hour, come again');
    clock.advance(DAY_MS);
    await work();
    t.deepEqual(
      (await messages()).map(({ data }) => data.id),
      [moved],
      'a clock that is set forward: at once',
    );
  });
}

test('A reminder that runs early waits, and one whose task moves meanwhile is not sent twice', async t => {
  const { clock, anna, actionItems, notifications, storage, address, messages, work } = await start(t);
  await address();
  const dueAt = clock.now() + HOUR_MS;
  const [item] = await actionItems.create(anna.id, [{ description: TEXT, completed: false, dueAt }]);
  await work();
  await messages();
  const { reminder } = createDueNotices({ storage, clock, notifications });
  const run = async () => {
    const job = { id: '', kind: REMINDER_JOB, key: '', attempts: 1, lease: '', runAt: 0 };
    return reminder({ ...job, payload: { userId: anna.id, id: item?.id } }, new AbortController().signal);
  };
  t.deepEqual(await run(), { again: dueAt }, 'the clock was set back since it was claimed');
  clock.advance(HOUR_MS);
  const result = await run();
  await actionItems.edit(anna.id, item?.id ?? '', { dueAt: dueAt + HOUR_MS });
  if (!result || !('commit' in result)) return t.fail('it is due');
  await storage.transaction('end of the job', result.commit);
  t.deepEqual(
    (await messages()).map(({ event }) => event),
    [],
  );
  await work();
  clock.advance(HOUR_MS);
  await work();
  t.deepEqual(
    (await messages()).map(({ event }) => event),
    ['action_item_update', 'action_item_reminder'],
  );
});
