import { createHash } from 'node:crypto';
import type { Clock, User } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { waitAtMost } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus, OnEnd } from '../../runtime/events.ts';
import type { Log } from '../../runtime/log.ts';
import type { Installed } from '../apps/installations.ts';
import { removeCalendarLinkIn } from '../calendar/calendar-links.ts';
import { forgetCalendarIn } from '../calendar/calendar-sync.ts';
import { isDevice, removeDevicesIn } from '../notifications/channel-addresses.ts';
import { forgetDaySummariesIn } from '../notifications/day-summaries.ts';
import type { Embedding } from '../search/embedding.ts';
import { removeKeysIn } from './keys.ts';
import { removeSessionsIn } from './sessions.ts';
import type { SignIn } from './sign-in.ts';
import type { Users } from './users.ts';
import { forgetVocabularyIn } from './vocabulary.ts';

/** Hashed ids of removed accounts. Audio of theirs that turns up later is deleted. */
const REMOVED_ACCOUNTS = 'core.removed-accounts';

export async function wasRemoved(storage: Pick<Storage, 'pluginState'>, userId: string): Promise<boolean> {
  return (await storage.pluginState.get(REMOVED_ACCOUNTS, hashOf(userId))) !== null;
}

function hashOf(userId: string): string {
  return createHash('sha256').update(userId).digest('hex');
}

/** Time that live connections have to store what they heard before their account is removed. */
const STORE_MS = 5000;

/** Credentials of an account, and destinations of its data, that still work. */
export interface Standing {
  /** Names of its API keys. */
  keys: string[];
  /** Labels of the browsers and phones that notifications are pushed to. */
  devices: string[];
  /** Labels of the other destinations of notifications. */
  addresses: string[];
  /** Names of the apps that are installed. */
  apps: string[];
  /** Its own webhooks that are on: type and host. */
  hooks: string[];
}

/** Credentials and destinations that were ended. */
export interface Ended {
  /** Names that the clients of live connections give themselves; null: a client without one. */
  connections: (string | null)[];
  keys: string[];
  devices: string[];
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Ends the credentials of an account, or the account itself, in one step. */
export function createAccounts({
  storage,
  clock,
  log,
  events,
  users,
  signIn,
  embedding,
  installed,
  forgetFiles,
}: {
  storage: Storage;
  clock: Clock;
  log: Log;
  events: EventBus;
  users: Users;
  signIn: Pick<SignIn, 'forget'>;
  embedding: Pick<Embedding, 'forgetIn' | 'forget'>;
  installed(userId: string): Promise<Installed[]>;
  /** Deletes audio and photos of the user that are kept beside the database. */
  forgetFiles(userId: string, streamIds: readonly string[]): Promise<void>;
}) {
  async function standing(userId: string): Promise<Standing> {
    const [keys, addresses, apps, hooks] = await Promise.all([
      storage.keys.list(userId),
      storage.channelAddresses.list(userId),
      installed(userId),
      storage.hooks.list(userId),
    ]);
    const sent = hooks.filter(({ appId, enabled, url }) => appId === null && enabled && url !== '');
    const [devices, others] = [addresses.filter(isDevice), addresses.filter(each => !isDevice(each))];
    return {
      keys: keys.map(({ name }) => name),
      devices: devices.map(({ label }) => label),
      addresses: others.map(({ label }) => label),
      apps: apps.map(({ app }) => app.name),
      hooks: sent.map(({ type, url }) => `${type} (${new URL(url).host})`), // the rest of the address may be a secret
    };
  }

  /** Ends all ID tokens, and returns what still works. */
  async function signOut(name: string): Promise<{ user: User; ended: Ended; left: Standing }> {
    const { connections, onEnd } = collector();
    const user = await users.signOut(name, onEnd);
    return { user, ended: { connections, keys: [], devices: [] }, left: await standing(user.id) };
  }

  /**
   * For a lost or stolen device: ends ID tokens, API keys, the calendar link, pushes to devices, and live
   * connections.
   */
  async function lost(name: string): Promise<{ user: User; ended: Ended; left: Standing }> {
    const user = await users.byName(name);
    const { keys, devices } = await storage.transaction('end credentials', async tx => {
      await tx.users.update(user.id, { signedOutAt: clock.now() });
      await removeSessionsIn(tx, user.id);
      await removeCalendarLinkIn(tx, user.id);
      return { keys: await removeKeysIn(tx, user.id), devices: await removeDevicesIn(tx, user.id) };
    });
    const { connections, onEnd } = collector();
    events.emit('credential.revoked', { userId: user.id, keyId: 'all', onEnd });
    const ended = {
      connections,
      keys: keys.map(key => key.name),
      devices: devices.map(({ label }) => label),
    };
    return { user, ended, left: await standing(user.id) };
  }

  async function disable(user: User): Promise<{ user: User; connections: (string | null)[] }> {
    const { connections, onEnd } = collector();
    return { user: await users.setDisabled(user, true, onEnd), connections };
  }

  /**
   * Deletes an account and everything that belongs to it. Vectors are deleted at once, or as soon as their index can
   * be reached.
   */
  async function remove(user: User): Promise<void> {
    const { done, onEnd } = collector();
    await users.setDisabled(user, true, onEnd); // from here on nothing can be added to the account
    await waitAtMost({ clock, limitMs: STORE_MS }, done());
    const streams = await storage.streams.ids(user.id);
    const memories = await storage.transaction('remove account', async tx => {
      const ids = await embedding.forgetIn(tx, user.id);
      await tx.users.remove(user.id);
      await forgetDaySummariesIn(tx, user.id);
      await forgetCalendarIn(tx, user.id);
      await forgetVocabularyIn(tx, user.id);
      await tx.pluginState.compareAndSet(REMOVED_ACCOUNTS, hashOf(user.id), 0, { at: clock.now() });
      return ids;
    });
    await signIn.forget(user);
    await forgetFiles(user.id, streams);
    events.emit('hooks.changed', { userId: null });
    await embedding.forget(user.id, memories).catch(error => {
      log.warn({ err: toAppError(error) }, 'vectors of a removed account go once their index is back');
    });
  }

  /** Deletes the caller's own account. `conflict` where `name` is not its name: nothing is deleted. */
  async function removeOwn(user: User, name: string): Promise<void> {
    if (name !== user.name)
      throw new AppError('conflict', 'This is not the name of your account: nothing was deleted');
    await remove(user);
  }

  return {
    removeOwn,
    standing,
    signOut,
    lost,
    disable,
    remove,
    /** Returns an account that the caller may see and change: its own or, for operators, any. `not_found`. */
    async within(asker: User, id: string): Promise<User> {
      if (id === asker.id || asker.role === 'operator') return users.get(id);
      throw new AppError('not_found', 'Account not found');
    },
  };
}

function collector() {
  const connections: (string | null)[] = [];
  const ends: Promise<void>[] = [];
  const onEnd: OnEnd = ({ device, done }) => {
    connections.push(device);
    ends.push(done);
  };
  return { connections, onEnd, done: () => Promise.all(ends) };
}
