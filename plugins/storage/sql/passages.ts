import type { Knex } from 'knex';
import type { PassageStore } from '../../../core/plugin.ts';
import type { Access } from './access.ts';
import { matchWords } from './word-index.ts';
import { wordsOf } from './words.ts';

const TABLE = 'passages';
/** Long enough to say something, short enough to be read as the answer to a search. */
const PASSAGE_CHARS = 500;
/** Rows that are written, or read, by one statement. */
const ROWS_A_STATEMENT = 100;

export function passageStore({ read, atomic }: Access): PassageStore {
  return {
    async put(userId, conversationId, texts) {
      await atomic('passages.put', db => putPassages(db, { userId, conversationId, texts }));
    },
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

/** Of conversations that lists show, with discarded ones or without. */
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

export async function putPassages(db: Knex, { userId, conversationId, texts }: Texts): Promise<void> {
  await db(TABLE).delete().where({ user_id: userId, conversation_id: conversationId });
  const rows = passagesOf(texts).map((text, place) => ({
    id: `${conversationId} ${place}`,
    user_id: userId,
    conversation_id: conversationId,
    text,
    words: wordsOf(text).join(' '),
    locked: false, // the index asks for it; what may not be found is not among the conversations that are read
  }));
  for (let first = 0; first < rows.length; first += ROWS_A_STATEMENT)
    await db(TABLE).insert(rows.slice(first, first + ROWS_A_STATEMENT));
}

/** Short texts together, long ones in pieces; none ends within a word, unless that is longer than a passage. */
function passagesOf(texts: readonly string[]): string[] {
  const passages: string[] = [];
  let open = '';
  for (const piece of texts.flatMap(pieces)) {
    if (open !== '' && open.length + piece.length >= PASSAGE_CHARS) {
      passages.push(open);
      open = '';
    }
    open = open === '' ? piece : `${open} ${piece}`;
  }
  return open === '' ? passages : [...passages, open];
}

const PIECE = new RegExp(`\\S[^]{0,${PASSAGE_CHARS - 2}}(?=\\s|$)|\\S{1,${PASSAGE_CHARS}}`, 'gu');

function pieces(text: string): string[] {
  return (text.toWellFormed().match(PIECE) ?? []).map(piece => piece.trim());
}
