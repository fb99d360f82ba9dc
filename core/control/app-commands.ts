/** Commands for apps: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { App, AppKey } from '../contract/model.ts';
import type { Users } from '../domain/accounts/users.ts';
import type { Apps } from '../domain/apps/apps.ts';
import type { Hooks } from '../domain/apps/hooks.ts';
import { AppError } from '../runtime/errors.ts';
import { toIso, toIsoOrNull } from '../runtime/iso.ts';

const MAX_NAMES = 50;
const MAX_SHOWN = 10;

const text = z.string().trim().min(1).max(2000);
const names = z.array(z.string().max(100)).max(MAX_NAMES);
/** The app's id, or its name where only one app has that. */
const app = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^\P{Cc}*$/u, 'has control characters, such as line breaks');
const user = z.string().trim().min(1).max(100);

const Key = z.object({ id: z.string(), label: z.string(), createdAt: z.string() });
const Summary = z.object({
  id: z.string(),
  name: z.string(),
  /** Name of the account. */
  owner: z.string(),
  triggersOn: z.array(z.string()),
  actions: z.array(z.string()),
  scopes: z.array(z.string()),
});
const Named = z.object({ id: z.string(), name: z.string() });
const Granted = z.object({
  ...Named.shape,
  /** Types of webhooks that it receives, and their addresses; null: none. */
  sent: z.array(z.string()),
  webhookUrl: z.string().nullable(),
  scopes: z.array(z.string()),
  actions: z.array(z.string()),
});

export const appShapes = {
  'app.create': {
    args: z.object({
      user,
      name: app,
      description: z.string().max(2000).optional(),
      webhookUrl: text.optional(),
      setupUrl: text.optional(),
      triggersOn: names.optional(),
      actions: names.optional(),
      scopes: names.optional(),
    }),
    result: z.object({ ...Summary.shape, secret: z.string(), signingSecret: z.string().nullable() }),
  },
  'app.list': { args: z.object({ user: user.optional() }), result: z.array(Summary) },
  'app.show': {
    args: z.object({ app }),
    result: z.object({
      ...Summary.shape,
      description: z.string(),
      webhookUrl: z.string().nullable(),
      setupUrl: z.string().nullable(),
      keys: z.array(Key),
      hooks: z.array(
        z.object({
          type: z.string(),
          enabled: z.boolean(),
          offReason: z.string().nullable(),
          failingSince: z.string().nullable(),
        }),
      ),
    }),
  },
  'app.keys': { args: z.object({ app }), result: z.array(Key) },
  'app.keys.new': { args: z.object({ app }), result: z.object({ id: z.string(), secret: z.string() }) },
  'app.keys.revoke': { args: z.object({ app, id: text }), result: z.object({ id: z.string() }) },
  'app.rotate': {
    args: z.object({ app }),
    result: z.object({ ...Named.shape, signingSecret: z.string(), oldUntil: z.string() }),
  },
  'app.delete': { args: z.object({ app }), result: Named },
  'app.install': {
    args: z.object({ user, app, scopes: names.optional(), actions: names.optional() }),
    result: Granted,
  },
  'app.uninstall': { args: z.object({ user, app }), result: Named },
};
type Args<C extends keyof typeof appShapes> = z.output<(typeof appShapes)[C]['args']>;

/** The services that the commands use. */
export interface AppServices {
  users: Pick<Users, 'list' | 'byName'>;
  apps: Pick<
    Apps,
    | 'create'
    | 'list'
    | 'remove'
    | 'keys'
    | 'createKey'
    | 'removeKey'
    | 'rotate'
    | 'install'
    | 'uninstall'
    | 'parseActions'
    | 'parseScopes'
  >;
  hooks: Pick<Hooks, 'list'>;
}

export function appCommands({ users, apps, hooks }: AppServices) {
  async function find(given: string): Promise<App> {
    const all = await apps.list();
    const found = all.filter(({ id, name }) => id === given || name === given);
    if (found.length > 1)
      throw new AppError(
        'conflict',
        `There are several apps "${given}"; name one by its id: ${found.map(({ id }) => id).join(', ')}`,
      );
    const [only] = found;
    if (!only) throw new AppError('not_found', unknown(given, all));
    return only;
  }

  async function summaries(of: readonly App[]): Promise<z.input<typeof Summary>[]> {
    const owners = new Map((await users.list()).map(owner => [owner.id, owner.name]));
    return of.map(({ id, name, userId, triggersOn, actions, notificationScopes: scopes }) => ({
      id,
      name,
      owner: owners.get(userId) ?? userId,
      triggersOn,
      actions,
      scopes,
    }));
  }

  async function summary(of: App): Promise<z.input<typeof Summary>> {
    const [only] = await summaries([of]);
    return only as z.input<typeof Summary>; // one for each account
  }

  return {
    async 'app.create'({ user, name, ...about }: Args<'app.create'>) {
      const owner = await users.byName(user);
      const { description, webhookUrl, setupUrl, triggersOn, actions, scopes } = about;
      const { app, signingSecret } = await apps.create(owner.id, {
        name,
        ...(description !== undefined && { description }),
        ...(webhookUrl !== undefined && { webhookUrl }),
        ...(setupUrl !== undefined && { setupCompletedUrl: setupUrl }),
        ...(triggersOn && { triggersOn: triggersOn.map(each => each.trim()).filter(Boolean) }),
        ...(actions && { actions: apps.parseActions(actions) }),
        ...(scopes && { notificationScopes: apps.parseScopes(scopes) }),
      });
      const { secret } = await apps.createKey(owner.id, app.id);
      return { ...(await summary(app)), secret, signingSecret };
    },

    async 'app.list'({ user }: Args<'app.list'>) {
      const owner = user === undefined ? null : await users.byName(user);
      return summaries((await apps.list()).filter(({ userId }) => !owner || userId === owner.id));
    },

    async 'app.show'({ app: given }: Args<'app.show'>) {
      const found = await find(given);
      const { id, userId, description, webhookUrl, setupCompletedUrl: setupUrl } = found;
      const own = (await hooks.list(userId)).filter(({ appId }) => appId === id);
      const inOrder = found.triggersOn.flatMap(type => own.filter(hook => hook.type === type));
      return {
        ...(await summary(found)),
        description,
        webhookUrl,
        setupUrl,
        keys: (await apps.keys(userId, id)).map(keyOf),
        hooks: inOrder.map(({ type, enabled, offReason, failingSince }) => ({
          type,
          enabled,
          offReason,
          failingSince: toIsoOrNull(failingSince),
        })),
      };
    },

    async 'app.keys'({ app: given }: Args<'app.keys'>) {
      const { id, userId } = await find(given);
      return (await apps.keys(userId, id)).map(keyOf);
    },

    async 'app.keys.new'({ app: given }: Args<'app.keys.new'>) {
      const { id, userId } = await find(given);
      const { record, secret } = await apps.createKey(userId, id);
      return { id: record.id, secret };
    },

    async 'app.keys.revoke'({ app: given, id: key }: Args<'app.keys.revoke'>) {
      const { id, userId } = await find(given);
      await apps.removeKey(userId, id, key);
      return { id: key };
    },

    async 'app.rotate'({ app: given }: Args<'app.rotate'>) {
      const { id, name, userId } = await find(given);
      const { secret, oldUntil } = await apps.rotate(userId, id);
      return { id, name, signingSecret: secret, oldUntil: toIso(oldUntil) };
    },

    async 'app.delete'({ app: given }: Args<'app.delete'>) {
      const { id, name, userId } = await find(given);
      await apps.remove(userId, id);
      return { id, name };
    },

    async 'app.install'({ user, app: given, scopes, actions }: Args<'app.install'>) {
      const [{ id: userId }, { id, name }] = [await users.byName(user), await find(given)];
      const granted = await apps.install(userId, id, {
        ...(scopes && { scopes: apps.parseScopes(scopes) }),
        ...(actions && { actions: apps.parseActions(actions) }),
      });
      const { webhookUrl, triggersOn } = granted.app;
      const sent = webhookUrl === null ? [] : triggersOn;
      return { id, name, sent, webhookUrl, scopes: granted.scopes, actions: granted.actions };
    },

    async 'app.uninstall'({ user, app: given }: Args<'app.uninstall'>) {
      const [{ id: userId }, { id, name }] = [await users.byName(user), await find(given)];
      await apps.uninstall(userId, id);
      return { id, name };
    },
  };
}

function unknown(given: string, all: readonly App[]): string {
  if (all.length === 0) return `There is no app "${given}", nor any other: earshot app create <user> <name>`;
  const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : '';
  const shown = all.slice(0, MAX_SHOWN).map(({ name }) => name);
  return `There is no app "${given}". There are: ${shown.join(', ')}${more}. List them: earshot app list`;
}

function keyOf({ id, hint, createdAt }: AppKey) {
  return { id, label: hint, createdAt: toIso(createdAt) };
}
