import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createBackoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { unixAddress } from './unix-address.ts';

/** Where the bridge's API key comes from. */
export interface KeySource {
  /** Waits until there is one. Rejects only when aborted. */
  get(signal: AbortSignal): Promise<string>;
  /** Core did not know it. True: `get` will give another one, so it is worth trying again soon. */
  refused(): boolean;
}

/** The key that was configured. */
export function fixedKey(key: string): KeySource {
  return { get: async () => key, refused: () => false };
}

const Answer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.object({ key: z.string().min(1) }) }),
  z.object({ ok: z.literal(false), error: z.object({ code: z.string(), message: z.string() }) }),
]);

/** For people: where the key of a bridge on another machine comes from. */
export const MAKE_KEY =
  'make one with "earshot key <account> --scopes listen" where core runs, and name its file in bridge.keyFile';

const MAX_WAIT_MS = 30_000;

/**
 * A key of its own, made once by the core that runs on the same data directory, and kept in a file that only this
 * account can read.
 */
export function keyFromCore({
  dataDir,
  account,
  clock,
  log,
  timeLimitMs = 10_000,
}: {
  dataDir: string;
  account: string;
  clock: Clock;
  log: Logger;
  timeLimitMs?: number;
}): KeySource {
  const file = join(dataDir, 'bridge', 'key');
  const socket = join(dataDir, 'control.sock');
  let known: Promise<string> | null = null;
  let isStale = false;
  let isFresh = false;

  async function obtain(signal: AbortSignal): Promise<string> {
    if (isStale) await rm(file, { force: true });
    isStale = false;
    const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
    if (kept) return kept;
    const key = await askUntilAnswered(signal);
    isFresh = true;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, `${key}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
    log.info({ file }, 'core made an API key for the bridge');
    return key;
  }

  async function askUntilAnswered(signal: AbortSignal): Promise<string> {
    const backoff = createBackoff({ firstMs: 500, maxMs: MAX_WAIT_MS });
    let told = '';
    for (;;) {
      try {
        return await askCore(socket, account, timeLimitMs);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        log[told === reason ? 'debug' : 'warn'](
          `no API key yet: ${reason}; start core on the data directory ${dataDir}, or ${MAKE_KEY}`,
        );
        told = reason;
      }
      await clock.sleep(backoff.next(), signal);
    }
  }

  return {
    get(signal) {
      known ??= obtain(signal).catch(error => {
        known = null;
        throw error;
      });
      return known;
    },
    refused() {
      known = null;
      isStale = true;
      const isWorthIt = !isFresh; // a key made just now will not get better
      isFresh = false;
      return isWorthIt;
    },
  };
}

/** One question over core's control socket: a JSON object on a line, and one back. */
async function askCore(socket: string, account: string, timeLimitMs: number): Promise<string> {
  const connection = createConnection(unixAddress(socket));
  const deadline = setTimeout(() => connection.destroy(new Error('core did not answer')), timeLimitMs);
  try {
    const line = await firstLine(connection, {
      command: 'key',
      args: { user: account, scopes: ['listen'], name: 'bridge' },
    });
    const answer = Answer.parse(JSON.parse(line));
    if (!answer.ok) throw new Error(`core refuses: ${answer.error.message}`);
    return answer.result.key;
  } finally {
    clearTimeout(deadline);
    connection.destroy();
  }
}

function firstLine(connection: ReturnType<typeof createConnection>, question: unknown): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  connection.once('connect', () => connection.write(`${JSON.stringify(question)}\n`));
  connection.once('error', error => reject(new Error(`core does not run here (${error.message})`)));
  connection.once('close', () => reject(new Error('core broke off')));
  createInterface({ input: connection }).once('line', resolve).on('error', reject);
  return promise;
}
