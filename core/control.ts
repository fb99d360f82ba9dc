/**
 * How the command line speaks to a running server: a Unix socket in the data directory that only the server's own
 * account can open. One JSON object per line, `{command, args}`, answered by `{ok: true, result}` or
 * `{ok: false, error: {code, message}}`. The same table of commands serves in-process when no server runs.
 */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { type AppServices, appCommands, appShapes } from './app-commands.ts';
import { AppError, ERRORS, type ErrorCode, toAppError } from './errors.ts';
import type { Log } from './log.ts';
import type { ApiKey, ChannelAddress, Lockable, Scope, User } from './model.ts';
import { dial, linesOf, listenPrivately } from './unix-socket.ts';

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
const COMMANDS: { [C in CommandName]: { args: z.ZodType<Args<C>>; result: z.ZodType<Result<C>> } } = shapes;

/** Name → what it does. Rejects with an AppError; `invalid_request` where the arguments fail their schema. */
export type Commands = { [C in CommandName]: (args: Args<C>) => Promise<Result<C>> };

/** What the commands need of the house. */
interface Services {
  users: {
    add(name: string): Promise<User>;
    list(): Promise<User[]>;
    byName(name: string): Promise<User>;
    token(name: string): Promise<string>;
    signOut(name: string): Promise<User>;
    setMemoryAccess(name: string, isOpen: boolean): Promise<User>;
  };
  /** Resolves to whose it is. */
  setLocked(wanted: Args<'system.lock'>): Promise<string>;
  signIn: {
    setPassword(name: string, password: string | null): Promise<void>;
    rotateKeys(): Promise<void>;
  };
  keys: {
    create(
      userId: string,
      draft: { name: string; scopes: Scope[] },
    ): Promise<{ record: ApiKey; key: string }>;
    list(userId: string): Promise<ApiKey[]>;
    rotate(userId: string, id: string): Promise<{ record: ApiKey; key: string }>;
    remove(userId: string, id: string): Promise<void>;
    parseScopes(list: string[]): Scope[];
  };
  channelAddresses: {
    channels(): Promise<{ name: string; title: string; schema: Record<string, unknown> }[]>;
    add(
      userId: string,
      draft: { channel: string; label?: string | undefined; address: Record<string, unknown> },
    ): Promise<AddressLine>;
    list(userId: string): Promise<AddressLine[]>;
    remove(userId: string, id: string): Promise<void>;
    test(userId: string, id: string): Promise<string | null>;
  };
  apps: AppServices['apps'];
  hooks: AppServices['hooks'];
  status(): Promise<Status>;
}
type AddressLine = Pick<ChannelAddress, 'id' | 'channel' | 'label' | 'enabled' | 'offReason'>;

/** The commands over these services. */
export function createCommands(services: Services): Commands {
  const { users, signIn, keys, channelAddresses, setLocked, status } = services;
  const ofApps = appCommands(services);
  return {
    'app.create': checked('app.create', ofApps.create),
    'app.list': checked('app.list', ofApps.list),
    'app.show': checked('app.show', ofApps.show),
    'app.keys': checked('app.keys', ofApps.keys),
    'app.keys.new': checked('app.keys.new', ofApps.newKey),
    'app.keys.revoke': checked('app.keys.revoke', ofApps.revokeKey),
    'app.rotate': checked('app.rotate', ofApps.rotate),
    'app.delete': checked('app.delete', ofApps.remove),
    'app.install': checked('app.install', ofApps.install),
    'app.uninstall': checked('app.uninstall', ofApps.uninstall),
    'user.add': checked('user.add', async args => {
      const user = await users.add(args.name);
      return { id: user.id, name: user.name };
    }),
    'user.list': checked('user.list', async () =>
      (await users.list()).map(user => ({
        id: user.id,
        name: user.name,
        createdAt: new Date(user.createdAt).toISOString(),
      })),
    ),
    'user.password': checked('user.password', async ({ user, password }) => {
      await signIn.setPassword(user, password);
      return {};
    }),
    'user.signOut': checked('user.signOut', async ({ user }) => ({ name: (await users.signOut(user)).name })),
    'system.rotateKeys': checked('system.rotateKeys', async () => {
      await signIn.rotateKeys();
      return {};
    }),
    'system.memoryAccess': checked('system.memoryAccess', async ({ user, isOpen }) => ({
      user: (await users.setMemoryAccess(user, isOpen)).name,
    })),
    'system.lock': checked('system.lock', async wanted => ({ user: await setLocked(wanted) })),
    token: checked('token', async args => ({ token: await users.token(args.user) })),
    key: checked('key', async args => {
      const scopes = keys.parseScopes(args.scopes);
      const user = await users.byName(args.user);
      return newKey(await keys.create(user.id, { name: args.name ?? 'command line', scopes }));
    }),
    'key.list': checked('key.list', async args => {
      const user = await users.byName(args.user);
      return (await keys.list(user.id)).map(({ id, name, hint, scopes, createdAt, lastUsedAt }) => ({
        ...{ id, name, hint, scopes },
        createdAt: new Date(createdAt).toISOString(),
        lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
      }));
    }),
    'key.rotate': checked('key.rotate', async args => {
      const user = await users.byName(args.user);
      return newKey(await keys.rotate(user.id, args.id));
    }),
    'key.revoke': checked('key.revoke', async args => {
      const user = await users.byName(args.user);
      await keys.remove(user.id, args.id);
      return { id: args.id };
    }),
    'notify.channels': checked('notify.channels', async () =>
      (await channelAddresses.channels()).map(({ name, title, schema }) => ({
        ...{ channel: name, title, address: schema },
      })),
    ),
    'notify.add': checked('notify.add', async ({ user: userName, ...draft }) => {
      const user = await users.byName(userName);
      return line(await channelAddresses.add(user.id, draft));
    }),
    'notify.list': checked('notify.list', async args => {
      const user = await users.byName(args.user);
      return (await channelAddresses.list(user.id)).map(line);
    }),
    'notify.remove': checked('notify.remove', async args => {
      const user = await users.byName(args.user);
      await channelAddresses.remove(user.id, args.id);
      return { id: args.id };
    }),
    'notify.test': checked('notify.test', async args => {
      const user = await users.byName(args.user);
      return { error: await channelAddresses.test(user.id, args.id) };
    }),
    status: checked('status', () => status()),
  };
}

/** Without the address itself. */
function line({ id, channel, label, enabled, offReason }: AddressLine): AddressLine {
  return { id, channel, label, enabled, offReason };
}

function newKey({ record, key }: { record: ApiKey; key: string }) {
  return { id: record.id, key, scopes: record.scopes };
}

function checked<C extends CommandName>(command: C, run: (args: Args<C>) => Promise<Result<C>>) {
  return (args: Args<C>): Promise<Result<C>> => {
    const parsed = COMMANDS[command].args.safeParse(args);
    if (!parsed.success)
      return Promise.reject(new AppError('invalid_request', explain(command, parsed.error)));
    return run(parsed.data);
  };
}

function explain(command: string, error: z.ZodError): string {
  const issue = error.issues[0];
  return `${command}: ${issue?.path.join('.') || 'arguments'}: ${issue?.message ?? 'invalid'}`;
}

/** Where the server of this data directory answers. */
export function controlPath(dataDir: string): string {
  return join(dataDir, 'control.sock');
}

interface Limits {
  /** Of one request. */
  maxLineBytes?: number;
  /** From connecting to the last answer. */
  timeLimitMs?: number;
}
const MAX_LINE_BYTES = 64 * 1024;
/** An answer may be long: the list of many accounts. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const TIME_LIMIT_MS = 30_000;
const MAX_CONNECTIONS = 16;

/**
 * Answers commands at `path`, a socket of mode 0600. `close` lets running commands finish.
 * Rejects with `conflict` when another server answers there already.
 */
export async function serveControl(
  path: string,
  commands: Commands,
  log: Log,
  limits: Limits = {},
): Promise<{ close(): Promise<void> }> {
  const open = new Map<Socket, Promise<void>>();
  const server = createServer({ allowHalfOpen: true }, socket => {
    const conversation = converse(socket, commands, log, limits).finally(() => open.delete(socket));
    open.set(socket, conversation);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listenPrivately(server, path);
  return {
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      const conversations = [...open.values()];
      for (const socket of open.keys()) socket.destroy();
      await Promise.all([closed, ...conversations]);
    },
  };
}

/** One connection: requests in order until the other side ends, sends too much, or takes too long. */
async function converse(socket: Socket, commands: Commands, log: Log, limits: Limits): Promise<void> {
  const deadline = setTimeout(() => socket.destroy(), limits.timeLimitMs ?? TIME_LIMIT_MS);
  const write = (answer: unknown) => {
    if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
  };
  socket.on('error', error => log.debug({ err: error }, 'control connection lost'));
  try {
    for await (const line of linesOf(socket, limits.maxLineBytes ?? MAX_LINE_BYTES)) {
      write(await answer(line, commands, log));
    }
  } catch (error) {
    if (error instanceof AppError) write(refusal(error));
  } finally {
    clearTimeout(deadline);
    socket.end(() => socket.destroy());
  }
}

const Request = z.object({ command: z.string(), args: z.unknown().optional() });

async function answer(line: string, commands: Commands, log: Log): Promise<unknown> {
  try {
    const { command, args } = parse(Request, fromJson(line), 'invalid_request', 'the control request');
    if (!Object.hasOwn(commands, command)) {
      throw new AppError(
        'not_found',
        `the running server has no command "${command}"; restart it to update it`,
      );
    }
    // Each function checks its own arguments, whatever they are.
    const run = commands[command as CommandName] as (args: unknown) => Promise<unknown>;
    return { ok: true, result: await run(args ?? {}) };
  } catch (thrown) {
    const error = toAppError(thrown);
    if (!error.expose) log.error({ err: error }, 'a control command failed');
    return refusal(error);
  }
}

function refusal(error: AppError): unknown {
  return { ok: false, error: { code: error.code, message: error.message } };
}

const Answer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown().optional() }),
  z.object({ ok: z.literal(false), error: z.object({ code: z.string(), message: z.string() }) }),
]);

/**
 * Has the running server do a command. Resolves to `'absent'` when none runs on this data directory.
 * Rejects with the server's own AppError, or `unavailable` when it breaks off, `timeout` when it does not answer.
 */
export async function callControl<C extends CommandName>(
  path: string,
  command: C,
  args: Args<C>,
  { timeLimitMs = TIME_LIMIT_MS }: Limits = {},
): Promise<Result<C> | 'absent'> {
  const socket = await dial(path);
  if (!socket) return 'absent';
  const late = AbortSignal.timeout(timeLimitMs);
  late.addEventListener('abort', () => socket.destroy());
  try {
    socket.write(`${JSON.stringify({ command, args })}\n`);
    const answered = parse(Answer, fromJson(await firstLine(socket)), 'upstream_error', ANSWER);
    if (!answered.ok) throw new AppError(errorCode(answered.error.code), answered.error.message);
    return parse(COMMANDS[command].result, answered.result, 'upstream_error', ANSWER);
  } catch (error) {
    if (late.aborted) throw new AppError('timeout', 'the running server did not answer in time');
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', 'the running server broke off', { cause: error });
  } finally {
    socket.destroy();
  }
}
const ANSWER = 'the answer of the running server';

async function firstLine(socket: Socket): Promise<string> {
  for await (const line of linesOf(socket, MAX_ANSWER_BYTES)) return line;
  throw new AppError('unavailable', 'the running server broke off');
}

function parse<T>(schema: z.ZodType<T>, value: unknown, code: ErrorCode, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new AppError(code, `${what} makes no sense (another version of Earshot?)`, { cause: parsed.error });
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function errorCode(code: string): ErrorCode {
  return Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal';
}
