import {
  calendarMultiGet,
  createAccount,
  createCalendarObject,
  type DAVCalendar,
  deleteCalendarObject,
  fetchCalendars,
  propfind,
  updateCalendarObject,
} from 'tsdav';
import type {
  CalendarOutlet,
  Plugin,
  PluginContext,
  RemoteCalendar,
  RemoteEntry,
} from '../../../core/contract/plugin.ts';

interface Address {
  url: string;
  username: string;
  password: string;
  calendar?: string | undefined;
}

const MAX_URL = 2000;
const MAX_NAME = 200;
/** Entries read by one request. */
const PAGE = 50;
/** File names that Earshot writes; all others are left unread. */
const FILE = /\/earshot-([a-z0-9-]{1,100})\.ics$/i;
const CONFLICT = [409, 412];

export default {
  name: 'caldav',
  api: 1,
  title: 'CalDAV: Nextcloud, Radicale, Baïkal, iCloud, Fastmail and other calendars',
  setup({ fetchUser, error }: Pick<PluginContext<never>, 'fetchUser' | 'error'>) {
    const calendar: CalendarOutlet<Address> = {
      address: zod =>
        zod.strictObject({
          url: zod
            .url({ protocol: /^https?$/, error: 'must be an address such as https://cloud.example.com' })
            .max(MAX_URL)
            .refine(url => /^[^@?#]*$/.test(url), 'must be an address alone, without name, password, ? or #')
            .describe('Address of the CalDAV server'),
          username: zod.string().min(1).max(MAX_NAME).describe('Name of the account there'),
          password: zod
            .string()
            .min(1)
            .max(1000)
            .meta({ secret: true })
            .describe('Its password, or better one for this app alone'),
          calendar: zod
            .string()
            .min(1)
            .max(MAX_NAME)
            .optional()
            .describe('Name of the calendar; absent: the first one that takes appointments'),
        }),

      async open({ url, username, password, calendar: wanted }, signal) {
        const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
        const headers = { authorization };
        const origin = new URL(url).origin;

        /**
         * Sends tsdav's requests through core, which checks the address. The password is sent to the configured server
         * only.
         */
        const fetch: typeof globalThis.fetch = async (input, init = {}) => {
          const target = new URL(input instanceof Request ? input.url : String(input), url);
          const { authorization: own, ...others } = Object.fromEntries(new Headers(init.headers));
          const isTrusted = target.origin === origin || isSibling(target, new URL(url));
          const {
            status,
            headers: received,
            body,
          } = await fetchUser(target.href, {
            method: methodOf(init.method),
            headers: isTrusted && own !== undefined ? { ...others, authorization: own } : others,
            ...(typeof init.body === 'string' ? { body: init.body } : {}),
            signal,
          });
          if (status === 401 || status === 403)
            throw error('config_error', `${target.host} refuses the name or the password (${status})`);
          const isEmpty = status === 204 || status === 304 || body.length === 0;
          return new Response(isEmpty ? null : Buffer.from(body), { status, headers: received });
        };
        const options = { headers, fetch };

        const found = await calendarOf();
        return remoteCalendar(found);

        async function calendarOf(): Promise<DAVCalendar> {
          const account = await createAccount({
            account: { serverUrl: url, accountType: 'caldav', credentials: { username, password } },
            ...options,
          }).catch(cause => {
            throw isOwn(cause)
              ? cause
              : error('config_error', `No calendars were found at ${url}`, { cause });
          });
          const all = await fetchCalendars({ account, ...options });
          const named = all.filter(each => wanted === undefined || each.displayName === wanted);
          const [first] = named.filter(
            ({ components = [] }) => components.length === 0 || components.includes('VEVENT'),
          );
          if (first) return first;
          const names = all.map(({ displayName }) => String(displayName)).slice(0, 20);
          throw error(
            'config_error',
            `There is no calendar "${wanted ?? ''}" at ${url}; there are: ${names.join(', ')}`,
          );
        }

        function remoteCalendar(dav: DAVCalendar): RemoteCalendar {
          const takes = dav.components ?? [];
          const urlOf = (uid: string) => new URL(`earshot-${uid.split('@')[0]}.ics`, slashed(dav.url)).href;
          const uidOf = (href: string) => FILE.exec(href)?.[1];

          async function read(uids: readonly string[]): Promise<RemoteEntry[]> {
            const entries: RemoteEntry[] = [];
            for (let at = 0; at < uids.length; at += PAGE) {
              const answers = await calendarMultiGet({
                url: dav.url,
                props: { 'd:getetag': {}, 'c:calendar-data': {} },
                objectUrls: uids.slice(at, at + PAGE).map(uid => new URL(urlOf(uid)).pathname),
                depth: '1',
                ...options,
              });
              for (const { href = '', props } of answers) {
                const name = uidOf(href);
                const data = props?.calendarData;
                const text = typeof data === 'string' ? data : data?._cdata;
                if (name && typeof text === 'string')
                  entries.push({ uid: `${name}@earshot`, etag: String(props?.getetag ?? ''), text });
              }
            }
            return entries;
          }

          return {
            name: typeof dav.displayName === 'string' ? dav.displayName : dav.url,
            takesTasks: takes.length === 0 || takes.includes('VTODO'),
            async list() {
              const answers = await propfind({
                url: dav.url,
                props: { 'd:getetag': {} },
                depth: '1',
                ...options,
              });
              return answers.flatMap(({ href = '', props }) => {
                const name = uidOf(href);
                return name ? [{ uid: `${name}@earshot`, etag: String(props?.getetag ?? '') }] : [];
              });
            },
            read,
            async write(uid, text, etag) {
              const target = urlOf(uid);
              const answer =
                etag === null
                  ? await createCalendarObject({
                      calendar: dav,
                      iCalString: text,
                      filename: target.slice(target.lastIndexOf('/') + 1),
                      ...options,
                    })
                  : await updateCalendarObject({
                      calendarObject: { url: target, data: text, etag },
                      ...options,
                    });
              refuse(answer, target);
              return answer.headers.get('etag');
            },
            async remove(uid, etag) {
              const target = urlOf(uid);
              const answer = await deleteCalendarObject({
                calendarObject: { url: target, etag },
                ...options,
              });
              if (answer.status !== 404) refuse(answer, target);
            },
          };
        }
      },
    };

    function refuse({ ok, status }: Response, target: string): void {
      if (ok) return;
      if (CONFLICT.includes(status))
        throw error('conflict', 'The entry was changed in the calendar meanwhile');
      throw error('upstream_error', `${new URL(target).host} answered with ${status}`);
    }

    return { calendar };
  },
} satisfies Plugin;

/** Tells core's errors from the client's. */
function isOwn(thrown: unknown): boolean {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string';
}

/** Domains whose hosts belong to one service: iCloud keeps calendars on hosts such as `p42-caldav.icloud.com`. */
const SERVICES = ['.icloud.com'];

function isSibling(target: URL, given: URL): boolean {
  const isOf = (service: string) => target.hostname.endsWith(service) && given.hostname.endsWith(service);
  return target.protocol === 'https:' && SERVICES.some(isOf);
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PROPFIND', 'REPORT'] as const;

function methodOf(method = 'GET'): (typeof METHODS)[number] {
  const known = METHODS.find(each => each === method.toUpperCase());
  if (!known) throw new Error(`the method ${method} is not sent`);
  return known;
}

function slashed(url: string): string {
  return url.endsWith('/') ? url : `${url}/`;
}
