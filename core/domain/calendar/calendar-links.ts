import { hash, randomBytes } from 'node:crypto';
import type { CalendarLink, Clock, User } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** Path of feeds; the secret follows. */
export const FEED_PATH = '/v1/calendar/feed.ics';

const PREFIX = 'cal_';
const SECRET = /^cal_[0-9a-f]{32}$/;
const SECRET_BYTES = 16;

/** A new link with its address, which cannot be shown again. */
interface NewLink {
  link: CalendarLink;
  /** Path and query, to be appended to the server's address. */
  path: string;
  /** The whole address; null where the server's public address is not configured. */
  url: string | null;
}

export type CalendarLinks = ReturnType<typeof createCalendarLinks>;

/** Secret links to an account's calendar: one for each account, shown once, and looked up by its hash. */
export function createCalendarLinks({
  storage,
  clock,
  publicUrl,
}: {
  storage: Pick<Storage, 'calendarLinks'>;
  clock: Clock;
  /** Public address of the server, without a slash at its end; null: not configured. */
  publicUrl: string | null;
}) {
  /** Creates a link; the previous one stops working. */
  async function renew(userId: string): Promise<NewLink> {
    const secret = PREFIX + randomBytes(SECRET_BYTES).toString('hex');
    const [head, tail] = [secret.slice(PREFIX.length).slice(0, 4), secret.slice(-4)];
    const link = {
      userId,
      hash: hashOf(secret),
      hint: `${PREFIX}${head}...${tail}`,
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

  /** Finds the owner of a link. The look-up is by hash, so its timing reveals nothing of the secret. */
  async function verify(secret: string): Promise<User> {
    const found = SECRET.test(secret) ? await storage.calendarLinks.byHash(hashOf(secret)) : null;
    if (!found || found.user.disabledAt !== null)
      throw new AppError('not_found', 'This calendar link is incomplete, or was renewed or ended');
    return found.user;
  }

  return { get: (userId: string) => storage.calendarLinks.get(userId), renew, remove, verify };
}

/** Deletes the link in the caller's transaction. Resolves to whether there was one. */
export function removeCalendarLinkIn(tx: Stores, userId: string): Promise<boolean> {
  return tx.calendarLinks.remove(userId);
}

/** A fast hash suffices for 128 random bits. */
function hashOf(secret: string): string {
  return hash('sha256', secret);
}
