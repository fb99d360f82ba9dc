import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../contract/model.ts';
import type { FetchUser } from '../contract/plugin.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { newerThan, publicKeyOf, type Release, readSigned, refused } from './update-list.ts';

const HOUR_MS = 3_600_000;
/** A day, minus the time by which a night's run may come early. */
const DAILY_MS = 20 * HOUR_MS;
/** Maximum age of the signature: an older list may hide later releases. */
const MAX_AGE_MS = 90 * 24 * HOUR_MS;
/** Tolerated difference of clocks. */
const MAX_AHEAD_MS = 24 * HOUR_MS;
const LIMIT_MS = 30_000;
const FILE = 'updates.json';

/** State of the check, in a file of the data directory. Instants are epoch ms. */
const State = z.object({
  checkedAt: z.number().nullable().default(null),
  /** Signature of the newest list that was accepted. */
  issuedAt: z.number().default(0),
  newer: z
    .object({ version: z.string(), released: z.string(), security: z.boolean(), note: z.string() })
    .nullable()
    .default(null),
  error: z.string().nullable().default(null),
  /** Version of the last notice to operators. */
  told: z.string().nullable().default(null),
});
type State = z.infer<typeof State>;

/** Result of the checks for updates. */
export interface UpdateState {
  /** Null: never. */
  checkedAt: number | null;
  newer: Release | null;
  /** Why the last check failed. */
  error: string | null;
}

/** Asks daily for the signed list of versions, where the operator has configured it. The request identifies nobody. */
export function createUpdates({
  settings: { url, publicKey },
  dataDir,
  version,
  fetchUser,
  clock,
  log,
  tell,
}: {
  settings: Config['updates'];
  dataDir: string;
  /** Version of this server. */
  version: string;
  fetchUser: FetchUser;
  clock: Pick<Clock, 'now'>;
  log: Log;
  /** Tells operators of a version, once. */
  tell(release: Release): Promise<void>;
}) {
  const path = join(dataDir, FILE);

  async function read(): Promise<State> {
    try {
      return State.parse(JSON.parse(await readFile(path, 'utf8')));
    } catch {
      return State.parse({}); // missing or truncated
    }
  }

  async function write(state: State): Promise<void> {
    await writeFile(`${path}.new`, JSON.stringify(state), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  async function fetchList(address: string): Promise<string> {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const { status, body } = await fetchUser(address, { signal });
    if (status !== 200) throw new AppError('upstream_error', `The list of updates: HTTP ${status}`);
    return Buffer.from(body).toString('utf8');
  }

  /** Refuses an outdated list, which somebody may have held back or replayed. */
  function refuseOld(issuedAt: number, state: State): void {
    const now = clock.now();
    if (issuedAt < state.issuedAt) throw refused('it is older than the one before');
    if (now - issuedAt > MAX_AGE_MS)
      throw refused(`it was signed ${Math.floor((now - issuedAt) / (24 * HOUR_MS))} days ago`);
    if (issuedAt - now > MAX_AHEAD_MS) throw refused('it was signed in the future: is the clock right?');
  }

  async function look(address: string, key: string, state: State): Promise<State> {
    const list = readSigned(await fetchList(address), publicKeyOf(key));
    const issuedAt = Date.parse(list.issued);
    refuseOld(issuedAt, state);
    return { ...state, issuedAt, newer: newerThan(version, list), error: null };
  }

  async function note(state: State): Promise<State> {
    const { newer } = state;
    if (newer === null || newer.version === state.told) return state;
    log.info({ version: newer.version, security: newer.security }, 'a newer version of Earshot is out');
    await tell(newer);
    return { ...state, told: newer.version };
  }

  /** Looks once a day. Rejects with why it failed, which `state` tells too. */
  async function check(): Promise<void> {
    if (url === undefined || publicKey === undefined) return;
    const before = await read();
    const now = clock.now();
    const isEarly = before.checkedAt !== null && now >= before.checkedAt && now - before.checkedAt < DAILY_MS;
    if (isEarly && before.error === null) return;
    try {
      const seen = await look(url, publicKey, { ...before, checkedAt: now });
      await write(await note(seen));
    } catch (error) {
      await write({ ...before, checkedAt: now, error: toAppError(error).message });
      throw error;
    }
  }

  return {
    check,
    /** Null: nobody asked for it. */
    async state(): Promise<UpdateState | null> {
      if (url === undefined || publicKey === undefined) return null;
      const { checkedAt, newer, error } = await read();
      // the server may have been updated since
      const isNewer = newer !== null && newerThan(version, { issued: '', releases: [newer] }) !== null;
      return { checkedAt, newer: isNewer ? newer : null, error };
    },
  };
}
