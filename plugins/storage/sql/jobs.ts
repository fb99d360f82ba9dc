import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Knex } from 'knex';
import type { Clock, Job, JobCount } from '../../../core/contract/model.ts';
import type { JobStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import type { Dialect } from './dialect.ts';
import { type JobRow, Jobs, mappingOf } from './models.ts';
import { type Clause, insert, oneOf, run, select } from './statements.ts';

/** Starts after which a job is no longer retried at once when its process ended. */
const TAKEN_UP_AT_ONCE = 2;

/** A job whose lease expired has no holder, so it is due. */
const STANDING = `case
  when state = 'dead' then 'dead'
  when lease is not null and due_at > ? then 'running'
  when due_at <= ? then 'due'
  when error is not null then 'failed'
  else 'waiting' end as state`;

/**
 * A job is a row until it is done. While leased, it cannot be claimed before `due_at`. Enqueued again meanwhile, it
 * keeps the time in `again_at` and is released instead of deleted when done.
 */
export function jobStore(
  { read, write, atomic, enqueued }: Access,
  clock: Clock,
  { locksRows }: Pick<Dialect, 'locksRows'>,
): JobStore {
  /** Runs a verb on a claimed job; does nothing when the lease has passed to another holder. */
  async function leased(db: Knex, { id, lease }: Job, verb: Clause, and = ''): Promise<boolean> {
    const [sql, ...values] = verb;
    const { changes } = await run(db, `${sql} where id = ? and lease = ? and state = 'open' ${and}`, [
      ...values,
      id,
      lease,
    ]);
    return changes > 0;
  }

  return {
    async enqueue(job) {
      await write('jobs.enqueue', db => upsert(db, job, clock.now()));
      enqueued(job.kind, job.runAt);
    },
    cancel: (kind, key) =>
      atomic('jobs.cancel', async db => {
        const open = () => Jobs.query(db).where({ kind, key, state: 'open' });
        const removed = await open().whereNull('lease').delete();
        if (removed === 0) await open().patch({ againAt: null });
        return removed > 0;
      }),
    claim: (kinds, now, leaseMs, limit, holder = '', except = []) =>
      write('jobs.claim', async db => {
        const [ofKinds, ...wanted] = oneOf('kind', kinds);
        const [ofOthers, ...left] = ofNone(except);
        const due = `select id from jobs where state = 'open' and ${ofKinds} and ${ofOthers} and due_at <= ?
          order by due_at, id limit ?`;
        // as an array: with a join Postgres may evaluate the subquery repeatedly and exceed the limit
        const claimed = locksRows ? `= any(array(${due} for update skip locked))` : `in (${due})`;
        const { rows } = await run(
          db,
          `update jobs set lease = ?, due_at = ?, again_at = null, attempts = attempts + 1
            where id ${claimed} returning *`,
          [
            `${holder}/${randomUUID()}`,
            Math.round(now + leaseMs),
            ...wanted,
            ...left,
            Math.round(now),
            limit,
          ],
        );
        const { plain } = mappingOf<JobRow>(Jobs);
        return rows.map(row => toJob(plain(row))).sort((a, b) => a.runAt - b.runAt || (a.id < b.id ? -1 : 1));
      }),
    release: (holder, now) =>
      write('jobs.release', async db => {
        const { changes } = await run(
          db,
          `update jobs set due_at = ? where state = 'open' and lease like ? and due_at > ? and attempts <= ?`,
          [Math.round(now), `${holder}/%`, Math.round(now), TAKEN_UP_AT_ONCE],
        );
        return changes;
      }),
    extend: (job, until) =>
      write('jobs.extend', db => leased(db, job, ['update jobs set due_at = ?', Math.round(until)])),
    done: job =>
      write('jobs.done', async db => {
        if (await leased(db, job, ['delete from jobs'], 'and again_at is null')) return true;
        return await leased(db, job, [
          `update jobs set run_at = again_at, due_at = again_at, again_at = null, attempts = 0, lease = null,
             error = null`,
        ]);
      }),
    retryAt: (job, runAt, error) =>
      write('jobs.retryAt', db => {
        const at = Math.round(runAt);
        const next = `case when again_at < cast(? as bigint) then again_at else cast(? as bigint) end`;
        return leased(db, job, [
          `update jobs set run_at = ${next}, due_at = ${next}, again_at = null, lease = null, error = ?,
             attempts = ${error === null ? '0' : 'attempts'}`,
          ...[at, at, at, at, error],
        ]);
      }),
    dead: (job, error) =>
      atomic('jobs.dead', async db => {
        const { id, lease } = job;
        const ours = Jobs.query(db).where({ id, lease, state: 'open' });
        const rows = await ours.patch({ state: 'dead', lease: null, error }).returning('*');
        for (const { kind, key, againAt, payload } of rows) {
          if (againAt !== null) await upsert(db, { kind, key, runAt: againAt, payload }, clock.now());
        }
        return rows.length > 0;
      }),
    nextRunAt: (kinds, except = []) =>
      read('jobs.nextRunAt', async db => {
        const open = [["state = 'open'"], oneOf('kind', kinds), ofNone(except)] as const;
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
          state: state as JobCount['state'], // one of the states above
          count: Number(count), // Postgres returns it as text
        }));
      }),
  };
}

/** Payloads are small JSON texts, and ids contain no wildcards of LIKE. */
function ofNone(users: readonly string[]): Clause {
  const patterns = users.map(user => `%"userId":${JSON.stringify(user)}%`);
  return [['1 = 1', ...patterns.map(() => 'payload not like ?')].join(' and '), ...patterns];
}

type NewJob = Pick<Job, 'kind' | 'key' | 'runAt' | 'payload'>;

async function upsert(db: Knex, { kind, key, runAt, payload }: NewJob, now: number): Promise<void> {
  const row: JobRow = {
    id: randomUUIDv7(),
    kind,
    key,
    payload,
    runAt,
    dueAt: runAt,
    state: 'open',
    attempts: 0,
    createdAt: now,
    lease: null,
    againAt: null,
    error: null,
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
