/** Commands that the command line runs, in the server or in its own process: names, shapes and functions. */
import { z } from 'zod';
import type { Backups } from '../backup/backups.ts';
import type { ApiKey, Lockable, Role } from '../contract/model.ts';
import type { Accounts } from '../domain/accounts/accounts.ts';
import type { Keys } from '../domain/accounts/keys.ts';
import type { Locks } from '../domain/accounts/locks.ts';
import type { SignIn } from '../domain/accounts/sign-in.ts';
import type { Users } from '../domain/accounts/users.ts';
import type { ChannelAddresses, ShownAddress } from '../domain/notifications/channel-addresses.ts';
import { AppError } from '../runtime/errors.ts';
import { type AppServices, appCommands, appShapes, toIso } from './app-commands.ts';
import { type CalendarServices, calendarCommands, calendarShapes } from './calendar-commands.ts';
import { type HookServices, hookCommands, hookShapes } from './hook-commands.ts';
import { type PrivacyServices, privacyCommands, privacyShapes } from './privacy-commands.ts';
import { type RecordingServices, recordingCommands, recordingShapes } from './recording-commands.ts';
import { type TransferServices, transferCommands, transferShapes } from './transfer-commands.ts';
import { type VocabularyServices, vocabularyCommands, vocabularyShapes } from './vocabulary-commands.ts';
import { type VoiceServices, voiceCommands, voiceShapes } from './voice-commands.ts';

/** State of one part of the server, and the command that would repair it. */
const Readiness = z.object({
  /** The part's purpose, for people: `speech recognition`. */
  part: z.string(),
  /** The part's name: `pocketsphinx`. */
  name: z.string(),
  ok: z.boolean(),
  /** Whether nothing depends on it, because it was not configured or another part does its work. */
  optional: z.boolean(),
  detail: z.string(),
  /** The one command that makes it ready; null when it is, or when no command can. */
  cure: z.string().nullable(),
});
export type Readiness = z.infer<typeof Readiness>;

const Status = z.object({
  version: z.string(),
  /** Address of the server, `http://host:port`; null when none runs. */
  url: z.string().nullable(),
  dataDir: z.string(),
  configFile: z.string().nullable(),
  ready: z.array(Readiness),
  /** Names of the accounts, oldest first. */
  users: z.array(z.string()),
});
export type Status = z.infer<typeof Status>;

/** Name of the part that transcribes. */
export const RECOGNITION = 'speech recognition';
/** Name of the part that reports newer versions. */
export const UPDATES = 'updates';
/** A part of a plugin that has no name of its own. */
export const PLUGIN = 'plugin';

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

const NewKey = z.object({ id: z.string(), key: z.string(), scopes: z.array(z.string()) });

/** `createdAt` is epoch ms, `rows` the number in the database. */
const MadeBackup = z.object({
  file: z.string(),
  bytes: z.number(),
  createdAt: z.number(),
  encrypted: z.boolean(),
  files: z.number(),
  rows: z.number(),
  leftOut: z.array(z.string()),
});

/** Every command with its arguments and result. */
const shapes = {
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
        /** First and last characters of the key. */
        hint: z.string(),
        scopes: z.array(z.string()),
        createdAt: z.string(),
        lastUsedAt: z.string().nullable(),
      }),
    ),
  },
  /** The key's id, or its name where only one key has that. */
  'key.rotate': { args: z.object({ user: name, id: name }), result: NewKey },
  'key.revoke': {
    args: z.object({ user: name, id: name }),
    result: z.object({ id: z.string(), name: z.string() }),
  },
  'notify.channels': {
    args: z.object({}),
    result: z.array(
      z.object({
        channel: z.string(),
        title: z.string(),
        /** JSON schema of its addresses. */
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
        /** The reason why the server switched it off. */
        offReason: z.string().nullable(),
        /** Its address, without secrets. */
        address: z.record(z.string(), z.unknown()),
        /** Names of its secrets. */
        secrets: z.array(z.string()),
      }),
    ),
  },
  'notify.enable': {
    args: z.object({ user: name, id: name, enabled: z.boolean() }),
    result: z.object({ id: z.string(), label: z.string() }),
  },
  'notify.remove': { args: z.object({ user: name, id: name }), result: z.object({ id: z.string() }) },
  /** Null: it was sent. */
  'notify.test': {
    args: z.object({ user: name, id: name }),
    result: z.object({ error: z.string().nullable() }),
  },
  ...hookShapes,
  ...vocabularyShapes,
  ...voiceShapes,
  ...recordingShapes,
  ...appShapes,
  ...calendarShapes,
  ...transferShapes,
  ...privacyShapes,
  /** Starts a backup; `backup.progress` reports on it. */
  'backup.begin': {
    args: z.object({ to: z.string().min(1).max(4096).nullable() }),
    result: z.object({}),
  },
  'backup.progress': {
    args: z.object({}),
    result: z.object({ running: z.boolean(), backup: MadeBackup.nullable(), error: z.string().nullable() }),
  },
  'backup.state': {
    args: z.object({}),
    result: z.object({
      enabled: z.boolean(),
      directory: z.string(),
      newest: z
        .object({ file: z.string(), createdAt: z.number(), bytes: z.number(), encrypted: z.boolean() })
        .nullable(),
      failed: z.object({ at: z.number(), message: z.string() }).nullable(),
      rehearsed: z.object({ at: z.number(), file: z.string(), error: z.string().nullable() }).nullable(),
      copies: z.array(
        z.object({
          place: z.string(),
          name: z.string().nullable(),
          at: z.number().nullable(),
          error: z.string().nullable(),
          readAt: z.number().nullable(),
        }),
      ),
    }),
  },
  status: { args: z.object({}), result: Status },
};
export type CommandName = keyof typeof shapes;
export type Args<C extends CommandName> = z.output<(typeof shapes)[C]['args']>;
export type Result<C extends CommandName> = z.output<(typeof shapes)[C]['result']>;
export const COMMANDS: { [C in CommandName]: { args: z.ZodType<Args<C>>; result: z.ZodType<Result<C>> } } =
  shapes;

/**
 * The functions by command name. Reject with an AppError; `invalid_request` where the arguments do not match their
 * schema.
 */
export type Commands = { [C in CommandName]: (args: Args<C>) => Promise<Result<C>> };

/** The services that the commands use. */
interface Services
  extends AppServices,
    CalendarServices,
    HookServices,
    PrivacyServices,
    TransferServices,
    VocabularyServices,
    VoiceServices,
    RecordingServices {
  apps: AppServices['apps'] & HookServices['apps'];
  hooks: AppServices['hooks'] & HookServices['hooks'];
  users: Pick<
    Users,
    'add' | 'list' | 'byName' | 'token' | 'setMemoryAccess' | 'rename' | 'setDisabled' | 'setRole'
  >;
  accounts: Pick<Accounts, 'signOut' | 'lost' | 'disable' | 'remove'>;
  locks: Locks;
  signIn: Pick<SignIn, 'setPassword' | 'rotateKeys'>;
  keys: Pick<Keys, 'create' | 'list' | 'find' | 'rotate' | 'remove' | 'parseScopes'>;
  channelAddresses: Pick<ChannelAddresses, 'channels' | 'add' | 'edit' | 'list' | 'remove' | 'test'>;
  backups: Pick<Backups, 'begin' | 'progress' | 'state'>;
  /** Lists data that outlives an account removed now, and until when. */
  remains(userId: string): Promise<{ what: string; until: number | null }[]>;
  status(): Promise<Status>;
}

/** Creates the commands over these services. */
export function createCommands(services: Services): Commands {
  return checked({
    ...accountCommands(services),
    ...keyCommands(services),
    ...channelCommands(services),
    ...hookCommands(services),
    ...vocabularyCommands(services),
    ...voiceCommands(services),
    ...recordingCommands(services),
    ...appCommands(services),
    ...calendarCommands(services),
    ...transferCommands(services),
    ...privacyCommands(services),
    'backup.begin': async ({ to }) => {
      services.backups.begin(to);
      return {};
    },
    'backup.progress': async () => services.backups.progress(),
    'backup.state': () => services.backups.state(),
    status: () => services.status(),
  });
}

function accountCommands({ users, accounts, signIn, locks, remains }: Services) {
  return {
    async 'user.add'(args) {
      const { id, name } = await users.add(args.name);
      return { id, name };
    },
    async 'user.list'() {
      return (await users.list()).map(({ id, name, createdAt, role, disabledAt }) => ({
        id,
        name,
        role,
        createdAt: toIso(createdAt),
        disabledAt: disabledAt === null ? null : toIso(disabledAt),
      }));
    },
    async 'user.rename'({ user, name }) {
      return { name: (await users.rename(await users.byName(user), name)).name };
    },
    async 'user.disable'({ user: given }) {
      const { user, connections } = await accounts.disable(await users.byName(given));
      return { name: user.name, connections };
    },
    async 'user.enable'({ user }) {
      return { name: (await users.setDisabled(await users.byName(user), false)).name };
    },
    async 'user.role'({ user, role }) {
      return { name: (await users.setRole(await users.byName(user), role)).name };
    },
    async 'user.remove'({ user: given }) {
      const user = await users.byName(given);
      const left = await remains(user.id); // of an account that is still known
      await accounts.remove(user);
      return {
        name: user.name,
        remains: left.map(({ what, until }) => ({ what, until: until === null ? null : toIso(until) })),
      };
    },
    async 'user.lost'({ user: given }) {
      const { user, ended, left } = await accounts.lost(given);
      return { name: user.name, ended, left };
    },
    async 'user.password'({ user, password }) {
      await signIn.setPassword(user, password);
      return {};
    },
    async 'user.signOut'({ user: given }) {
      const { user, ended, left } = await accounts.signOut(given);
      return { name: user.name, ended, left };
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
        id,
        name,
        hint,
        scopes,
        createdAt: toIso(createdAt),
        lastUsedAt: lastUsedAt === null ? null : toIso(lastUsedAt),
      }));
    },
    async 'key.rotate'({ user, id }) {
      const owner = await users.byName(user);
      return newKey(await keys.rotate(owner.id, (await keys.find(owner.id, id)).id));
    },
    async 'key.revoke'({ user, id }) {
      const owner = await users.byName(user);
      const found = await keys.find(owner.id, id);
      await keys.remove(owner.id, found.id);
      return { id: found.id, name: found.name };
    },
  } satisfies Partial<Commands>;
}

function channelCommands({ users, channelAddresses }: Services) {
  return {
    async 'notify.channels'() {
      return (await channelAddresses.channels()).map(({ name, title, schema }) => ({
        channel: name,
        title,
        address: schema,
      }));
    },
    async 'notify.add'({ user, ...draft }) {
      const { id, channel, label } = await channelAddresses.add((await users.byName(user)).id, draft);
      return { id, channel, label };
    },
    async 'notify.list'({ user }) {
      return (await channelAddresses.list((await users.byName(user)).id)).map(line);
    },
    async 'notify.enable'({ user, id, enabled }) {
      const { label } = await channelAddresses.edit((await users.byName(user)).id, id, { enabled });
      return { id, label };
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

function line({ id, channel, label, enabled, offReason, address, secrets }: ShownAddress) {
  return { id, channel, label, enabled, offReason, address, secrets };
}

function newKey({ record, key }: { record: ApiKey; key: string }) {
  return { id: record.id, key, scopes: record.scopes };
}

/** Wraps each command so that it checks its arguments first. */
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
