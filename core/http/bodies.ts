import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../contract/model.ts';
import { networkOf } from '../domain/network.ts';
import { type BodyMemory, createBodyMemory } from './body-memory.ts';
import { MAX_BODY_BYTES, readJson } from './json-body.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** Limits per account: room for two bodies of the largest size. */
const OF_ACCOUNTS = { maxBytes: 32 * MiB, maxBytesEach: 16 * MiB };
/** Limits per address, for requests that are not authenticated yet. */
const OF_ADDRESSES = { maxBytes: 4 * MiB, maxBytesEach: 128 * KiB };
/** Enough for a name and a password. */
const MAX_STRANGERS_BODY_BYTES = 8 * KiB;
const ACCOUNT_MS = 60_000;
const STRANGER_MS = 10_000;

type Exchange = { req: IncomingMessage; res: ServerResponse };

/** The body of one request. */
export interface RequestBody {
  /** Reads it as JSON; rejects as `readJson` does. */
  read(): Promise<unknown>;
  /** Called once the body is not needed any more. */
  release(): void;
}

export type Bodies = ReturnType<typeof createBodies>;

/** Reads request bodies, and bounds the bytes that are held in memory. */
export function createBodies(clock: Pick<Clock, 'sleep'>) {
  const ofAccounts = createBodyMemory(OF_ACCOUNTS);
  const ofAddresses = createBodyMemory(OF_ADDRESSES);

  function bodyOf(
    exchange: Exchange,
    memory: BodyMemory,
    { owner, ...limits }: { owner: string; maxBytes: number; maxMs: number },
  ): RequestBody {
    const share = memory.shareOf(owner);
    return { read: () => readJson(exchange, { ...limits, share, clock }), release: share.release };
  }

  return {
    ofAccount: (exchange: Exchange, userId: string, maxBytes = MAX_BODY_BYTES): RequestBody =>
      bodyOf(exchange, ofAccounts, { owner: userId, maxBytes, maxMs: ACCOUNT_MS }),
    /** Reserves memory for a request that is not authenticated yet. */
    ofAddress: (exchange: Exchange, address: string, maxBytes = MAX_STRANGERS_BODY_BYTES): RequestBody =>
      bodyOf(exchange, ofAddresses, { owner: networkOf(address), maxBytes, maxMs: STRANGER_MS }),
  };
}
