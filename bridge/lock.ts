import { rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { type BridgeRequest, converse } from './requests.ts';
import { unixAddress } from './unix-address.ts';

const MAX_CONNECTIONS = 16;

/** Releases the lock. */
export type Unlock = () => Promise<void>;

/**
 * Locks a data directory for one bridge, since two would send and delete the same spool. The lock is a socket on which its
 * owner listens, so the system releases it however the owner ends.
 * @param answer answers requests over that socket
 * @throws Error if another bridge holds the lock
 */
export async function lockDirectory(
  dir: string,
  answer: (request: BridgeRequest) => Promise<string[]> = busy,
): Promise<Unlock> {
  const path = join(dir, 'lock');
  const open = new Set<Socket>();
  const server = createServer(socket => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    void converse(socket, answer).catch(() => socket.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  const isFree = await tryListen(server, path);
  if (!isFree) {
    if (await answers(path)) throw taken(dir);
    await rm(path, { force: true }); // a killed bridge left it
    if (!(await tryListen(server, path))) throw taken(dir);
  }
  server.unref();
  return async () => {
    for (const socket of open) socket.destroy();
    await new Promise(resolve => server.close(resolve));
  };
}

async function busy(): Promise<never> {
  throw new Error('wearables are being paired; ask when the bridge runs');
}

function taken(dir: string): Error {
  return new Error(
    `another bridge runs on the data directory ${dirname(dir)}; stop it first, or set another dataDir`,
  );
}

/** False: the file exists already. */
function tryListen(server: Server, path: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') resolve(false);
    else reject(new Error(`cannot lock ${dirname(path)}: ${error.message}`));
  };
  server.once('error', onError);
  server.listen(unixAddress(path), () => {
    server.off('error', onError);
    resolve(true);
  });
  return promise;
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createConnection(unixAddress(path));
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
