import type { Knex } from 'knex';
import type { Segment } from '../../../core/contract/model.ts';
import { Conversations, Segments } from '../../../plugins/storage/sql/models.ts';
import { conversation, idOf } from '../lists/many.ts';

export interface Transcripts {
  conversations: number;
  /** Per conversation. */
  segments: number;
  textChars: number;
}

const SENTENCE = 'Tea at seven, said Eve, and the garden gets less. ';
/** An SQLite statement accepts a limited number of rows. */
const ROWS_AT_ONCE = 250;

/** Stores completed conversations of a user with their transcripts, the first conversation as number 1. */
export async function addTranscripts(
  db: Knex,
  userId: string,
  { conversations, segments, textChars }: Transcripts,
): Promise<void> {
  const text = SENTENCE.repeat(Math.ceil(textChars / SENTENCE.length)).slice(0, textChars);
  await db.transaction(async tx => {
    for (let number = 1; number <= conversations; number++) {
      const row = { ...conversation(userId, number), folderId: null };
      await tx(Conversations.tableName).insert(Conversations.fromJson(row).$toDatabaseJson());
      for (let first = 0; first < segments; first += ROWS_AT_ONCE) {
        const rows = Array.from({ length: Math.min(ROWS_AT_ONCE, segments - first) }, (_, offset) => {
          const at = first + offset;
          return segment({
            userId,
            conversationId: idOf(number),
            id: idOf(number * segments + at),
            text,
            at,
          });
        });
        await tx(Segments.tableName).insert(rows.map(each => Segments.fromJson(each).$toDatabaseJson()));
      }
    }
  });
}

interface Place extends Pick<Segment, 'userId' | 'conversationId' | 'id' | 'text'> {
  at: number;
}

function segment({ at, ...rest }: Place): Segment {
  return {
    ...rest,
    start: at * 5,
    end: at * 5 + 4,
    speaker: 'SPEAKER_00',
    speakerId: 0,
    isUser: at % 2 === 0,
    personId: null,
    sttProvider: null,
    language: null,
    translations: null,
    profileCompared: false,
  };
}
