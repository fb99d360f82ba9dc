import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { PassageStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import type { Value } from './models.ts';
import { run } from './statements.ts';
import { matchWords } from './word-index.ts';
import { wordsOf } from './words.ts';

const TABLE = 'passages';
/** Long enough to carry meaning, short enough to be read as a search result. */
const PASSAGE_CHARS = 500;
/** Rows read by one statement. */
const ROWS_A_STATEMENT = 100;
/** Rows written or deleted by one statement, which takes some milliseconds including the word index. */
const ROWS_WRITTEN = 25;

export function passageStore({ read, write, atomic }: Access): PassageStore {
  return {
    /** Outside a transaction each statement is committed separately, so that other writes run in between. */
    async put(userId, conversationId, texts) {
      const put = { userId, conversationId, texts };
      await putPassages(statement => write('passages.put', statement), put);
    },
    retitle: (userId, conversationId, from, to) =>
      atomic('passages.retitle', async db => {
        const key = [userId, passageId(conversationId, 0)];
        const [first] = (await run(db, `select text from ${TABLE} where user_id = ? and id = ?`, key)).rows;
        const [before, after] = [from, to].map(title => title.toWellFormed().trim());
        const text = String(first?.text ?? '');
        if (!first || before === undefined || !text.startsWith(before)) return false;
        const changed = `${after} ${text.slice(before.length).trimStart()}`.trim();
        const sql = `update ${TABLE} set text = ?, words = ? where user_id = ? and id = ?`;
        await run(db, sql, [changed, wordsOf(changed).join(' '), ...key]);
        return true;
      }),
    match: (userId, text, limit, { discarded = false } = {}) =>
      read('passages.match', async db => {
        const ids = await matchWords(db, TABLE, { userId, text, limit });
        const rows = await visible(db, userId, ids, discarded);
        const byId = new Map(rows.map(row => [row.id, row]));
        return ids.flatMap(id => {
          const row = byId.get(id);
          return row ? [{ conversationId: row.conversation_id, text: row.text }] : [];
        });
      }),
  };
}

interface PassageRow {
  id: string;
  conversation_id: string;
  text: string;
}

/** Restricts passages to conversations that lists show, with discarded ones or without. */
async function visible(
  db: Knex,
  userId: string,
  ids: readonly string[],
  discarded: boolean,
): Promise<PassageRow[]> {
  const rows: PassageRow[] = [];
  for (let first = 0; first < ids.length; first += ROWS_A_STATEMENT) {
    const some: PassageRow[] = await db(`${TABLE} as p`)
      .join('conversations as c', { 'c.user_id': 'p.user_id', 'c.id': 'p.conversation_id' })
      .where({ 'p.user_id': userId, 'c.status': 'completed', 'c.locked': false })
      .whereIn('c.discarded', discarded ? [true, false] : [false])
      .whereIn('p.id', ids.slice(first, first + ROWS_A_STATEMENT))
      .select('p.id', 'p.conversation_id', 'p.text');
    rows.push(...some);
  }
  return rows;
}

interface Texts {
  userId: string;
  conversationId: string;
  texts: readonly string[];
}

/** Runs one statement. */
type Write = <T>(statement: (db: Knex) => PromiseLike<T>) => PromiseLike<T>;

export async function putPassages(write: Write, { userId, conversationId, texts }: Texts): Promise<void> {
  await removePassages(write, userId, conversationId);
  let rows: Value[][] = [];
  let place = 0;
  for (const text of passagesOf(texts)) {
    rows.push([
      passageId(conversationId, place),
      userId,
      conversationId,
      text,
      wordsOf(text).join(' '),
      false,
    ]);
    place += 1;
    if (rows.length < ROWS_WRITTEN) continue;
    const full = rows;
    rows = [];
    await write(db => insertRows(db, full));
    await othersTurn(); // the word index takes time
  }
  if (rows.length > 0) await write(db => insertRows(db, rows));
}

/** Deletes passages in batches. */
export async function removePassages(write: Write, userId: string, conversationId: string): Promise<void> {
  const sql = `delete from ${TABLE} where user_id = ? and id in
    (select id from ${TABLE} where user_id = ? and conversation_id = ? limit ${ROWS_WRITTEN})`;
  for (;;) {
    const { changes } = await write(db => run(db, sql, [userId, userId, conversationId]));
    if (changes < ROWS_WRITTEN) return;
    await othersTurn();
  }
}

function passageId(conversationId: string, place: number): string {
  return `${conversationId} ${place}`;
}

/**
 * Plain SQL, compiled once per number of rows. A concurrent run may write the same rows. The index requires `locked`;
 * hidden passages are excluded by the conversations that are read.
 */
function insertRows(db: Knex, rows: readonly Value[][]): Promise<unknown> {
  const places = rows.map(() => '(?, ?, ?, ?, ?, ?)');
  const sql = `insert into ${TABLE} (id, user_id, conversation_id, text, words, locked) values ${places}
    on conflict (user_id, id) do nothing`;
  return run(db, sql, rows.flat());
}

/**
 * Joins short texts and splits long ones between words, unless a word is longer than a passage. Does so on demand,
 * because 8 MB without a blank take a third of a second.
 */
function* passagesOf(texts: Iterable<string>): Generator<string> {
  let open = '';
  for (const text of texts)
    for (const piece of pieces(text)) {
      if (open !== '' && open.length + piece.length >= PASSAGE_CHARS) {
        yield open;
        open = '';
      }
      open = open === '' ? piece : `${open} ${piece}`;
    }
  if (open !== '') yield open;
}

/** Splits at blanks where possible, into pieces of limited length. */
function pieces(text: string): string[] {
  const whole = text.toWellFormed();
  const found: string[] = [];
  for (let from = skipBlanks(whole, 0); from < whole.length; ) {
    const to = endOfPiece(whole, from);
    found.push(whole.slice(from, to).trim());
    from = skipBlanks(whole, to);
  }
  return found;
}

function endOfPiece(text: string, from: number): number {
  const most = from + PASSAGE_CHARS;
  if (most >= text.length) return text.length;
  for (let to = most - 1; to > from; to--) if (isBlank(text[to])) return to;
  const cutsCharacter = /[\uDC00-\uDFFF]/.test(text[most] ?? '');
  return cutsCharacter ? most - 1 : most;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlank(text[at])) at++;
  return at;
}

function isBlank(character = ''): boolean {
  return /\s/.test(character);
}
