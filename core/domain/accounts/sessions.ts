import type { AccountSession, Clock } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';

/** Maximum sessions of a user; beyond that, the least recently used one is removed. */
const MAX_SESSIONS_PER_USER = 50;
const MAX_USER_AGENT_CHARS = 300;

/** Deletes all sessions of a user, in the caller's transaction. */
export async function removeSessionsIn(tx: Pick<Stores, 'sessions'>, userId: string): Promise<void> {
  for (const { id } of await tx.sessions.list(userId)) await tx.sessions.remove(userId, id);
}

export type Sessions = ReturnType<typeof createSessions>;

/** Browsers and programs that signed in with a password. The only writer of sessions. */
export function createSessions({
  storage,
  clock,
  events,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
}) {
  /** Last use by id, where it is not stored yet: requests do not write. */
  let uses = new Map<string, { userId: string; at: number }>();

  const withUse = (session: AccountSession): AccountSession => ({
    ...session,
    lastUsedAt: Math.max(session.lastUsedAt, uses.get(session.id)?.at ?? 0),
  });

  async function removeAll(userId: string, all: readonly AccountSession[]): Promise<void> {
    for (const { id } of all) {
      await storage.sessions.remove(userId, id);
      uses.delete(id);
      events.emit('credential.revoked', { userId, keyId: null, sessionId: id });
    }
  }

  return {
    /** Expired sessions, and the least used one of too many, are removed. */
    async begin(session: Omit<AccountSession, 'createdAt' | 'lastUsedAt'>): Promise<void> {
      const now = clock.now();
      const { userId } = session;
      const present = await storage.sessions.list(userId);
      const live = present.filter(({ expiresAt }) => expiresAt > now).map(withUse);
      live.sort((one, other) => other.lastUsedAt - one.lastUsedAt);
      const kept = new Set(live.slice(0, MAX_SESSIONS_PER_USER - 1).map(({ id }) => id));
      await removeAll(
        userId,
        present.filter(({ id }) => !kept.has(id)),
      );
      const userAgent = session.userAgent.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_USER_AGENT_CHARS);
      await storage.sessions.insert({ ...session, userAgent, createdAt: now, lastUsedAt: now });
    },

    /** Returns whether the session is valid, and records its use. It is read each time, so that it ends at once on every node. */
    async isValid(userId: string, id: string): Promise<boolean> {
      if ((await storage.sessions.get(userId, id)) === null) return false;
      uses.set(id, { userId, at: clock.now() });
      return true;
    },

    /** `unauthorized` where the session has ended. */
    async extend(userId: string, id: string, expiresAt: number): Promise<void> {
      if (await storage.sessions.update(userId, id, { expiresAt })) return;
      throw new AppError('unauthorized', 'This session was ended: sign in');
    },

    /** Most recently used first. */
    async list(userId: string): Promise<AccountSession[]> {
      const now = clock.now();
      const live = (await storage.sessions.list(userId)).filter(({ expiresAt }) => expiresAt > now);
      return live.map(withUse).sort((one, other) => other.lastUsedAt - one.lastUsedAt);
    },

    /** Ends a session: its tokens are refused from now on, and its connections are closed. `not_found`. */
    async end(userId: string, id: string): Promise<void> {
      const session = await storage.sessions.get(userId, id);
      if (!session) throw new AppError('not_found', 'Session not found');
      await removeAll(userId, [session]);
    },

    /**
     * Ends all sessions of a user except this one. With one, ID tokens that belong to no session end as well.
     */
    async endOthers(userId: string, keptId: string | undefined): Promise<void> {
      const others = (await storage.sessions.list(userId)).filter(({ id }) => id !== keptId);
      await removeAll(userId, others);
      if (keptId === undefined) return;
      await storage.users.update(userId, { signedOutAt: clock.now() });
      events.emit('credential.revoked', { userId, keyId: null, sessionId: null });
    },

    /** Stores the times at which sessions were last used. */
    async flush(): Promise<void> {
      const noted = uses;
      uses = new Map();
      try {
        for (const [id, { userId, at }] of noted)
          await storage.sessions.update(userId, id, { lastUsedAt: at });
      } catch (error) {
        uses = new Map([...noted, ...uses]);
        throw error;
      }
    },
  };
}
