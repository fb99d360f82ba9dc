import type { ExecutionContext } from 'ava';
import type { Config } from '../../config/schema.ts';
import { FINISH_JOB } from '../../core/domain/lifecycle.ts';
import { createNotificationLimit, createRateLimits } from '../../core/http/rate-limit.ts';
import { createServer } from '../../core/http/server.ts';
import { createJobs } from '../../core/jobs.ts';
import { createFinish, type Structure } from '../../core/pipeline/finish.ts';
import { structure as countWords } from '../../core/pipeline/structure.ts';
import { openDomain } from './domain.ts';

/** More than any test asks for: the clock stands still, so no bucket is filled again. */
const AMPLE = {
  read: 60_000,
  write: 60_000,
  batch: 60_000,
  transcript: 60_000,
  search: 60_000,
  failed: 60_000,
};

/**
 * The REST interface on a real socket, with the pipeline behind it once `run` was called, and one user, whose ID token
 * goes with every request that names no other credential.
 */
export async function openRest(t: ExecutionContext, openStorage?: Parameters<typeof openDomain>[1]) {
  const domain = await openDomain(t, openStorage);
  const { storage, clock, log, conversations } = domain;
  const rateLimits = createRateLimits({ storage, clock, limits: AMPLE });
  const notificationLimit = createNotificationLimit({ storage, clock, perHour: 10 });
  const server = createServer({
    ...domain,
    rateLimits,
    notificationLimit,
    listen: { paths: [], authorize: async () => null, accept: async () => {} },
    config: { listen: { maxConnections: 100 } as Config['listen'], trustedProxies: ['loopback'] },
    health: () => true,
  });
  const { port } = await server.listen('127.0.0.1', 0);
  t.teardown(() => server.close());
  const user = await domain.users.add('anna');
  const token = await domain.users.token('anna');
  const url = `http://127.0.0.1:${port}`;
  const jobs = createJobs({ storage, clock, log });

  /** Begins to process what has ended; `runs` counts how often a structure was made. */
  function run(structure: Structure = countWords) {
    const counted = { runs: 0 };
    const finish = createFinish({
      conversations,
      log,
      structure: (segments, context) => {
        counted.runs += 1;
        return structure(segments, context);
      },
    });
    domain.jobs.poke = () => jobs.poke();
    jobs.handle(FINISH_JOB, finish);
    jobs.start();
    t.teardown(() => jobs.stop());
    return counted;
  }

  /** Resolves when so many conversations have been processed from now on. */
  function processed(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = count;
    domain.events.on('conversation.processed', () => {
      left -= 1;
      if (left === 0) resolve();
    });
    return promise;
  }

  async function send(method: string, path: string, body?: unknown, credential: string | null = token) {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(credential === null ? {} : { Authorization: `Bearer ${credential}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : JSON.parse(text),
    };
  }

  /** The places and kinds of everything that a 422 complains about. */
  async function issues(method: string, path: string, body: unknown): Promise<Record<string, string>> {
    const answer = await send(method, path, body);
    t.is(answer.status, 422, JSON.stringify(answer.body));
    const detail: { loc: (string | number)[]; type: string }[] = answer.body.detail;
    return Object.fromEntries(detail.map(({ loc, type }) => [loc.join('.'), type]));
  }

  return { ...domain, rateLimits, notificationLimit, user, token, url, port, run, processed, send, issues };
}
