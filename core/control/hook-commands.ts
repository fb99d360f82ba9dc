/** Commands for webhooks: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { App, Hook } from '../contract/model.ts';
import type { Users } from '../domain/accounts/users.ts';
import type { Apps } from '../domain/apps/apps.ts';
import type { Hooks } from '../domain/apps/hooks.ts';
import { toIsoOrNull } from '../runtime/iso.ts';

const user = z.string().trim().min(1).max(100);
/** The webhook's id, label or type. */
const webhook = z.string().trim().min(1).max(100);
const label = z
  .string()
  .trim()
  .max(100)
  .regex(/^\P{Cc}*$/u, 'has control characters, such as line breaks');

const Shown = z.object({
  id: z.string(),
  type: z.string(),
  /** '': the default address of its type. */
  label: z.string(),
  url: z.string(),
  /** Interval between two pieces of audio; null where it receives no audio. */
  seconds: z.number().nullable(),
  /** Name of the app that it belongs to; null: the account itself. */
  app: z.string().nullable(),
  enabled: z.boolean(),
  /** The reason why the server switched it off. */
  offReason: z.string().nullable(),
  failingSince: z.string().nullable(),
});

const Tested = z.object({
  /** HTTP status of the response; null: there was none. */
  status: z.number().nullable(),
  /** Null: it was accepted. */
  error: z.string().nullable(),
  /** The beginning of the response body. */
  answer: z.string().nullable(),
  tookMs: z.number(),
});

export const hookShapes = {
  'hook.list': { args: z.object({ user }), result: z.array(Shown) },
  'hook.set': {
    args: z.object({
      user,
      type: z.string().trim().min(1).max(100),
      url: z
        .string()
        .max(2010)
        .regex(/[^\s,]/, 'should be an address'),
      label: label.optional(),
    }),
    /** The signing secret, returned once: with the account's first webhook. */
    result: z.object({ ...Shown.shape, signingSecret: z.string().nullable() }),
  },
  'hook.test': {
    args: z.object({ user, webhook }),
    result: z.object({ ...Shown.shape, ...Tested.shape }),
  },
  'hook.enable': { args: z.object({ user, webhook, enabled: z.boolean() }), result: Shown },
  'hook.remove': { args: z.object({ user, webhook }), result: Shown },
};
type Args<C extends keyof typeof hookShapes> = z.output<(typeof hookShapes)[C]['args']>;

export interface HookServices {
  users: Pick<Users, 'byName'>;
  apps: Pick<Apps, 'list'>;
  hooks: Pick<Hooks, 'list' | 'set' | 'find' | 'enable' | 'remove'>;
  /** Sends a sample event of its type. */
  testHook(hook: Hook): Promise<z.input<typeof Tested>>;
}

export function hookCommands({ users, apps, hooks, testHook }: HookServices) {
  async function find(given: { user: string; webhook: string }): Promise<Hook> {
    return hooks.find((await users.byName(given.user)).id, given.webhook);
  }

  async function shown(all: readonly Hook[]): Promise<z.input<typeof Shown>[]> {
    const owned = all.some(({ appId }) => appId !== null) ? await apps.list() : [];
    return all.map(hook => show(hook, owned));
  }

  async function shownOne(hook: Hook): Promise<z.input<typeof Shown>> {
    const [only] = await shown([hook]);
    return only as z.input<typeof Shown>; // one for each account
  }

  return {
    async 'hook.list'({ user }: Args<'hook.list'>) {
      return shown(await hooks.list((await users.byName(user)).id));
    },
    async 'hook.set'({ user, type, url, label }: Args<'hook.set'>) {
      const { id } = await users.byName(user);
      const { hook, newSecret } = await hooks.set(id, type, url, label === undefined ? {} : { label });
      return { ...(await shownOne(hook as Hook)), signingSecret: newSecret }; // an address is set
    },
    async 'hook.test'(args: Args<'hook.test'>) {
      const hook = await find(args);
      return { ...(await shownOne(hook)), ...(await testHook(hook)) };
    },
    async 'hook.enable'({ enabled, ...given }: Args<'hook.enable'>) {
      const { id, userId } = await find(given);
      return shownOne(await hooks.enable(userId, id, enabled));
    },
    async 'hook.remove'(args: Args<'hook.remove'>) {
      const hook = await find(args);
      await hooks.remove(hook.userId, hook.id);
      return shownOne(hook);
    },
  };
}

function show(hook: Hook, owned: readonly App[]): z.input<typeof Shown> {
  const { id, type, label, url, seconds, appId, enabled, offReason, failingSince } = hook;
  const app = appId === null ? null : (owned.find(each => each.id === appId)?.name ?? appId);
  return {
    id,
    type,
    label,
    url,
    seconds,
    app,
    enabled,
    offReason,
    failingSince: toIsoOrNull(failingSince),
  };
}
