/**
 * Finds rows by words, ranked: FTS5 on SQLite, tsvector on Postgres. The table has the columns `user_id`, `id`, `words`
 * (as `wordsOf` returns them) and `locked`; locked rows are not found.
 */
import type { Knex } from 'knex';
import type { Value } from './models.ts';
import type { Runner } from './statements.ts';
import { askedOf } from './words.ts';

/** Words used of a search. */
const MAX_WORDS = 32;
/** Rows that are ranked. Words that occur in more rows are left out if there are rarer ones. */
const MAX_RANKED = 1000;

/** Runs a statement. */
export type Ask = (sql: string, values: readonly Value[]) => PromiseLike<Record<string, unknown>[]>;

export interface Question {
  userId: string;
  text: string;
  limit: number;
}

interface WordIndex {
  create(db: Knex, table: string): Promise<void>;
  /** Counts the user's rows that contain the word, up to `limit`. */
  count(ask: Ask, table: string, userId: string, word: string, limit: number): Promise<number>;
  /** Ids of rows that contain any of the words, best first. */
  best(ask: Ask, table: string, userId: string, words: readonly string[], limit: number): Promise<string[]>;
}

/** A client of knex with its own search thread. */
export interface Searcher {
  search(table: string, question: Question): Promise<string[]>;
}

export async function createWordIndex(db: Knex, table: string): Promise<void> {
  await indexOf(db).create(db, table);
}

/** Ids of rows that share words with the text, best first. */
export async function matchWords(db: Knex, table: string, question: Question): Promise<string[]> {
  const client: Runner & Partial<Searcher> = db.client;
  if (client.search) return client.search(table, question);
  return match(indexOf(db), async (sql, values) => (await client.execute(sql, values)).rows, table, question);
}

export function matchSqlite(ask: Ask, table: string, question: Question): Promise<string[]> {
  return match(sqliteWords, ask, table, question);
}

async function match(
  index: WordIndex,
  ask: Ask,
  table: string,
  { userId, text, limit }: Question,
): Promise<string[]> {
  const found: { word: string; rows: number }[] = [];
  for (const word of new Set(askedOf(text).slice(0, MAX_WORDS))) {
    const rows = await index.count(ask, table, userId, word, MAX_RANKED);
    if (rows > 0) found.push({ word, rows });
  }
  const words = rarest(found);
  return words.length === 0 ? [] : index.best(ask, table, userId, words, limit);
}

/** Keeps as many words as can be ranked, and at least one. */
function rarest(found: { word: string; rows: number }[]): string[] {
  let ranked = 0;
  const kept = found
    .toSorted((a, b) => a.rows - b.rows)
    .filter(({ rows }, place) => {
      ranked += rows;
      return place === 0 || ranked <= MAX_RANKED;
    });
  return kept.map(({ word }) => word);
}

/** Whether the database itself derives the table's rows from other tables. */
export function isDerived(table: string): boolean {
  return table.endsWith(NUMBERS);
}
const NUMBERS = '_word_numbers';

/** FTS5 identifies rows by number, and implicit row numbers may change: hence an additional table. */
const sqliteWords: WordIndex = {
  async create(db, table) {
    const [words, numbers] = [`${table}_words`, `${table}${NUMBERS}`];
    const indexed = `replace(new.user_id, '-', ''), case when new.locked then '' else new.words end`;
    await db.raw(`create table ${numbers} (
      number integer primary key, user_id text not null, id text not null, unique (user_id, id))`);
    await db.raw(`create virtual table ${words} using fts5 (
      owner, words, content = '', contentless_delete = 1, tokenize = 'ascii')`);
    await db.raw(`create trigger ${words}_insert after insert on ${table} begin
      insert into ${numbers} (user_id, id) values (new.user_id, new.id);
      insert into ${words} (rowid, owner, words) select number, ${indexed}
        from ${numbers} where user_id = new.user_id and id = new.id;
    end`);
    await db.raw(`create trigger ${words}_update after update of words, locked on ${table} begin
      update ${words} set (owner, words) = (${indexed})
        where rowid = (select number from ${numbers} where user_id = new.user_id and id = new.id);
    end`);
    await db.raw(`create trigger ${words}_delete after delete on ${table} begin
      delete from ${words}
        where rowid = (select number from ${numbers} where user_id = old.user_id and id = old.id);
      delete from ${numbers} where user_id = old.user_id and id = old.id;
    end`);
  },
  async count(ask, table, userId, word, limit) {
    const [row] = await ask(
      `select count(*) as rows from (select 1 from ${table}_words where ${table}_words match ? limit ?)`,
      [ftsQuery(userId, [word]), limit],
    );
    return Number(row?.rows);
  },
  async best(ask, table, userId, words, limit) {
    const index = `${table}_words`;
    // without the owner among the words: otherwise bm25 would count all rows of the user
    const rows = await ask(
      `select id from (
         select id, number, bm25(${index}, 0, 1) as score
           from ${index} cross join ${table}${NUMBERS} on number = ${index}.rowid
           where ${index} match ? and user_id = ? order by ${index}.rowid desc limit ?
       ) order by score, number desc limit ?`,
      [anyOf(words), userId, MAX_RANKED, limit],
    );
    return rows.map(({ id }) => String(id));
  },
};

/** Quotes words that FTS5 would take for its syntax. Words contain neither quotes nor blanks. */
function ftsQuery(userId: string, words: readonly string[]): string {
  const owner = userId.replaceAll('-', '').replaceAll('"', '""');
  return `owner : "${owner}" AND ${anyOf(words)}`;
}

function anyOf(words: readonly string[]): string {
  return `words : (${words.map(word => `"${word}"`).join(' OR ')})`;
}

/**
 * The owner is indexed as a word that starts with a blank, which no text contains: the index then reads the rows of one
 * user only.
 */
const postgresWords: WordIndex = {
  async create(db, table) {
    await db.raw(`alter table ${table} add column lexemes tsvector not null generated always as (
      case when locked then ''::tsvector else
        to_tsvector('simple'::regconfig, words) || array_to_tsvector(array[' ' || user_id]) end) stored`);
    await db.raw(`create index ${table}_lexemes on ${table} using gin (lexemes)`);
  },
  async count(ask, table, userId, word, limit) {
    const [row] = await ask(
      `select count(*) as rows from (
         select 1 from ${table} where lexemes @@ (?::tsquery && to_tsquery('simple', ?)) and user_id = ? limit ?
       ) as counted`,
      [ownerLexeme(userId), tsQuery([word]), userId, limit],
    );
    return Number(row?.rows);
  },
  async best(ask, table, userId, words, limit) {
    const rows = await ask(
      `select id from (
         select id, ts_rank_cd(lexemes, to_tsquery('simple', ?), 1) as score from ${table}
         where lexemes @@ (?::tsquery && to_tsquery('simple', ?)) and user_id = ? limit ?
       ) as ranked order by score desc, id desc limit ?`,
      [tsQuery(words), ownerLexeme(userId), tsQuery(words), userId, MAX_RANKED, limit],
    );
    return rows.map(({ id }) => String(id));
  },
};

function tsQuery(words: readonly string[]): string {
  return words.map(word => `'${word}'`).join(' | ');
}

function ownerLexeme(userId: string): string {
  return `' ${userId.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

function indexOf(db: Knex): WordIndex {
  return isPostgres(db) ? postgresWords : sqliteWords;
}

export function isPostgres(db: Knex): boolean {
  return db.client.dialect === 'postgresql';
}
