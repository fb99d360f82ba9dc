import { createHash } from 'node:crypto';
import test from 'ava';
import type { z } from 'zod';
import type { CalendarOutlet, RemoteEntry } from '../../../../core/contract/plugin.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { type CalendarSubject, calendarChecks } from '../../../../plugins/kit/suites/calendar.ts';
import { caldavOutlet, openCaldavServer } from '../../../helpers/caldav-server.ts';

type Fault =
  | 'does not describe an address'
  | 'prints a secret'
  | 'takes anything for an address'
  | 'makes another address of a stored one'
  | 'has no name'
  | 'opens with any password'
  | 'calls a wrong password a failure of the server'
  | 'lists an entry twice'
  | 'lists entries of others'
  | 'loses what is not ASCII'
  | 'reads entries that are not there'
  | 'keeps the version'
  | 'tells another version'
  | 'writes over any version'
  | 'writes an entry twice'
  | 'brings back what is gone'
  | 'cannot remove twice'
  | 'keeps what it removes'
  | 'removes any version'
  | 'opens though aborted';

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'does not describe an address': 'describes each field of an address',
  'prints a secret': 'marks fields of an address that look like secrets',
  'takes anything for an address': 'refuses a nonsensical address',
  'makes another address of a stored one': 'has addresses that survive JSON',
  'has no name': 'opens a calendar that has a name',
  'opens with any password': 'reports a wrong secret as an error that a person has to correct',
  'calls a wrong password a failure of the server':
    'reports a wrong secret as an error that a person has to correct',
  'lists an entry twice': 'stores an entry, and lists it once',
  'lists entries of others': 'stores an entry, and lists it once',
  'loses what is not ASCII': 'returns entries as stored, with any Unicode',
  'reads entries that are not there': 'reads existing entries, and no others',
  'keeps the version': 'replaces the version that it is given',
  'tells another version': 'replaces the version that it is given',
  'writes over any version': 'refuses to replace another version',
  'writes an entry twice': 'refuses to create an entry that exists',
  'brings back what is gone': 'refuses to replace an entry that was removed',
  'cannot remove twice': 'removes an entry, and accepts that it is already removed',
  'keeps what it removes': 'removes an entry, and accepts that it is already removed',
  'removes any version': 'refuses to remove another version',
  'opens though aborted': 'opens nothing when it is aborted',
};

/** A calendar on a wall; with `fault`, wrong in one way. */
function wall(fault?: Fault): CalendarSubject {
  const entries = new Map<string, RemoteEntry>();
  const conflict = () => new AppError('conflict', 'another version is there');
  const versionOf = (text: string) =>
    fault === 'keeps the version' ? 'v' : createHash('sha256').update(text).digest('hex');

  const outlet: CalendarOutlet<{ room: string; password: string }> = {
    address: zod => addressOf(zod, fault) as never,
    async open({ password }, signal) {
      if (fault !== 'opens though aborted') signal.throwIfAborted();
      const code =
        fault === 'calls a wrong password a failure of the server' ? 'upstream_error' : 'config_error';
      if (password !== 'secret' && fault !== 'opens with any password')
        throw new AppError(code, 'that password is wrong');
      return {
        name: fault === 'has no name' ? ' ' : 'Kitchen',
        takesTasks: true,
        async list() {
          const all = [...entries.values()].map(({ uid, etag }) => ({ uid, etag }));
          if (fault === 'lists an entry twice') return [...all, ...all];
          return fault === 'lists entries of others' ? [...all, { uid: 'party@elsewhere', etag: 'v' }] : all;
        },
        async read(uids) {
          return uids.flatMap(uid => {
            const found = entries.get(uid);
            if (found) return [found];
            return fault === 'reads entries that are not there' ? [{ uid, etag: '', text: '' }] : [];
          });
        },
        async write(uid, text, etag) {
          const before = entries.get(uid);
          const isFree = !before && fault === 'brings back what is gone';
          const isSame = (before?.etag ?? null) === etag;
          const isAllowed =
            (etag === null && fault === 'writes an entry twice') ||
            (etag !== null && fault === 'writes over any version');
          if (!isSame && !isAllowed && !isFree) throw conflict();
          const kept = fault === 'loses what is not ASCII' ? text.replaceAll(/[^ -~\r\n]/g, '?') : text;
          entries.set(uid, { uid, etag: versionOf(kept), text: kept });
          return fault === 'tells another version' ? 'another' : versionOf(kept);
        },
        async remove(uid, etag) {
          const before = entries.get(uid);
          if (!before && fault === 'cannot remove twice') throw new AppError('not_found', 'it is gone');
          if (before && before.etag !== etag && fault !== 'removes any version') throw conflict();
          if (fault !== 'keeps what it removes') entries.delete(uid);
        },
      };
    },
  };
  return { outlet, address: { room: 'kitchen', password: 'secret' } };
}

function addressOf(zod: typeof z, fault?: Fault): z.ZodObject {
  if (fault === 'takes anything for an address') return zod.looseObject({}).catch({}) as never;
  const room = zod.string().regex(/^[\w!]+$/);
  const changed =
    fault === 'makes another address of a stored one' ? room.transform(name => `${name}!`) : room;
  return zod.strictObject({
    room: fault === 'does not describe an address' ? changed : changed.describe('Where it hangs'),
    password: zod
      .string()
      .meta({ secret: fault !== 'prints a secret' })
      .describe('Of the door'),
  });
}

for (const check of calendarChecks) {
  test(`a good calendar ${check.title}`, async t => {
    await t.notThrowsAsync(check.run(wall()));
  });

  test(`caldav, beside a server that speaks CalDAV on a real socket, ${check.title}`, async t => {
    const server = await openCaldavServer();
    t.teardown(server.close);
    const { outlet } = caldavOutlet(t, { now: () => Date.now(), sleep: () => Promise.resolve() });
    const address = { url: server.url, username: 'ada', password: 'secret' };
    await t.notThrowsAsync(check.run({ outlet, address }));
    t.is(server.entries.size, 0, 'it leaves something there');
  });
}

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a calendar that ${fault} is caught`, async t => {
    const check = calendarChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(wall(fault as Fault)));
  });
}
