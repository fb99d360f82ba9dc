import type { App, AppAction, Clock, Installation, User } from '../../contract/model.ts';
import type { FetchUser, Storage, Stores } from '../../contract/plugin.ts';
import { withinLimit } from '../../runtime/deadline.ts';
import { AppError, type Issue } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId } from '../ids.ts';

const MAX_INSTALLED = 200;
/** Time limit of the set-up check, for which the user waits. */
const SETUP_MS = 10_000;

/** Permissions that a user granted: never more than the app requests now. */
export type Granted = Pick<Installation, 'scopes' | 'actions'>;

export interface Installed extends Granted {
  app: App;
  installedAt: number;
}

/** Installs apps with the permissions that users grant: the part of `createApps` for users. */
export function createInstallations({
  storage,
  clock,
  events,
  fetchUser,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  fetchUser: FetchUser;
}) {
  /**
   * Installs an app, which may from then on receive events about this user and do what they allow: all that it
   * requests, or only what is named. Installing it again changes the permissions. `not_found`; `conflict` where its
   * own server says that it is not set up.
   */
  async function install(userId: string, appId: string, wanted: Partial<Granted>): Promise<Installed> {
    const app = await findApp(storage, appId);
    const granted = {
      scopes: narrowed('scopes', app.notificationScopes, wanted.scopes),
      actions: narrowed('actions', app.actions, wanted.actions),
    };
    if (app.setupCompletedUrl !== null) await requireSetup(app.setupCompletedUrl, userId);
    const installedAt = await storage.transaction('install app', async tx => {
      const installed = await tx.installations.list(userId);
      const before = installed.find(each => each.appId === appId);
      if (!before && installed.length >= MAX_INSTALLED)
        throw new AppError('conflict', `At most ${MAX_INSTALLED} apps: uninstall one that is not used`);
      await findApp(tx, appId); // it may have been deleted just now
      const installation = { userId, appId, ...granted, installedAt: before?.installedAt ?? clock.now() };
      await tx.installations.put(installation);
      return installation.installedAt;
    });
    events.emit('hooks.changed', { userId });
    return { app, ...granted, installedAt };
  }

  /**
   * `conflict` unless the app's own server confirms that this user has set it up; `unavailable` while it cannot be
   * asked.
   */
  async function requireSetup(address: string, userId: string): Promise<void> {
    const url = new URL(address);
    url.searchParams.append('uid', userId);
    const limit = { clock, limitMs: SETUP_MS, what: 'set-up check' };
    const answer = await withinLimit(limit, new AbortController().signal, signal =>
      fetchUser(url.href, { signal }),
    ).catch(cause => {
      throw new AppError('unavailable', 'The app could not be asked whether it is set up; try again later', {
        cause,
      });
    });
    if (answer.status < 200 || answer.status > 299 || !saysDone(answer.body))
      throw new AppError(
        'conflict',
        'The setup of the app is not completed: finish it with the app, and try again',
      );
  }

  /** Uninstalls an app: it receives nothing and may do nothing any more. `not_found`. */
  async function uninstall(userId: string, appId: string): Promise<void> {
    await findApp(storage, appId);
    await storage.installations.remove(userId, appId);
    events.emit('hooks.changed', { userId });
  }

  /** Returns a user's grants to an app; null: it is not installed. */
  async function granted(userId: string, app: App): Promise<Granted | null> {
    const installation = await storage.installations.get(userId, app.id);
    return installation && within(app, installation);
  }

  /**
   * Returns the user that an app acts for: `not_found`, the same for a user who does not exist and one who did not
   * install it; `forbidden` without the permission. Null: no permission is needed.
   */
  async function permit(app: App, userId: string, action: AppAction | null): Promise<User> {
    const allowed = isId(userId) ? await granted(userId, app) : null;
    const user = allowed && (await storage.users.get(userId));
    if (!user || user.disabledAt !== null)
      throw new AppError('not_found', 'User not found, or the app is not installed');
    if (action && !allowed.actions.includes(action))
      throw new AppError('forbidden', `Insufficient permissions. Required action: ${action}`);
    return user;
  }

  /** Newest first. */
  async function installed(userId: string): Promise<Installed[]> {
    const installations = await storage.installations.list(userId);
    const apps = await Promise.all(installations.map(({ appId }) => storage.apps.get(appId)));
    return installations.flatMap((installation, place) => {
      const app = apps[place];
      return app ? [{ app, ...within(app, installation), installedAt: installation.installedAt }] : [];
    });
  }

  return {
    install,
    uninstall,
    granted,
    permit,
    installed,
    /** Lists the ids of the apps that this user installed. */
    installedIds: async (userId: string): Promise<ReadonlySet<string>> =>
      new Set((await storage.installations.list(userId)).map(({ appId }) => appId)),
  };
}

/**
 * Returns the requested permissions, or the named ones of them. `invalid_request` names those that the app does not
 * request.
 */
function narrowed<T extends string>(
  field: string,
  asked: readonly T[],
  named: readonly T[] | undefined,
): T[] {
  const beyond = named?.find(name => !asked.includes(name));
  if (beyond !== undefined)
    throw invalid(
      [field],
      `The app does not ask for ${beyond}. It asks for: ${asked.join(', ') || 'nothing'}`,
    );
  return asked.filter(name => named?.includes(name) ?? true);
}

/** The app may have requested more when it was installed. */
function within(app: App, { scopes, actions }: Granted): Granted {
  return {
    scopes: scopes.filter(scope => app.notificationScopes.includes(scope)),
    actions: actions.filter(action => app.actions.includes(action)),
  };
}

function saysDone(body: Uint8Array): boolean {
  try {
    const answer: unknown = JSON.parse(new TextDecoder().decode(body));
    return (answer as { is_setup_completed?: unknown } | null)?.is_setup_completed === true;
  } catch {
    return false;
  }
}

/** Returns an app of any owner. `not_found`. */
export async function findApp(stores: Stores, id: string): Promise<App> {
  const found = isId(id) ? await stores.apps.get(id) : null;
  if (!found) throw appNotFound();
  return found;
}

export function appNotFound(): AppError {
  return new AppError('not_found', 'App not found');
}

/** An error in a body, with its field. */
export function invalid(loc: string[], msg: string, type = 'value_error'): AppError {
  const issue: Issue = { loc: ['body', ...loc], msg, type };
  return new AppError('invalid_request', msg, { issues: [issue] });
}
