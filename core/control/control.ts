/**
 * The protocol between the command line and a running server: a Unix socket in the data directory that only the
 * server's system account can open. One JSON object per line, `{command, args}`, is answered by `{ok: true, result}`
 * or `{ok: false, error: {code, message}}`. The same table of commands runs in-process when no server does.
 */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError, ERRORS, type ErrorCode, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { type Args, COMMANDS, type CommandName, type Commands, type Result } from './commands.ts';
import { dial, linesOf, listenPrivately } from './unix-socket.ts';

/** Path of the socket for this data directory. */
export function controlPath(dataDir: string): string {
  return join(dataDir, 'control.sock');
}

/** Whether a server answers there. */
export async function isServed(path: string): Promise<boolean> {
  return (await callControl(path, 'status', {})) !== 'absent';
}

interface Limits {
  /** Maximum bytes of one request. */
  maxLineBytes?: number;
  /** Time limit from connecting to the last answer. */
  timeLimitMs?: number;
}
const MAX_LINE_BYTES = 64 * 1024;
/** Maximum bytes of an answer, which may list many accounts. */
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

/** Serves one connection: requests in order until the other side ends, sends too much, or takes too long. */
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
 * Runs a command in the running server. Resolves to `'absent'` when none runs on this data directory. Rejects with
 * the server's own AppError, `unavailable` when the connection breaks, or `timeout` when it does not answer.
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
