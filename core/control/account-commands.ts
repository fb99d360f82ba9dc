/** Commands for accounts and their locks: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Lockable, Role } from '../contract/model.ts';
import type { Accounts } from '../domain/accounts/accounts.ts';
import type { Locks } from '../domain/accounts/locks.ts';
import type { SignIn } from '../domain/accounts/sign-in.ts';
import type { Users } from '../domain/accounts/users.ts';
import { toIso, toIsoOrNull } from '../runtime/iso.ts';

export const LOCKABLE = ['memory', 'conversation', 'action-item'] as const satisfies readonly Lockable[];

const name = z.string().trim().min(1).max(100);
/** Sign-in decides which passwords are acceptable. */
const MAX_PASSWORD_CHARS = 1000;
const ROLES = ['owner', 'operator'] as const satisfies readonly Role[];

const Named = z.object({ name: z.string() });
/** Live connections by the names that their clients give themselves. */
const Devices = z.array(z.string().nullable());
const names = z.array(z.string());
const SignedOut = z.object({
  name: z.string(),
  ended: z.object({ connections: Devices, keys: names, devices: names }),
  /** Credentials of the account, and addresses at which its owner is reached. */
  left: z.object({ keys: names, devices: names, addresses: names, apps: names, hooks: names }),
});

export const accountShapes = {
  'user.add': { args: z.object({ name }), result: z.object({ id: z.string(), name: z.string() }) },
  'user.list': {
    args: z.object({}),
    result: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        createdAt: z.string(),
        role: z.enum(ROLES),
        disabledAt: z.string().nullable(),
      }),
    ),
  },
  'user.rename': { args: z.object({ user: name, name }), result: Named },
  'user.disable': {
    args: z.object({ user: name }),
    result: z.object({ name: z.string(), connections: Devices }),
  },
  'user.enable': { args: z.object({ user: name }), result: Named },
  'user.role': { args: z.object({ user: name, role: z.enum(ROLES) }), result: Named },
  /** Deletes the account and everything that it owns. */
  'user.remove': {
    args: z.object({ user: name }),
    result: Named.extend({
      /** Where its data is kept elsewhere, and until when; null: until somebody deletes it. */
      remains: z.array(z.object({ what: z.string(), until: z.iso.datetime().nullable() })),
    }),
  },
  /** For a lost device: ends every session and token of the account. */
  'user.lost': { args: z.object({ user: name }), result: SignedOut },
  /** Null removes it. */
  'user.password': {
    args: z.object({ user: name, password: z.string().max(MAX_PASSWORD_CHARS).nullable() }),
    result: z.object({}),
  },
  'user.signOut': { args: z.object({ user: name }), result: SignedOut },
  'system.rotateKeys': { args: z.object({}), result: z.object({}) },
  'system.memoryAccess': {
    args: z.object({ user: name, isOpen: z.boolean() }),
    result: z.object({ user: z.string() }),
  },
  'system.lock': {
    args: z.object({ kind: z.enum(LOCKABLE), id: name, locked: z.boolean() }),
    result: z.object({ user: z.string() }),
  },
  token: { args: z.object({ user: name }), result: z.object({ token: z.string() }) },
};
type Args<C extends keyof typeof accountShapes> = z.output<(typeof accountShapes)[C]['args']>;

export interface AccountServices {
  users: Pick<
    Users,
    'add' | 'list' | 'byName' | 'token' | 'setMemoryAccess' | 'rename' | 'setDisabled' | 'setRole'
  >;
  accounts: Pick<Accounts, 'signOut' | 'lost' | 'disable' | 'remove'>;
  locks: Locks;
  signIn: Pick<SignIn, 'setPassword' | 'rotateKeys'>;
  /** Lists data that outlives an account removed now, and until when. */
  remains(userId: string): Promise<{ what: string; until: number | null }[]>;
}

export function accountCommands({ users, accounts, signIn, locks, remains }: AccountServices) {
  return {
    async 'user.add'(args: Args<'user.add'>) {
      const { id, name } = await users.add(args.name);
      return { id, name };
    },
    async 'user.list'() {
      return (await users.list()).map(({ id, name, createdAt, role, disabledAt }) => ({
        id,
        name,
        role,
        createdAt: toIso(createdAt),
        disabledAt: toIsoOrNull(disabledAt),
      }));
    },
    async 'user.rename'({ user, name }: Args<'user.rename'>) {
      return { name: (await users.rename(await users.byName(user), name)).name };
    },
    async 'user.disable'({ user: given }: Args<'user.disable'>) {
      const { user, connections } = await accounts.disable(await users.byName(given));
      return { name: user.name, connections };
    },
    async 'user.enable'({ user }: Args<'user.enable'>) {
      return { name: (await users.setDisabled(await users.byName(user), false)).name };
    },
    async 'user.role'({ user, role }: Args<'user.role'>) {
      return { name: (await users.setRole(await users.byName(user), role)).name };
    },
    async 'user.remove'({ user: given }: Args<'user.remove'>) {
      const user = await users.byName(given);
      const left = await remains(user.id); // of an account that is still known
      await accounts.remove(user);
      return {
        name: user.name,
        remains: left.map(({ what, until }) => ({ what, until: toIsoOrNull(until) })),
      };
    },
    async 'user.lost'({ user: given }: Args<'user.lost'>) {
      const { user, ended, left } = await accounts.lost(given);
      return { name: user.name, ended, left };
    },
    async 'user.password'({ user, password }: Args<'user.password'>) {
      await signIn.setPassword(user, password);
      return {};
    },
    async 'user.signOut'({ user: given }: Args<'user.signOut'>) {
      const { user, ended, left } = await accounts.signOut(given);
      return { name: user.name, ended, left };
    },
    async 'system.rotateKeys'() {
      await signIn.rotateKeys();
      return {};
    },
    async 'system.memoryAccess'({ user, isOpen }: Args<'system.memoryAccess'>) {
      return { user: (await users.setMemoryAccess(user, isOpen)).name };
    },
    async 'system.lock'(wanted: Args<'system.lock'>) {
      return { user: await locks.set(wanted) };
    },
    async token({ user }: Args<'token'>) {
      return { token: await users.token(user) };
    },
  };
}
