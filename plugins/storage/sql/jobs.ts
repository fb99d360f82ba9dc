import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Knex } from 'knex';
import type { Clock, Job, JobCount } from '../../../core/model.ts';
import type { JobStore } from '../../../core/plugin.ts';
import type { Access } from './access.ts';
import type { Dialect } from './dialect.ts';
import { type JobRow, Jobs } from './models.ts';
import { insert, oneOf, select } from './statements.ts';

/** A lease that ran out is one that nobody holds: its job is due. */
const STANDING = `case
  when state = 'dead' then 'dead'
  when lease is not null and due_at > ? then 'running'
  when due_at <= ? then 'due'
  when error is not null then 'failed'
  else 'waiting' end as state`;

/**
 * A job is a row until it is done. While it is leased it cannot be claimed before `due_at`; asked for again
 * meanwhile, it remembers that in `again_at` and is set free, instead of removed, when it is done.
 */
export function jobStore(
  { read, write, atomic }: Access,
  clock: Clock,
  { locksRows }: Pick<Dialect, 'locksRows'>,
): JobStore {
  /** Every verb of a claimed job acts on this: a lease that has changed hands matches nothing. */
  function leased(db: Knex, { id, lease }: Job) {
    return Jobs.query(db).where({ id, lease, state: 'open' });
  }

  return {
    async enqueue(job) {
      await write('jobs.enqueue', db => upsert(db, job, clock.now()));
    },
    cancel: (kind, key) =>
      atomic('jobs.cancel', async db => {
        const open = () => Jobs.query(db).where({ kind, key, state: 'open' });
        const removed = await open().whereNull('lease').delete();
        if (removed === 0) await open().patch({ againAt: null });
        return removed > 0;
      }),
    claim: (kinds, now, leaseMs, limit) =>
      write('jobs.claim', async db => {
        const due = Jobs.query(db)
          .select('id')
          .where('state', 'open')
          .whereIn('kind', kinds)
          .where('due_at', '<=', now)
          .orderBy(['due_at', 'id'])
          .limit(limit);
        const claimed = Jobs.query(db)
          .patch({
            lease: randomUUID(),
            dueAt: now + leaseMs,
            againAt: null,
            attempts: db.raw('attempts + 1'),
          })
          .returning('*');
        // as an array: where Postgres joins the rows instead, it may look for them again and again, past the limit
        if (locksRows) claimed.whereRaw('id = any(array(?))', [due.forUpdate().skipLocked()]);
        else claimed.whereIn('id', due);
        const rows = await claimed;
        return rows.map(toJob).sort((a, b) => a.runAt - b.runAt || (a.id < b.id ? -1 : 1));
      }),
    extend: (job, until) =>
      write('jobs.extend', async db => (await leased(db, job).patch({ dueAt: until })) > 0),
    done: job =>
      write('jobs.done', async db => {
        const removed = await leased(db, job).whereNull('again_at').delete();
        if (removed > 0) return true;
        const again = { runAt: db.raw('again_at'), dueAt: db.raw('again_at'), againAt: null, attempts: 0 };
        return (await leased(db, job).patch({ ...again, lease: null, error: null })) > 0;
      }),
    retryAt: (job, runAt, error) =>
      write('jobs.retryAt', async db => {
        const next = db.raw('case when again_at < ? then again_at else ? end', [runAt, runAt]);
        const attempts = error === null ? { attempts: 0 } : {};
        const free = { lease: null, runAt: next, dueAt: next, againAt: null };
        return (await leased(db, job).patch({ ...free, ...attempts, error })) > 0;
      }),
    dead: (job, error) =>
      atomic('jobs.dead', async db => {
        const rows = await leased(db, job).patch({ state: 'dead', lease: null, error }).returning('*');
        for (const { kind, key, againAt, payload } of rows) {
          if (againAt !== null) await upsert(db, { kind, key, runAt: againAt, payload }, clock.now());
        }
        return rows.length > 0;
      }),
    nextRunAt: kinds =>
      read('jobs.nextRunAt', async db => {
        const open = [["state = 'open'"], oneOf('kind', kinds)] as const;
        const [next] = await select(db, Jobs, open, ['order by due_at limit 1']);
        return next?.dueAt ?? null;
      }),
    counts: now =>
      read('jobs.counts', async db => {
        const state = db.raw(STANDING, [now, now]);
        const query = db(Jobs.tableName).select('kind', state).count('* as count').groupByRaw('1, 2');
        const rows = await query;
        return rows.map(({ kind, state, count }) => ({
          kind: String(kind),
          state: state as JobCount['state'], // one of those above
          count: Number(count), // Postgres writes it as text
        }));
      }),
  };
}

type NewJob = Pick<Job, 'kind' | 'key' | 'runAt' | 'payload'>;

async function upsert(db: Knex, { kind, key, runAt, payload }: NewJob, now: number): Promise<void> {
  const row: JobRow = {
    ...{ id: randomUUIDv7(), kind, key, payload, runAt, dueAt: runAt, state: 'open', attempts: 0 },
    ...{ createdAt: now, lease: null, againAt: null, error: null },
  };
  await insert(db, Jobs, [row], UNLESS_OPEN);
}

const earlier = (column: string) =>
  `case when jobs.${column} < excluded.run_at then jobs.${column} else excluded.run_at end`;
const UNLESS_OPEN = `on conflict (kind, key) where state = 'open' do update set
  payload = excluded.payload,
  run_at = case when jobs.lease is null then ${earlier('run_at')} else jobs.run_at end,
  due_at = case when jobs.lease is null then ${earlier('due_at')} else jobs.due_at end,
  again_at = case when jobs.lease is null then null else ${earlier('again_at')} end`;

function toJob({ id, kind, key, payload, runAt, attempts, lease }: JobRow): Job {
  return { id, kind, key, payload, runAt, attempts, lease: lease ?? '' };
}
