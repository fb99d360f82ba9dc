import type { Knex } from 'knex';
import type { Storage } from '../../../core/contract/plugin.ts';
import { user } from '../../../plugins/kit/suites/storage/rows.ts';
import type { Dialect } from '../../../plugins/storage/sql/dialect.ts';
import { idOf } from '../lists/many.ts';

/** Rows per statement, each in its own transaction. */
const CHUNK = 50_000;
const SECOND_MS = 1000;
const NOW = Date.UTC(2026, 0, 1);
/** Number of other users, and their share of the rows. */
const OTHERS = 19;
const SHARE = 0.01;

export const OWNER = idOf(1);
/** Webhooks to which each user's rows went in turn; half of them belong to an app each. */
const TARGETS = 20;
export const APPS = TARGETS / 2;
export const targetOf = (number: number) => idOf(1000 + (number % TARGETS));
/** App of the target with this number, which is the smaller one. */
export const appOf = (number: number) => idOf(2000 + (number % APPS));

/** Rows with these states out of each 101; the others were delivered. */
const RARE = { failed: 2, dropped: 2 };

/** Creates this many deliveries of one user among 20, oldest first, with an attempt each. */
export async function addDeliveries(storage: Storage, dialect: Dialect, count: number): Promise<void> {
  for (let number = 1; number <= OTHERS + 1; number++) await storage.users.insert(user(idOf(number)));
  const series = dialect.locksRows ? POSTGRES : SQLITE;
  for (let number = 1; number <= OTHERS + 1; number++) {
    const userId = idOf(number);
    const last = userId === OWNER ? count : Math.ceil(count * SHARE);
    for (let first = 1; first <= last; first += CHUNK)
      await addSome(dialect.writer, series, userId, first, Math.min(last, first + CHUNK - 1));
  }
}

/** SQL of a database for a series, and for a number padded to the end of an id. */
interface Series {
  /** Run in each transaction. */
  before?: string;
  from: string;
  hex(number: string): string;
}

const SQLITE: Series = {
  from: `with recursive series (n) as (select cast(? as integer) union all select n + 1 from series where n < ?)`,
  hex: number => `printf('%012x', ${number})`,
};
const POSTGRES: Series = {
  before: 'set local session_replication_role = replica', // foreign keys are not checked row by row
  from: 'with series (n) as (select * from generate_series(cast(? as bigint), ?))',
  hex: number => `lpad(to_hex(${number}), 12, '0')`,
};

async function addSome(db: Knex, { before, from, hex }: Series, userId: string, first: number, last: number) {
  const id = (number: string) => `'${idOf(0).slice(0, -12)}' || ${hex(number)}`;
  const at = `${NOW} + n * ${SECOND_MS}`;
  const { failed, dropped } = RARE;
  // 101 and TARGETS have no common factor: each target has rows of every state
  const state = `case when n % 101 < ${failed} then 'failed' when n % 101 < ${failed + dropped} then 'dropped'
    else 'delivered' end`;
  await db.transaction(async tx => {
    if (before) await tx.raw(before);
    await tx.raw(
      `insert into deliveries (user_id, id, target_kind, target_id, app_id, type, subject, state, attempts, created_at,
         ended_at, query, content_type, body)
       ${from} select '${userId}', ${id('n')}, 'hook', ${id(`1000 + n % ${TARGETS}`)},
         case when n % ${TARGETS} < ${APPS} then ${id(`2000 + n % ${TARGETS}`)} end, 'memory_created', ${id('n')},
         ${state}, 1, ${at}, ${at} + 80, 'uid=${userId}', 'application/json', '${BODY}' from series`,
      [first, last],
    );
    await tx.raw(
      `insert into delivery_attempts (user_id, delivery_id, number, at, took_ms, status, answer)
       ${from} select '${userId}', ${id('n')}, 1, ${at}, 80, 200, 'ok' from series`,
      [first, last],
    );
  });
}

/** Body of a short conversation. */
const BODY = JSON.stringify({
  structured: {
    title: 'Planning the budget',
    overview: 'The budget for next year was gone through line by line; the garden gets less.',
  },
  transcript_segments: [{ text: 'Then the garden gets less, and the journey is put off.' }],
});
