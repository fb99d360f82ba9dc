import { Readable } from 'node:stream';
import { z } from 'zod';
import type { CalendarLink, User } from '../../contract/model.ts';
import { type CalendarFeed, TASKS_SHOWN } from '../../domain/calendar/calendar-feed.ts';
import { type CalendarLinks, FEED_PATH } from '../../domain/calendar/calendar-links.ts';
import type { CalendarAccount, CalendarSync } from '../../domain/calendar/calendar-sync.ts';
import { Failed } from '../openapi.ts';
import { type OpenRoute, type Route, route } from '../route.ts';
import { cutOffStalled } from '../stalled.ts';
import { validate } from '../validate.ts';

const PATH = '/v1/calendar/link';

const LinkJson = z
  .object({
    hint: z.string().describe('Abbreviated secret'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'CalendarLink' });

const NewLinkJson = LinkJson.extend({
  path: z.string().describe('Path below the address of the server. Shown only once'),
  url: z.string().nullable().describe('Complete address; null if the server has no `publicUrl`'),
}).meta({ id: 'NewCalendarLink' });

const Wanted = z.object({ token: z.string().max(100).catch(''), tasks: z.enum(TASKS_SHOWN).default('todo') });

const OWN = {
  tag: 'Calendar',
  credential: 'idToken',
  params: z.object({}),
  query: z.object({}),
} as const;

/** The secret link by which calendar programs read an account's events and tasks. */
export function calendarRoutes(links: CalendarLinks): Route[] {
  const own = { ...OWN, path: PATH } as const;
  return [
    route({
      ...own,
      method: 'get',
      id: 'getCalendarLink',
      summary: 'Get the calendar link; null: there is none',
      response: LinkJson.nullable(),
      async handle({ principal: { user } }) {
        const link = await links.get(user.id);
        return link && linkJson(link);
      },
    }),
    route({
      ...own,
      method: 'post',
      id: 'renewCalendarLink',
      summary: 'Create or replace the calendar link; an earlier link is refused at once',
      response: NewLinkJson,
      async handle({ principal: { user } }) {
        const { link, path, url } = await links.renew(user.id);
        return { ...linkJson(link), path, url };
      },
    }),
    route({
      ...own,
      method: 'delete',
      id: 'deleteCalendarLink',
      summary: 'Revoke the calendar link',
      errors: ['not_found'],
      handle: ({ principal: { user } }) => links.remove(user.id),
    }),
  ];
}

const AccountJson = z
  .object({
    service: z.string().describe('Name of the plugin'),
    address: z.record(z.string(), z.unknown()).describe('Without its secrets'),
    name: z.string().describe('Of the calendar'),
    connected_at: z.iso.datetime(),
    synced_at: z.iso.datetime().nullable().describe('When it was up to date last; null: never yet'),
    failure: z.string().nullable().describe('Why it could not be brought up to date last; null: it could'),
  })
  .meta({ id: 'CalendarAccount' });

const ACCOUNT_EXAMPLE = {
  address: { url: 'https://cloud.example.com/remote.php/dav', username: 'ada', password: 'secret' },
};

const AccountDraft = z
  .strictObject({
    service: z.string().min(1).max(100).default('caldav'),
    address: z
      .record(z.string().max(100), z.unknown())
      .describe('For `caldav`: `url`, `username`, `password`, `calendar`'),
  })
  .meta({ id: 'CalendarAccountDraft', override: { examples: [ACCOUNT_EXAMPLE] } });

/** The external calendar to which an account's tasks and appointments are written. */
export function calendarAccountRoutes(sync: CalendarSync): Route[] {
  const own = { ...OWN, path: '/v1/calendar/account' } as const;
  return [
    route({
      ...own,
      method: 'get',
      id: 'getCalendarAccount',
      summary: 'Get the connected calendar; null: there is none',
      response: AccountJson.nullable(),
      async handle({ principal: { user } }) {
        const account = await sync.get(user.id);
        return account && accountJson(account);
      },
    }),
    route({
      ...own,
      method: 'put',
      id: 'connectCalendarAccount',
      summary: 'Connect a calendar that tasks and events are written to, in place of the present one',
      body: AccountDraft,
      maxBodyBytes: 16 * 1024,
      response: AccountJson,
      errors: ['conflict'],
      async handle({ principal: { user }, body }) {
        return accountJson(await sync.connect(user.id, body));
      },
    }),
    route({
      ...own,
      method: 'delete',
      id: 'disconnectCalendarAccount',
      summary: 'Disconnect the calendar; its entries stay there',
      errors: ['not_found'],
      handle: ({ principal: { user } }) => sync.disconnect(user.id),
    }),
  ];
}

function accountJson(account: CalendarAccount): z.input<typeof AccountJson> {
  const { outlet, address, name, connectedAt, syncedAt, failure } = account;
  const instant = (at: number) => new Date(at).toISOString();
  return {
    service: outlet,
    address,
    name,
    connected_at: instant(connectedAt),
    failure,
    synced_at: syncedAt === null ? null : instant(syncedAt),
  };
}

/** Admits whoever has a valid link; requests are counted by address before anything is looked up. */
type AdmitByLink = (context: Parameters<OpenRoute['serve']>[0], verify: () => Promise<User>) => Promise<User>;

/** The calendar itself, for programs that subscribe to it. */
export function calendarFeedRoute(
  { links, feed }: { links: CalendarLinks; feed: CalendarFeed },
  admit: AdmitByLink,
): OpenRoute {
  return {
    id: 'getCalendarFeed',
    path: FEED_PATH,
    tag: 'Calendar',
    summary:
      'Get events and tasks as iCalendar, by the secret of a calendar link (`?token=`); `tasks=event` shows tasks as events at their due time, `tasks=none` leaves them out',
    answers: {
      200: { description: 'The calendar', type: 'text/calendar', schema: z.string() },
      404: { description: 'There is no such link', type: 'application/json', schema: Failed },
    },
    async serve(context) {
      const given = Object.fromEntries(new URLSearchParams(context.querystring));
      const user = await admit(context, () => links.verify(String(given.token ?? '')));
      const { tasks } = validate(Wanted, given, 'query');
      context.set('Cache-Control', 'private, no-cache');
      context.status = 200;
      const tag = `"${await feed.tagOf(user.id, tasks)}"`;
      context.set('ETag', tag);
      if (knows(context.get('If-None-Match'), tag)) {
        context.status = 304;
        return;
      }
      context.type = 'text/calendar; charset=utf-8';
      context.set('Content-Disposition', 'inline; filename="earshot.ics"');
      if (context.method === 'HEAD') return;
      const { res } = context;
      cutOffStalled(res);
      const pieces = Readable.from(feed.pieces(user.id, tasks), { objectMode: false });
      context.body = pieces.once('error', () => res.destroy()); // otherwise the client would wait for the rest
    },
  };
}

/**
 * Compares the tag itself: Koa's `fresh` ignores it in requests with `Cache-Control: no-cache`, which some calendar
 * programs send.
 */
function knows(ifNoneMatch: string, tag: string): boolean {
  return ifNoneMatch.split(',').some(each => [tag, `W/${tag}`, '*'].includes(each.trim()));
}

function linkJson({ hint, createdAt }: CalendarLink): z.input<typeof LinkJson> {
  return { hint, created_at: new Date(createdAt).toISOString() };
}
