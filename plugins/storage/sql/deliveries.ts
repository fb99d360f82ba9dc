import type { Knex } from 'knex';
import type { QueryBuilder } from 'objection';
import type { LoggedDelivery } from '../../../core/contract/model.ts';
import type { DeliveryFilter, DeliveryOutcome, DeliveryStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Deliveries, DeliveryAttempts, one } from './models.ts';
import { type Clause, insert, run, select } from './statements.ts';

/** Outcomes written by one statement; two sizes only, so that each is compiled once. */
const AT_ONCE = [32, 1];

/** Columns of lists: all but the body, which may be long. */
const LOGGED = [
  'id',
  'user_id',
  'target_kind',
  'target_id',
  'app_id',
  'type',
  'subject',
  'state',
  'query',
  'content_type',
  'attempts',
  'next_at',
  'created_at',
  'ended_at',
  'replay_of',
];

export function deliveryStore({ read, write, atomic }: Access): DeliveryStore {
  return {
    async insert(deliveries) {
      if (deliveries.length === 0) return;
      await atomic(
        'deliveries.insert',
        db => insert(db, Deliveries, deliveries),
        'This delivery exists already',
      );
    },
    get: (userId, id) =>
      read('deliveries.get', db => one(Deliveries.query(db).where({ user_id: userId, id }))),
    list: (userId, filter) =>
      read('deliveries.list', db => listed(Deliveries.query(db).where('user_id', userId), filter)),
    listOfApp: (appId, filter) =>
      read('deliveries.listOfApp', db => listed(Deliveries.query(db).where('app_id', appId), filter)),
    attempts: (userId, deliveryId) =>
      read('deliveries.attempts', db =>
        all(DeliveryAttempts.query(db).where({ user_id: userId, delivery_id: deliveryId }).orderBy('number')),
      ),
    due: (targetId, now, limit) =>
      read('deliveries.due', db =>
        select(
          db,
          Deliveries,
          [...pending(targetId), ['next_at <= ?', Math.round(now)]],
          ['order by next_at, id limit ?', limit],
        ),
      ),
    nextAt: targetId =>
      read('deliveries.nextAt', async db => {
        const next = await select(db, Deliveries, pending(targetId), ['order by next_at limit 1']);
        return next[0]?.nextAt ?? null;
      }),
    async record(outcomes) {
      if (outcomes.length === 0) return;
      await atomic('deliveries.record', async db => {
        for (const some of batches(outcomes)) await record(db, some);
      });
    },
    async giveUp(targetId, now) {
      await write('deliveries.giveUp', db =>
        run(
          db,
          `update deliveries set state = 'failed', next_at = null, ended_at = ?
            where target_id = ? and state = 'pending'`,
          [Math.round(now), targetId],
        ),
      );
    },
    forget: (userId, subject, now) =>
      atomic('deliveries.forget', async db => {
        const about = () => Deliveries.query(db).where({ user_id: userId, subject });
        await about().where('state', 'pending').patch({ state: 'failed', nextAt: null, endedAt: now });
        await about().whereNotNull('body').patch({ body: null });
      }),
    prune: (before, limit) => write('deliveries.prune', db => prune(db, overBefore(db, before), limit)),
    pruneOf: (userId, before, limit) =>
      write('deliveries.pruneOf', db => prune(db, overBefore(db, before).where('user_id', userId), limit)),
    countBefore: (userId, before) =>
      read('deliveries.countBefore', db => overBefore(db, before).where('user_id', userId).resultSize()),
  };
}

type DeliveryQuery = QueryBuilder<InstanceType<typeof Deliveries>>;

function overBefore(db: Knex, before: number): DeliveryQuery {
  return Deliveries.query(db)
    .whereRaw(`state <> 'pending'`) // matches the index
    .where('created_at', '<', before);
}

async function prune(db: Knex, over: DeliveryQuery, limit: number): Promise<number> {
  const some = over.select('user_id', 'id').limit(limit);
  return Deliveries.query(db).delete().whereIn(['user_id', 'id'], some);
}

/** Matches the index. */
function pending(targetId: string): Clause[] {
  return [['target_id = ?', targetId], [`state = 'pending'`]];
}

function listed(query: DeliveryQuery, filter: DeliveryFilter): Promise<LoggedDelivery[]> {
  const { targetId, state, beforeId, limit } = filter;
  if (targetId !== undefined) query.where('target_id', targetId);
  if (state !== undefined) query.where('state', state);
  if (beforeId !== undefined) query.where('id', '<', beforeId);
  return all<LoggedDelivery>(query.select(LOGGED).orderBy('id', 'desc').limit(limit));
}

const TYPES = ['text', 'text', 'text', 'bigint', 'integer', 'bigint', 'integer', 'integer', 'text', 'text'];
/** Casts in the first row; the other rows take its types. */
const FIRST = `(${TYPES.map(type => `cast(? as ${type})`)})`;
const OTHER = `,(${TYPES.map(() => '?')})`;

/** Writes all outcomes with two statements. */
async function record(db: Knex, outcomes: readonly DeliveryOutcome[]): Promise<void> {
  const values = outcomes.flatMap(({ attempt, state, nextAt }) => [
    attempt.userId,
    attempt.deliveryId,
    state,
    nextAt === null ? null : Math.round(nextAt),
    attempt.number,
    Math.round(attempt.at),
    Math.round(attempt.tookMs),
    attempt.status,
    attempt.error,
    attempt.answer,
  ]);
  const outcome = `outcome (user_id, delivery_id, state, next_at, number, at, took_ms, status, error, answer)
    as (values ${FIRST}${OTHER.repeat(outcomes.length - 1)})`;
  await run(
    db,
    `with ${outcome} insert into delivery_attempts
       (user_id, delivery_id, number, at, took_ms, status, error, answer)
     select outcome.user_id, delivery_id, number, at, took_ms, status, error, answer
       from outcome join deliveries on deliveries.user_id = outcome.user_id and deliveries.id = delivery_id
      where true on conflict do nothing`,
    values,
  );
  await run(
    db,
    `with ${outcome} update deliveries set state = outcome.state, next_at = outcome.next_at,
       attempts = outcome.number,
       ended_at = case when outcome.state = 'pending' then null else outcome.at + outcome.took_ms end
      from outcome
     where deliveries.user_id = outcome.user_id and deliveries.id = outcome.delivery_id
       and deliveries.state = 'pending'`,
    values,
  );
}

function* batches<T>(rows: readonly T[]): Generator<T[]> {
  let at = 0;
  for (const length of AT_ONCE)
    for (; rows.length - at >= length; at += length) yield rows.slice(at, at + length);
}
