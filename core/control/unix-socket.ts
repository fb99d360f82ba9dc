/** A Unix socket that only its owner can open, and lines of text over it. */
import { chmodSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { createConnection, type Server, type Socket } from 'node:net';
import { dirname, relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { AppError } from '../runtime/errors.ts';

/** Bytes that a socket address holds on every known system (104 with its end on macOS, 108 on Linux). */
const MAX_ADDRESS_BYTES = 103;

/**
 * Lets `server` listen at `path`, mode 0600; its directory is made, mode 0700, where there is none. A socket that a
 * killed process left behind is replaced. Rejects with `conflict` when another process answers there.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await listen(server, path);
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw cannotOpen(path, error);
    await removeStale(path);
    await listen(server, path).catch(second => {
      throw codeOf(second) === 'EADDRINUSE' ? alreadyRunning(path) : cannotOpen(path, second);
    });
  }
}

/** Connects; resolves to null when nothing listens there. */
export function dial(path: string): Promise<Socket | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket | null>();
  const socket = createConnection(addressOf(path));
  socket.on('error', error => (isAbsent(error) ? resolve(null) : reject(cannotOpen(path, error))));
  socket.once('connect', () => resolve(socket));
  return promise;
}

/** Yields the lines that arrive over a socket, without their ends. Throws `too_large` past `maxBytes` in one line. */
export async function* linesOf(socket: Socket, maxBytes: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0 && end <= maxBytes; end = rest.indexOf(10)) {
      yield rest.toString('utf8', 0, end);
      rest = rest.subarray(end + 1);
    }
    if (rest.length > maxBytes) throw new AppError('too_large', `a line of over ${maxBytes} bytes`);
  }
}

function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.once('listening', () => {
    server.off('error', reject);
    resolve();
  });
  // listen() binds at once: with this umask nobody else can open the socket at any moment. The umask applies to all
  // threads; a directory that another one creates meanwhile stays usable by its owner. Worker threads cannot set it.
  const before = isMainThread ? process.umask(0o077) : null;
  try {
    server.listen(addressOf(path));
    if (server.listening) chmodSync(path, 0o600);
  } finally {
    if (before !== null) process.umask(before);
  }
  return promise;
}

/** Holds a lock, so that servers that start at once over a stale socket do not remove each other's new one. */
async function removeStale(path: string): Promise<void> {
  const lock = `${path}.lock`;
  await takeLock(lock, path);
  try {
    if (await answers(path)) throw alreadyRunning(path);
    await rm(path, { force: true });
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

async function takeLock(lock: string, path: string): Promise<void> {
  try {
    await mkdir(lock);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw cannotOpen(path, error);
    throw new AppError(
      'conflict',
      `another Earshot is just starting on ${dirname(path)}; if there is none, remove ${lock}`,
    );
  }
}

async function answers(path: string): Promise<boolean> {
  const socket = await dial(path);
  socket?.destroy();
  return socket !== null;
}

/**
 * Returns the path in a form that the system accepts: socket addresses are short, so a long one is given relative to
 * the working directory.
 */
function addressOf(path: string): string {
  const address = [path, relative(process.cwd(), path)].find(
    candidate => Buffer.byteLength(candidate) <= MAX_ADDRESS_BYTES,
  );
  if (address) return address;
  throw new AppError(
    'config_error',
    `the path ${path} is too long for a socket; use a dataDir whose path is at most 80 bytes long`,
  );
}

function alreadyRunning(path: string): AppError {
  return new AppError(
    'conflict',
    `Earshot is already running on ${dirname(path)}; stop it first, or use another dataDir`,
  );
}

function cannotOpen(path: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError('config_error', `cannot open the socket ${path} (${codeOf(error) ?? error})`, {
    cause: error,
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(codeOf(error) ?? '');
}
