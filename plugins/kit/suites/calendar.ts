/**
 * Requirements for every calendar plugin, as plain checks that throw. They write a few entries into the calendar of the
 * address, and remove them.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isSecret } from '../../../config/keys.ts';
import type { CalendarOutlet, RemoteCalendar } from '../../../core/contract/plugin.ts';
import {
  explainsAddress,
  keepsAddress,
  marksSecrets,
  parseAddress,
  refusesNonsense,
  schemaOf,
} from './address.ts';
import type { SuiteCheck } from './report.ts';

export interface CalendarSubject {
  outlet: CalendarOutlet;
  /** An existing calendar in the form in which a user gives it: entries are written to it. */
  address: Record<string, unknown>;
}

export interface CalendarCheck extends SuiteCheck<CalendarSubject> {
  /** True: the check needs no calendar. */
  alone?: true;
}

export const calendarChecks: readonly CalendarCheck[] = [
  {
    title: 'describes each field of an address',
    alone: true,
    run: async ({ outlet }) => explainsAddress(outlet),
  },
  {
    title: 'marks fields of an address that look like secrets',
    alone: true,
    run: async ({ outlet }) => marksSecrets(outlet),
  },
  {
    title: 'refuses a nonsensical address',
    alone: true,
    run: async ({ outlet }) => refusesNonsense(outlet),
  },
  {
    title: 'has addresses that survive JSON',
    isBasis: true,
    run: async ({ outlet, address }) => keepsAddress(outlet, address),
  },
  { title: 'opens a calendar that has a name', isBasis: true, run: opens },
  { title: 'reports a wrong secret as an error that a person has to correct', run: refusesWrongSecret },
  { title: 'stores an entry, and lists it once', run: stores },
  { title: 'returns entries as stored, with any Unicode', run: reads },
  { title: 'reads existing entries, and no others', run: readsSome },
  { title: 'replaces the version that it is given', run: writesOver },
  { title: 'refuses to replace another version', run: refusesOldVersion },
  { title: 'refuses to create an entry that exists', run: refusesTwice },
  { title: 'refuses to replace an entry that was removed', run: refusesGone },
  { title: 'removes an entry, and accepts that it is already removed', run: removes },
  { title: 'refuses to remove another version', run: refusesToRemove },
  { title: 'opens nothing when it is aborted', run: stops },
];

const never = new AbortController().signal;
const SUMMARIES = [
  'Tea at four',
  'Grüße, שלום 你好 🧑‍🚀',
  'one\\, two\\; three\\nfour <b>&amp;</b> ]]>',
  'x'.repeat(2000),
];

async function openCalendar({ outlet, address }: CalendarSubject): Promise<RemoteCalendar> {
  return outlet.open(parseAddress(outlet, address), never);
}

async function opens(subject: CalendarSubject): Promise<void> {
  const { name, takesTasks } = await openCalendar(subject);
  assert.ok(typeof name === 'string' && name.trim() !== '', 'it has no name');
  assert.equal(typeof takesTasks, 'boolean', 'takesTasks is not a boolean');
}

async function refusesWrongSecret(subject: CalendarSubject): Promise<void> {
  const { shape } = schemaOf(subject.outlet);
  const secrets = Object.keys(subject.address).filter(field => shape[field] && isSecret(shape[field]));
  for (const secret of secrets) {
    const address = { ...subject.address, [secret]: `wrong-${randomUUID()}` };
    await rejects('config_error', 'a wrong secret', () => openCalendar({ ...subject, address }));
  }
}

async function stores(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const listed = (await calendar.list()).filter(each => each.uid === uid);
    assert.equal(listed.length, 1, `it lists the entry ${listed.length} times`);
    assert.ok(listed[0]?.etag, 'the entry has no version');
    const others = (await calendar.list()).filter(each => !each.uid.endsWith('@earshot'));
    assert.deepEqual(others, [], 'it lists entries of others');
  });
}

async function reads(subject: CalendarSubject): Promise<void> {
  for (const summary of SUMMARIES)
    await withEntry(
      subject,
      async ({ calendar, uid }) => {
        const [entry, ...others] = await calendar.read([uid]);
        assert.ok(entry && others.length === 0, 'it does not return the entry');
        assert.equal(entry.uid, uid, 'it returns another entry');
        assert.equal(
          entry.etag,
          await versionOf(calendar, uid),
          'read() returns another version than list()',
        );
        assert.ok(
          unfolded(entry.text).includes(`SUMMARY:${summary}`),
          'it returns another text than was written',
        );
      },
      summary,
    );
}

async function readsSome(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const found = await calendar.read([newUid(), uid, newUid()]);
    assert.deepEqual(
      found.map(each => each.uid),
      [uid],
    );
    assert.deepEqual(await calendar.read([]), [], 'it returns entries that were not requested');
  });
}

async function writesOver(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const before = await versionOf(calendar, uid);
    const written = await calendar.write(uid, textOf(calendar, uid, 'Tea at five'), before);
    const after = await versionOf(calendar, uid);
    assert.notEqual(after, before, 'the version did not change');
    if (written !== null)
      assert.equal(written, after, 'write() resolves to another version than list() returns');
    const [entry] = await calendar.read([uid]);
    assert.ok(unfolded(entry?.text ?? '').includes('SUMMARY:Tea at five'), 'it was not written');
  });
}

async function refusesOldVersion(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const old = await versionOf(calendar, uid);
    await calendar.write(uid, textOf(calendar, uid, 'Tea at five'), old);
    const write = () => calendar.write(uid, textOf(calendar, uid, 'Tea at six'), old);
    await rejects('conflict', 'an old version', write);
    const [entry] = await calendar.read([uid]);
    assert.ok(
      unfolded(entry?.text ?? '').includes('SUMMARY:Tea at five'),
      'the entry was replaced nevertheless',
    );
  });
}

async function refusesTwice(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const write = () => calendar.write(uid, textOf(calendar, uid, 'Tea at six'), null);
    await rejects('conflict', 'an entry that exists', write);
  });
}

async function refusesGone(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const version = await versionOf(calendar, uid);
    await calendar.remove(uid, version);
    const write = () => calendar.write(uid, textOf(calendar, uid, 'Tea at six'), version);
    await rejects('conflict', 'an entry that was removed', write);
  });
}

async function removes(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const version = await versionOf(calendar, uid);
    await calendar.remove(uid, version);
    assert.ok(!(await calendar.list()).some(each => each.uid === uid), 'the entry still exists');
    await calendar.remove(uid, version);
  });
}

async function refusesToRemove(subject: CalendarSubject): Promise<void> {
  await withEntry(subject, async ({ calendar, uid }) => {
    const old = await versionOf(calendar, uid);
    await calendar.write(uid, textOf(calendar, uid, 'Tea at five'), old);
    await rejects('conflict', 'an old version', () => calendar.remove(uid, old));
  });
}

async function stops({ outlet, address }: CalendarSubject): Promise<void> {
  const signal = AbortSignal.abort(new Error('nobody waits any more'));
  await assert.rejects(async () => outlet.open(parseAddress(outlet, address), signal), 'it opened');
}

/** Runs work with a newly written entry, which is removed at the end. */
async function withEntry(
  subject: CalendarSubject,
  work: (made: { calendar: RemoteCalendar; uid: string }) => Promise<void>,
  summary = 'Tea at four',
): Promise<void> {
  const calendar = await openCalendar(subject);
  const uid = newUid();
  try {
    await calendar.write(uid, textOf(calendar, uid, summary), null);
    await work({ calendar, uid });
  } finally {
    const left = (await calendar.list()).find(each => each.uid === uid);
    if (left) await calendar.remove(uid, left.etag);
  }
}

async function versionOf(calendar: RemoteCalendar, uid: string): Promise<string> {
  const entry = (await calendar.list()).find(each => each.uid === uid);
  assert.ok(entry, 'the entry is not listed');
  return entry.etag;
}

/** A UID in the form of core's. */
function newUid(): string {
  return `task-${randomUUID()}@earshot`;
}

/** Returns a task where the calendar accepts tasks, else an appointment. */
function textOf({ takesTasks }: RemoteCalendar, uid: string, summary: string): string {
  const stamp = '20261102T120000Z';
  const kind = takesTasks ? 'VTODO' : 'VEVENT';
  const times = takesTasks ? [`DUE:${stamp}`, 'STATUS:NEEDS-ACTION'] : [`DTSTART:${stamp}`, 'DURATION:PT1H'];
  const lines = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Earshot//Earshot//EN', `BEGIN:${kind}`, `UID:${uid}`],
    ...[`DTSTAMP:${stamp}`, ...times, ...folded(`SUMMARY:${summary}`), `END:${kind}`, 'END:VCALENDAR'],
  ];
  return lines.map(line => `${line}\r\n`).join('');
}

/** Folds lines at 75 bytes (RFC 5545, 3.1). */
function folded(line: string): string[] {
  const lines = [''];
  for (const character of line) {
    const last = lines.at(-1) ?? '';
    if (Buffer.byteLength(last + character) > 75) lines.push(` ${character}`);
    else lines[lines.length - 1] = last + character;
  }
  return lines;
}

function unfolded(text: string): string {
  return text.replaceAll(/\r?\n[ \t]/g, '');
}

async function rejects(code: string, what: string, work: () => Promise<unknown>): Promise<void> {
  await assert.rejects(
    work,
    (thrown: unknown) => {
      const found = (thrown as { code?: unknown } | null)?.code;
      assert.equal(found, code, `${what} is not refused with ${code}: ${thrown}`);
      return true;
    },
    `${what} is not refused`,
  );
}
