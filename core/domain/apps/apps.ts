import { createHash, randomBytes } from 'node:crypto';
import type { App, AppAction, AppCapability, AppKey, Clock, UserScope } from '../../contract/model.ts';
import type { FetchUser, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId, newId } from '../ids.ts';
import {
  type CheckUrl,
  followAppIn,
  type HookTypes,
  type NewSecret,
  requireUrl,
  rotateIn,
  typeNamed,
} from './hooks.ts';
import { appNotFound, createInstallations, findApp, invalid } from './installations.ts';

/** Prefix of every app secret: distinguishes it from API keys and ID tokens. */
export const SECRET_PREFIX = 'sk_';
const RAW_SECRET = /^sk_[0-9a-f]{32}$/;
const SECRET_BYTES = 16;
export const MAX_APP_NAME_CHARS = 100;
const MAX_APPS_PER_USER = 100;
const MAX_KEYS_PER_APP = 20;

export const CAPABILITIES = [
  'external_integration',
  'proactive_notification',
] as const satisfies readonly AppCapability[];
export const ACTIONS = [
  'create_conversation',
  'create_facts',
  'read_conversations',
  'read_memories',
  'read_tasks',
] as const satisfies readonly AppAction[];
export const USER_SCOPES = [
  'user_name',
  'user_facts',
  'user_context',
  'user_chat',
] as const satisfies readonly UserScope[];

/** Description of an app by its owner. */
export type AppAbout = Pick<
  App,
  | 'name'
  | 'description'
  | 'capabilities'
  | 'triggersOn'
  | 'webhookUrl'
  | 'setupCompletedUrl'
  | 'actions'
  | 'notificationScopes'
>;
/** Absent: unchanged; for a new app: not set. */
export type AppEdit = Partial<AppAbout>;

/** An app with its new secrets, which cannot be shown again. */
export interface NewApp {
  app: App;
  /** Signing secret of its webhooks; null: it has no webhook, or the secret is not new. */
  signingSecret: string | null;
}

export interface NewAppKey {
  record: AppKey;
  secret: string;
}

export type Apps = ReturnType<typeof createApps>;

/** Apps and who installed them. The only writer of apps, their keys and their installations. */
export function createApps({
  storage,
  clock,
  events,
  webhooks,
  checkUrl,
  fetchUser,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  webhooks: HookTypes;
  checkUrl: CheckUrl;
  fetchUser: FetchUser;
}) {
  const installations = createInstallations({ storage, clock, events, fetchUser });

  /**
   * Creates an app. `conflict` when the user has the maximum number; `invalid_request` where its settings contradict
   * each other.
   */
  async function create(userId: string, draft: AppEdit & Pick<App, 'name'>): Promise<NewApp> {
    const now = clock.now();
    const about = settled(NOTHING, draft);
    const app: App = { ...about, id: newId(now), userId, createdAt: now, updatedAt: now };
    return storage.transaction('create app', async tx => {
      if ((await tx.apps.list(userId)).length >= MAX_APPS_PER_USER)
        throw new AppError('conflict', `At most ${MAX_APPS_PER_USER} apps: delete one that is not used`);
      await tx.apps.insert(app);
      return { app, signingSecret: await followAppIn(tx, webhooks(), app, now) };
    });
  }

  /** `not_found`, `invalid_request`. */
  async function edit(userId: string, id: string, changes: AppEdit): Promise<NewApp> {
    const edited = await storage.transaction('edit app', async tx => {
      const before = await ownIn(tx, userId, id);
      const now = Math.max(clock.now(), before.updatedAt + 1);
      const app = { ...before, ...settled(before, changes), updatedAt: now };
      const { id: _id, userId: _owner, createdAt: _at, ...patch } = app;
      await tx.apps.update(userId, id, patch);
      return { app, signingSecret: await followAppIn(tx, webhooks(), app, now) };
    });
    events.emit('hooks.changed', { userId: null });
    return edited;
  }

  /**
   * Applies changes to an app. A setting implies its capability, unless the capabilities are named as well.
   * @throws `invalid_request`, with the place, for a contradiction
   */
  function settled(before: AppAbout, changes: AppEdit): AppAbout {
    const triggersOn = changes.triggersOn && resolved(changes.triggersOn);
    const capabilities = changes.capabilities ?? [
      ...before.capabilities,
      ...CAPABILITIES.filter(each => mentions(changes, each)),
    ];
    const merged = without(
      { ...before, ...changes, ...(triggersOn && { triggersOn }), capabilities },
      changes,
    );
    for (const [field, url] of [
      ['webhook_url', changes.webhookUrl],
      ['setup_completed_url', changes.setupCompletedUrl],
    ] as const)
      if (url) requireUrl(checkUrl, url, ['body', 'external_integration', field]);
    if (merged.triggersOn.length > 0 && merged.webhookUrl === null)
      throw invalid(
        ['external_integration', 'webhook_url'],
        'What triggers it is sent there: it needs an address',
      );
    return merged;
  }

  /** Lists scopes by name, without duplicates. */
  function resolved(names: readonly string[]): string[] {
    const known = webhooks();
    return [
      ...new Set(
        names.map(name => {
          const found = typeNamed(known, name);
          if (found) return found.type;
          const all = known.map(({ type }) => type).join(', ');
          throw invalid(
            ['external_integration', 'triggers_on'],
            `"${name}" is not a type of webhook. There are: ${all}`,
            'enum',
          );
        }),
      ),
    ];
  }

  /** Deletes an app with its secrets, webhooks and installations. `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    await storage.transaction('delete app', async tx => {
      const app = await ownIn(tx, userId, id);
      await followAppIn(tx, webhooks(), { ...app, triggersOn: [] }, clock.now());
      await tx.apps.remove(userId, id);
    });
    events.emit('hooks.changed', { userId: null });
  }

  /** Creates a secret. `not_found`; `conflict` when the app has the maximum number. */
  async function createKey(userId: string, appId: string): Promise<NewAppKey> {
    const now = clock.now();
    const random = randomBytes(SECRET_BYTES).toString('hex');
    const secret = SECRET_PREFIX + random;
    const hint = `${SECRET_PREFIX}${random.slice(0, 4)}...${random.slice(-4)}`;
    const record: AppKey = { id: newId(now), appId, userId, hash: hashOf(secret), hint, createdAt: now };
    await storage.transaction('create app key', async tx => {
      await ownIn(tx, userId, appId);
      if ((await tx.apps.keys(userId, appId)).length >= MAX_KEYS_PER_APP)
        throw new AppError('conflict', `At most ${MAX_KEYS_PER_APP} secrets: delete one that is not used`);
      await tx.apps.insertKey(record);
    });
    return { record, secret };
  }

  /** Newest first. `not_found`. */
  async function keys(userId: string, appId: string): Promise<AppKey[]> {
    await ownIn(storage, userId, appId);
    return storage.apps.keys(userId, appId);
  }

  /** Deletes a secret; it is refused from the next request on. `not_found`. */
  async function removeKey(userId: string, appId: string, id: string): Promise<void> {
    await ownIn(storage, userId, appId);
    if (!isId(id) || !(await storage.apps.removeKey(userId, appId, id)))
      throw new AppError('not_found', 'Key not found');
  }

  /** Returns the app that a raw secret belongs to, or null; read from the storage each time. */
  async function verify(raw: string): Promise<App | null> {
    const key = RAW_SECRET.test(raw) ? await storage.apps.keyByHash(hashOf(raw)) : null;
    const app = key && (await storage.apps.get(key.appId));
    const owner = app && (await storage.users.get(app.userId));
    return owner?.disabledAt === null ? app : null;
  }

  /** Rotates the secret of its webhooks; for a day both sign. `not_found`, `conflict` where it has no webhook. */
  async function rotate(userId: string, id: string): Promise<NewSecret> {
    return storage.transaction('rotate signing secret', async tx => {
      await ownIn(tx, userId, id);
      return rotateIn(tx, userId, id, clock.now());
    });
  }

  return {
    create,
    edit,
    remove,
    createKey,
    keys,
    removeKey,
    verify,
    rotate,
    ...installations,
    /** Returns an app of any owner. `not_found`. */
    get: (id: string): Promise<App> => findApp(storage, id),
    parseActions: (names: readonly string[]): AppAction[] => parseNames('action', ACTIONS, names),
    parseScopes: (names: readonly string[]): UserScope[] => parseNames('scope', USER_SCOPES, names),
    /** Lists the apps of all users, newest first: any user may install any app. */
    list: (): Promise<App[]> => storage.apps.list(),
  };
}

/**
 * Parses names as people type them, without duplicates. `invalid_request` names the first unknown one and all that
 * exist.
 */
function parseNames<T extends string>(what: string, known: readonly T[], names: readonly string[]): T[] {
  const found = names.map(typed => {
    const name = known.find(each => each === typed.trim());
    if (name) return name;
    throw new AppError('invalid_request', `Unknown ${what} "${typed}". There are: ${known.join(', ')}`);
  });
  return [...new Set(found)];
}

const NOTHING: AppAbout = {
  name: '',
  description: '',
  capabilities: [],
  triggersOn: [],
  webhookUrl: null,
  setupCompletedUrl: null,
  actions: [],
  notificationScopes: [],
};

/** Settings that belong to each capability, and their values without it. */
const PARTS: Readonly<Record<AppCapability, Partial<AppAbout>>> = {
  external_integration: { triggersOn: [], webhookUrl: null, setupCompletedUrl: null, actions: [] },
  proactive_notification: { notificationScopes: [] },
};

function mentions(changes: AppEdit, capability: AppCapability): boolean {
  return Object.keys(PARTS[capability]).some(field => changes[field as keyof AppEdit] !== undefined);
}

/** Clears the settings of capabilities that it does not have; setting one of them in this request is an error. */
function without(about: AppAbout, changes: AppEdit): AppAbout {
  const capabilities = CAPABILITIES.filter(each => about.capabilities.includes(each));
  const missing = CAPABILITIES.filter(each => !capabilities.includes(each));
  for (const each of missing)
    if (mentions(changes, each))
      throw invalid(['capabilities'], `${each} is described: it should be among these`);
  return Object.assign({ ...about, capabilities }, ...missing.map(each => PARTS[each])) as AppAbout; // parts of one setting
}

async function ownIn(stores: Stores, userId: string, id: string): Promise<App> {
  const app = await findApp(stores, id);
  if (app.userId !== userId) throw appNotFound();
  return app;
}

/** A fast hash suffices for 128 random bits. */
function hashOf(raw: string): string {
  return createHash('sha256').update(raw).digest('hex');
}
