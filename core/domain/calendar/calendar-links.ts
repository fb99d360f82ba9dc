import { hash, randomBytes } from 'node:crypto';
import type { CalendarLink, Clock, User } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** Where the feed of a link is: the secret follows. */
export const FEED_PATH = '/v1/calendar/feed.ics';

const PREFIX = 'cal_';
const SECRET = /^cal_[0-9a-f]{32}$/;
const SECRET_BYTES = 16;

/** A link with what nobody can show again: where it leads. */
interface NewLink {
  link: CalendarLink;
  /** With its query, after the server's own address. */
  path: string;
  /** Null where the server has no address of its own. */
  url: string | null;
}

export type CalendarLinks = ReturnType<typeof createCalendarLinks>;

/** Secret links to an account's calendar: one for each account, shown once, and found again by its hash. */
export function createCalendarLinks({
  storage,
  clock,
  publicUrl,
}: {
  storage: Pick<Storage, 'calendarLinks'>;
  clock: Clock;
  /** The server's own address, without a slash at its end; null: it has none. */
  publicUrl: string | null;
}) {
  /** The link that was there before leads nowhere from now on. */
  async function renew(userId: string): Promise<NewLink> {
    const secret = PREFIX + randomBytes(SECRET_BYTES).toString('hex');
    const [head, tail] = [secret.slice(PREFIX.length).slice(0, 4), secret.slice(-4)];
    const link = {
      ...{ userId, hash: hashOf(secret), hint: `${PREFIX}${head}...${tail}` },
      createdAt: clock.now(),
    };
    await storage.calendarLinks.put(link);
    const path = `${FEED_PATH}?token=${secret}`;
    return { link, path, url: publicUrl === null ? null : publicUrl + path };
  }

  /** `not_found` where there is none. */
  async function remove(userId: string): Promise<void> {
    if (!(await storage.calendarLinks.remove(userId)))
      throw new AppError('not_found', 'There is no calendar link');
  }

  /** Finds the owner of a link. The look-up is by hash, so its timing tells nothing of the secret. */
  async function verify(secret: string): Promise<User> {
    const found = SECRET.test(secret) ? await storage.calendarLinks.byHash(hashOf(secret)) : null;
    if (!found || found.user.disabledAt !== null)
      throw new AppError('not_found', 'This calendar link is incomplete, or was renewed or ended');
    return found.user;
  }

  return { get: (userId: string) => storage.calendarLinks.get(userId), renew, remove, verify };
}

/** In the transaction that ends all that an account is read with. Resolves to whether there was one. */
export function removeCalendarLinkIn(tx: Stores, userId: string): Promise<boolean> {
  return tx.calendarLinks.remove(userId);
}

/** 128 random bits need no slow hash. */
function hashOf(secret: string): string {
  return hash('sha256', secret);
}
