import type { ExecutionContext } from 'ava';
import type { Config } from '../../config/schema.ts';
import { FINISH_JOB, REPROCESS_JOB } from '../../core/domain/conversations/lifecycle.ts';
import { createNotificationLimit, createRateLimits } from '../../core/http/rate-limit.ts';
import { createServer } from '../../core/http/server.ts';
import { createFinish, type PipelineDeps } from '../../core/pipeline/finish.ts';
import { createReprocess, createReprocessGivenUp } from '../../core/pipeline/reprocess.ts';
import { createUnderstand, type NamedUnderstanding } from '../../core/pipeline/understanding.ts';
import { createJobs } from '../../core/runtime/jobs.ts';
import plainUnderstanding from '../../plugins/understanding/plain-understanding/index.ts';
import { type Domain, openDomain } from './domain.ts';

/** The understanding plugin of a server with default settings. */
export const PLAIN = { name: plainUnderstanding.name, ...plainUnderstanding.setup() };

/** Returns the models and vectors that the pipeline uses, as the domain has them at the time. */
export function meaningOf({ models, meaning }: Pick<Domain, 'models' | 'meaning'>) {
  return { models: () => models, embedder: () => meaning.embedder() };
}

/** More than any test requests: the clock stands still, so that buckets are never refilled. */
const AMPLE = {
  read: 60_000,
  write: 60_000,
  batch: 60_000,
  transcript: 60_000,
  search: 60_000,
  failed: 60_000,
};

/**
 * Opens the REST interface on a real socket with one user, whose ID token is sent unless another credential is given.
 * The pipeline starts with `run`.
 */
export async function openRest(t: ExecutionContext, openStorage?: Parameters<typeof openDomain>[1]) {
  const domain = await openDomain(t, openStorage);
  const { storage, clock, log } = domain;
  const rateLimits = createRateLimits({ storage, clock, limits: AMPLE });
  const notificationLimit = createNotificationLimit({ storage, clock, perHour: 10 });
  const server = createServer({
    ...domain,
    rateLimits,
    notificationLimit,
    listen: { paths: [], refusal: () => null, authorize: async () => null, accept: async () => {} },
    config: { listen: { maxConnections: 100 } as Config['listen'], trustedProxies: ['loopback'] },
    health: async () => ({ status: 'ok', parts: [] }),
  });
  const { port } = await server.listen('127.0.0.1', 0);
  t.teardown(() => server.close());
  const user = await domain.users.add('anna');
  const token = await domain.users.token('anna');
  const url = `http://127.0.0.1:${port}`;
  const jobs = createJobs({ storage, clock, log });

  /** Starts processing ended conversations; `runs` counts the structures made. */
  function run(providers: NamedUnderstanding[] = [PLAIN]) {
    const counted = { runs: 0 };
    const understand = createUnderstand({ providers: () => providers, log });
    const deps: PipelineDeps = {
      ...domain,
      ...meaningOf(domain),
      understand: (...asked) => {
        counted.runs += 1;
        return understand(...asked);
      },
    };
    jobs.handle(FINISH_JOB, createFinish(deps));
    jobs.handle(REPROCESS_JOB, createReprocess(deps), createReprocessGivenUp(deps));
    jobs.start();
    t.teardown(() => jobs.stop());
    return counted;
  }

  /** Resolves when this many more conversations have been processed. */
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

  /** Returns the paths and codes of a 422's issues. */
  async function issues(method: string, path: string, body: unknown): Promise<Record<string, string>> {
    const answer = await send(method, path, body);
    t.is(answer.status, 422, JSON.stringify(answer.body));
    const detail: { loc: (string | number)[]; type: string }[] = answer.body.detail;
    return Object.fromEntries(detail.map(({ loc, type }) => [loc.join('.'), type]));
  }

  return { ...domain, rateLimits, notificationLimit, user, token, url, port, run, processed, send, issues };
}
