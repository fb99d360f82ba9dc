/** What the command line has done, by the running server or in its own process: names, shapes, and the doing. */
import { z } from 'zod';
import { type AppServices, appCommands, appShapes, toIso } from './app-commands.ts';
import type { ChannelAddresses } from './domain/channel-addresses.ts';
import type { Keys } from './domain/keys.ts';
import type { Locks } from './domain/locks.ts';
import type { SignIn } from './domain/sign-in.ts';
import type { Users } from './domain/users.ts';
import { AppError } from './errors.ts';
import type { ApiKey, ChannelAddress, Lockable } from './model.ts';

/** One part of the house: does it work, and if not, which command makes it work? */
const Readiness = z.object({
  /** What it is for, for people: `speech recognition`. */
  part: z.string(),
  /** Which one: `pocketsphinx`. */
  name: z.string(),
  ok: z.boolean(),
  detail: z.string(),
  /** The one command that makes it ready; null when it is, or when no command can. */
  cure: z.string().nullable(),
});
export type Readiness = z.infer<typeof Readiness>;

const Status = z.object({
  version: z.string(),
  /** Where it listens, `http://host:port`; null when no server runs. */
  url: z.string().nullable(),
  dataDir: z.string(),
  configFile: z.string().nullable(),
  ready: z.array(Readiness),
  /** Names of the accounts, oldest first. */
  users: z.array(z.string()),
});
export type Status = z.infer<typeof Status>;

/** What the part is called whose lack means that nothing is transcribed. */
export const RECOGNITION = 'speech recognition';

export const LOCKABLE = ['memory', 'conversation', 'action-item'] as const satisfies readonly Lockable[];

const name = z.string().trim().min(1).max(100);
/** Which ones will do is up to signing in. */
const MAX_PASSWORD_CHARS = 1000;

const NewKey = z.object({ id: z.string(), key: z.string(), scopes: z.array(z.string()) });

/** Every command: what it takes, what it answers. */
const shapes = {
  'user.add': { args: z.object({ name }), result: z.object({ id: z.string(), name: z.string() }) },
  'user.list': {
    args: z.object({}),
    result: z.array(z.object({ id: z.string(), name: z.string(), createdAt: z.string() })),
  },
  /** With null there is none any more. */
  'user.password': {
    args: z.object({ user: name, password: z.string().max(MAX_PASSWORD_CHARS).nullable() }),
    result: z.object({}),
  },
  'user.signOut': { args: z.object({ user: name }), result: z.object({ name: z.string() }) },
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
  key: {
    args: z.object({ user: name, scopes: z.array(z.string()).max(50), name: name.optional() }),
    result: NewKey,
  },
  'key.list': {
    args: z.object({ user: name }),
    result: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        /** Its beginning and end. */
        hint: z.string(),
        scopes: z.array(z.string()),
        createdAt: z.string(),
        lastUsedAt: z.string().nullable(),
      }),
    ),
  },
  'key.rotate': { args: z.object({ user: name, id: name }), result: NewKey },
  'key.revoke': { args: z.object({ user: name, id: name }), result: z.object({ id: z.string() }) },
  'notify.channels': {
    args: z.object({}),
    result: z.array(
      z.object({
        channel: z.string(),
        title: z.string(),
        /** What an address of it is, as a JSON schema. */
        address: z.looseObject({}),
      }),
    ),
  },
  'notify.add': {
    args: z.object({
      user: name,
      channel: name,
      label: name.optional(),
      address: z.record(z.string(), z.unknown()),
    }),
    result: z.object({ id: z.string(), channel: z.string(), label: z.string() }),
  },
  'notify.list': {
    args: z.object({ user: name }),
    result: z.array(
      z.object({
        id: z.string(),
        channel: z.string(),
        label: z.string(),
        enabled: z.boolean(),
        /** Why the server switched it off. */
        offReason: z.string().nullable(),
      }),
    ),
  },
  'notify.remove': { args: z.object({ user: name, id: name }), result: z.object({ id: z.string() }) },
  /** Null: it was sent. */
  'notify.test': {
    args: z.object({ user: name, id: name }),
    result: z.object({ error: z.string().nullable() }),
  },
  ...appShapes,
  status: { args: z.object({}), result: Status },
};
export type CommandName = keyof typeof shapes;
export type Args<C extends CommandName> = z.output<(typeof shapes)[C]['args']>;
export type Result<C extends CommandName> = z.output<(typeof shapes)[C]['result']>;
export const COMMANDS: { [C in CommandName]: { args: z.ZodType<Args<C>>; result: z.ZodType<Result<C>> } } =
  shapes;

/** Name → what it does. Rejects with an AppError; `invalid_request` where the arguments fail their schema. */
export type Commands = { [C in CommandName]: (args: Args<C>) => Promise<Result<C>> };

/** What the commands need of the house. */
interface Services extends AppServices {
  users: Pick<Users, 'add' | 'list' | 'byName' | 'token' | 'signOut' | 'setMemoryAccess'>;
  locks: Locks;
  signIn: Pick<SignIn, 'setPassword' | 'rotateKeys'>;
  keys: Pick<Keys, 'create' | 'list' | 'rotate' | 'remove' | 'parseScopes'>;
  channelAddresses: Pick<ChannelAddresses, 'channels' | 'add' | 'list' | 'remove' | 'test'>;
  status(): Promise<Status>;
}

/** The commands over these services. */
export function createCommands(services: Services): Commands {
  return checked({
    ...accountCommands(services),
    ...keyCommands(services),
    ...channelCommands(services),
    ...appCommands(services),
    status: () => services.status(),
  });
}

function accountCommands({ users, signIn, locks }: Services) {
  return {
    async 'user.add'(args) {
      const { id, name } = await users.add(args.name);
      return { id, name };
    },
    async 'user.list'() {
      return (await users.list()).map(({ id, name, createdAt }) => ({
        id,
        name,
        createdAt: toIso(createdAt),
      }));
    },
    async 'user.password'({ user, password }) {
      await signIn.setPassword(user, password);
      return {};
    },
    async 'user.signOut'({ user }) {
      return { name: (await users.signOut(user)).name };
    },
    async 'system.rotateKeys'() {
      await signIn.rotateKeys();
      return {};
    },
    async 'system.memoryAccess'({ user, isOpen }) {
      return { user: (await users.setMemoryAccess(user, isOpen)).name };
    },
    async 'system.lock'(wanted) {
      return { user: await locks.set(wanted) };
    },
    async token({ user }) {
      return { token: await users.token(user) };
    },
  } satisfies Partial<Commands>;
}

function keyCommands({ users, keys }: Services) {
  return {
    async key({ user, name = 'command line', scopes: names }) {
      const scopes = keys.parseScopes(names);
      return newKey(await keys.create((await users.byName(user)).id, { name, scopes }));
    },
    async 'key.list'({ user }) {
      const owner = await users.byName(user);
      return (await keys.list(owner.id)).map(({ id, name, hint, scopes, createdAt, lastUsedAt }) => ({
        ...{ id, name, hint, scopes },
        createdAt: toIso(createdAt),
        lastUsedAt: lastUsedAt === null ? null : toIso(lastUsedAt),
      }));
    },
    async 'key.rotate'({ user, id }) {
      return newKey(await keys.rotate((await users.byName(user)).id, id));
    },
    async 'key.revoke'({ user, id }) {
      await keys.remove((await users.byName(user)).id, id);
      return { id };
    },
  } satisfies Partial<Commands>;
}

function channelCommands({ users, channelAddresses }: Services) {
  return {
    async 'notify.channels'() {
      return (await channelAddresses.channels()).map(({ name, title, schema }) => ({
        ...{ channel: name, title, address: schema },
      }));
    },
    async 'notify.add'({ user, ...draft }) {
      return line(await channelAddresses.add((await users.byName(user)).id, draft));
    },
    async 'notify.list'({ user }) {
      return (await channelAddresses.list((await users.byName(user)).id)).map(line);
    },
    async 'notify.remove'({ user, id }) {
      await channelAddresses.remove((await users.byName(user)).id, id);
      return { id };
    },
    async 'notify.test'({ user, id }) {
      return { error: await channelAddresses.test((await users.byName(user)).id, id) };
    },
  } satisfies Partial<Commands>;
}

type AddressLine = Pick<ChannelAddress, 'id' | 'channel' | 'label' | 'enabled' | 'offReason'>;

/** Without the address itself. */
function line({ id, channel, label, enabled, offReason }: AddressLine): AddressLine {
  return { id, channel, label, enabled, offReason };
}

function newKey({ record, key }: { record: ApiKey; key: string }) {
  return { id: record.id, key, scopes: record.scopes };
}

/** The same, each of which looks at its arguments first. */
function checked(commands: Commands): Commands {
  const entries = Object.entries(commands).map(([name, run]) => [
    name,
    async (args: unknown) => {
      const parsed = COMMANDS[name as CommandName].args.safeParse(args);
      if (!parsed.success) throw new AppError('invalid_request', explain(name, parsed.error));
      return (run as (args: unknown) => Promise<unknown>)(parsed.data); // which are this command's own
    },
  ]);
  return Object.fromEntries(entries);
}

function explain(command: string, error: z.ZodError): string {
  const issue = error.issues[0];
  return `${command}: ${issue?.path.join('.') || 'arguments'}: ${issue?.message ?? 'invalid'}`;
}
