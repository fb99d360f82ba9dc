import ICAL from 'ical.js';
import { instantOf, isTimeZone } from '../../wall-clock.ts';
import type { ForeignThing } from '../foreign-item.ts';
import { MAX_ITEM_CHARS } from '../foreign-item.ts';
import { type About, clipped, type Format, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

/** iCalendar: its to-dos. Earshot keeps no calendar of its own, so events stay where they are. */
export const calendar: Format = {
  title: 'a calendar (ICS)',
  claims: path => /\.(ics|ical)$/i.test(path),
  async *things(file, about) {
    const root = componentOf(await textOf(file), file.path);
    for (const part of root.getAllSubcomponents())
      if (part.name === 'vtodo') yield taskOf(part, file.path, about);
      else if (part.name === 'vevent')
        yield { kind: 'left_out', what: 'event', why: 'Earshot keeps no calendar of its own' };
  },
};

function componentOf(text: string, path: string): ICAL.Component {
  try {
    const root = new ICAL.Component(ICAL.parse(text) as [string, unknown[], unknown[]]);
    if (root.name === 'vcalendar') return root;
  } catch (cause) {
    throw wrong(`${path} is no calendar that can be read`, cause);
  }
  throw wrong(`${path} is no calendar`);
}

function taskOf(part: ICAL.Component, path: string, about: About): ForeignThing {
  const text = (name: string) => String(part.getFirstPropertyValue(name) ?? '');
  const description = clipped(text('summary') || text('description'), MAX_ITEM_CHARS);
  if (description === '') return { kind: 'left_out', what: 'task', why: 'it is empty' };
  const uid = text('uid');
  if (uid === '') throw wrong(`${path}: the task "${description.slice(0, 60)}" has no UID`);
  const completed = text('status').toUpperCase() === 'COMPLETED' || part.hasProperty('completed');
  return {
    kind: 'task',
    key: `ics:${uid.slice(0, 400)}`,
    description,
    completed,
    dueAt: instantAt(part, 'due', path, about),
    createdAt: instantAt(part, 'created', path, about),
  };
}

function instantAt(part: ICAL.Component, name: string, path: string, { timeZone }: About): number | null {
  const property = part.getFirstProperty(name);
  if (!property) return null;
  const time = property.getFirstValue();
  if (!(time instanceof ICAL.Time)) throw wrong(`${path}: ${name.toUpperCase()} is no time`);
  const { year, month, day, hour, minute, second } = time;
  const utc = Date.UTC(year, month - 1, day, hour, minute, second);
  if (Number.isNaN(utc) || year < 1970 || year > 9999)
    throw wrong(`${path}: ${name.toUpperCase()} is no time`);
  if (time.zone === ICAL.Timezone.utcTimezone) return utc;
  const named = property.getFirstParameter('tzid');
  const zone = named && isTimeZone(named) ? named : timeZone;
  const at = { day: new Date(utc).toISOString().slice(0, 10), minute: hour * 60 + minute };
  return instantOf(at, zone) + second * 1000;
}
