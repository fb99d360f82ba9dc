import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Clock, Conversation, Segment, User } from '../../contract/model.ts';
import type { OwnedTable, Row, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { createBackgroundPace, type Pace } from '../../runtime/pace.ts';
import { version } from '../../runtime/version.ts';
import type { CalendarFeed } from '../calendar/calendar-feed.ts';
import type { Conversations } from '../conversations/conversations.ts';
import { MAX_PHOTOS } from '../conversations/lifecycle.ts';
import { ALL_MARKS, passagesOf } from '../conversations/marks.ts';
import { newId } from '../ids.ts';
import { pagesById } from '../pages.ts';
import { dataFile, FORMAT, LEFT_OUT, MANIFEST } from './account-files.ts';
import type { AccountMedia, MediaKind } from './account-media.ts';
import { FORMATS, fileName } from './readable.ts';
import { type ArchivedFile, zipOf } from './zip.ts';

const PAGE = 100;
/** Size of the pieces that are compressed: each costs a round trip to another thread. */
const PIECE_BYTES = 64 * 1024;

/** A file of the archive; its content is produced while it is written. */
interface Made {
  path: string;
  at: number;
  content: AsyncIterable<string | Uint8Array> | Iterable<string>;
  /** Whether the content is compressed already: that of a file on the disk, which is open until the next one is asked for. */
  isCompressed?: true;
}

/** Live audio that has no text yet, in one recording. */
export interface HeldAudio {
  /** When its first sample was recorded (epoch ms). */
  startedAt: number;
  /** ISO 639-1, or `multi`. */
  language: string;
  source: string;
  /** Pause that starts another conversation. */
  silenceMs: number;
  /** The bytes of a WAV file. */
  wav: AsyncIterable<Uint8Array>;
}

export type AccountExport = ReturnType<typeof createAccountExport>;

/** Everything that an account owns as one ZIP archive: its rows as JSON Lines, and files for people and other programs. */
export function createAccountExport({
  storage,
  conversations,
  calendarFeed,
  media,
  heldAudio,
  clock,
}: {
  storage: Storage;
  conversations: Pick<Conversations, 'transcript' | 'speakerNames'>;
  calendarFeed: Pick<CalendarFeed, 'pieces'>;
  media: Pick<AccountMedia, 'kinds'>;
  heldAudio(userId: string): AsyncIterable<HeldAudio>;
  clock: Clock;
}) {
  const running = new Set<string>();

  async function* filesOf(user: User): AsyncGenerator<Made> {
    const now = clock.now();
    const counts: Record<string, number> = {};
    const held: Row[] = [];
    yield* heldOf(user.id, held); // first: what gets its text meanwhile is then in a table
    for (const { name, rows } of await storage.owned()) {
      if (LEFT_OUT[name] !== undefined) continue;
      const kind = media.kinds.find(({ table }) => table === name);
      const whole = new Set<string>();
      if (kind) yield* mediaOf(user, kind, rows, whole);
      const wanted = kind ? withIds(rows(user.id), whole) : rows(user.id);
      yield {
        path: dataFile(name),
        at: now,
        content: linesOf(name === HELD_TABLE ? joined(wanted, held) : wanted, count => {
          counts[name] = count;
        }),
      };
    }
    yield* conversationsOf(user);
    yield { path: 'memories.md', at: now, content: memoriesOf(user.id) };
    yield { path: 'calendar.ics', at: now, content: calendarFeed.pieces(user.id, 'todo') };
    yield { path: 'people.vcf', at: now, content: peopleOf(user.id) };
    const about = {
      format: FORMAT,
      earshot: version,
      exported_at: new Date(now).toISOString(),
      account: user.name,
    };
    yield { path: MANIFEST, at: now, content: [`${JSON.stringify({ ...about, rows: counts }, null, 2)}\n`] }; // last, because it has the counts
  }

  /** Yields live audio that has no text yet as files of recordings, and adds their rows to `rows`. */
  async function* heldOf(userId: string, rows: Row[]): AsyncGenerator<Made> {
    for await (const { wav, ...audio } of heldAudio(userId)) {
      const now = clock.now();
      const id = newId(now);
      let bytes = 0;
      async function* counted() {
        for await (const piece of wav) {
          bytes += piece.length;
          yield piece;
        }
      }
      yield { path: `${HELD_TABLE}/${id}.wav`, at: audio.startedAt, content: counted() };
      rows.push(rowOfHeld(audio, { id, userId, bytes, now }));
    }
  }

  async function* conversationsOf(user: User): AsyncGenerator<Made> {
    const speakerName = await conversations.speakerNames(user);
    for await (const conversation of completedOf(user.id)) {
      const segments: Segment[] = [];
      const all = conversations.transcript(user.id, conversation.id, Number.POSITIVE_INFINITY);
      for await (const segment of all) segments.push(segment);
      const photos = await storage.photos.list(user.id, conversation.id, MAX_PHOTOS);
      const marks = await storage.marks.list(user.id, conversation.id, ALL_MARKS);
      const marked = passagesOf(conversation, segments, marks);
      const at = conversation.startedAt ?? conversation.createdAt;
      const path = pathOf(conversation, at);
      for (const [ending, write] of Object.entries(FORMATS))
        yield {
          path: `${path}.${ending}`,
          at,
          content: write({ conversation, segments, marked, photos, speakerName }),
        };
    }
  }

  /** Yields the newest first, each once, also while others are added. */
  async function* completedOf(userId: string): AsyncGenerator<Conversation> {
    let createdTo = Number.MAX_SAFE_INTEGER;
    let offset = 0;
    for (;;) {
      const page = await storage.conversations.list(userId, {
        ...{ statuses: ['completed'], createdTo, limit: PAGE, offset },
      });
      yield* page;
      const last = page.at(-1);
      if (page.length < PAGE || !last) return;
      const ties = page.filter(({ createdAt }) => createdAt === last.createdAt).length;
      offset = last.createdAt === createdTo ? offset + ties : ties;
      createdTo = last.createdAt;
    }
  }

  async function* memoriesOf(userId: string): AsyncGenerator<string> {
    yield '# Memories\n\n';
    const pages = pagesById((after, limit) => storage.memories.page(userId, after, limit), PAGE);
    for await (const page of pages)
      for (const { content, category, locked } of page)
        if (!locked) yield `- ${content.replace(/\s+/g, ' ')} (${category})\n`;
  }

  async function* peopleOf(userId: string): AsyncGenerator<string> {
    for (const { id, name } of await storage.people.list(userId))
      yield `BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:${id}\r\nFN:${name.replace(/[\\;,]/g, '\\$&')}\r\nEND:VCARD\r\n`;
  }

  return {
    /**
     * Returns the archive, produced no faster than it is read. `rate_limited` while another one of the account is
     * being produced. Destroying it ends the work.
     */
    archive(user: User): Readable {
      if (running.has(user.id))
        throw new AppError('rate_limited', 'An export of this account is being made: wait for it', {
          retryAfter: 30,
        });
      running.add(user.id);
      const pace = createBackgroundPace();
      const archive = Readable.from(inPieces(zipOf(archivable(filesOf(user), pace)), pace), {
        objectMode: false,
      });
      archive.once('close', () => running.delete(user.id));
      return archive;
    },
  };
}

/** Yields the files of a table's rows, and notes the ids of the rows that have all of theirs: the others are left out. */
async function* mediaOf(
  user: User,
  kind: MediaKind,
  rows: OwnedTable['rows'],
  whole: Set<string>,
): AsyncGenerator<Made> {
  for await (const page of rows(user.id))
    for (const row of page) {
      const files = await openAll(kind, user.id, row);
      try {
        if (!kind.wanted(row, [...files.keys()])) continue;
        whole.add(String(row.id));
        for (const [name, handle] of files) {
          const { mtimeMs } = await handle.stat();
          const content = handle.createReadStream({ autoClose: false });
          yield { path: `${kind.folder}/${name}`, at: mtimeMs, content, isCompressed: true };
        }
      } finally {
        for (const handle of files.values()) await handle.close();
      }
    }
}

/** Opens the files of a row; one that is deleted afterwards is read to its end. */
async function openAll(kind: MediaKind, userId: string, row: Row): Promise<Map<string, FileHandle>> {
  const files = new Map<string, FileHandle>();
  for (const name of await kind.find(userId, row)) {
    const handle = await open(kind.pathOf(userId, name)).catch(() => null);
    if (handle) files.set(name, handle);
  }
  return files;
}

/** The table, and the folder, of recordings that wait for their text. */
const HELD_TABLE = 'recordings';

/** Builds the row of a recording as an import reads it: it waits for its text. */
function rowOfHeld(
  { startedAt, language, source, silenceMs }: Omit<HeldAudio, 'wav'>,
  { id, userId, bytes, now }: { id: string; userId: string; bytes: number; now: number },
): Row {
  const name = `${source} ${new Date(startedAt).toISOString().slice(0, 19).replaceAll(':', '-')}.wav`;
  return {
    ...{ id, user_id: userId, name, bytes, state: 'waiting', error: null },
    ...{ started_at: startedAt, ended_at: null, language, source, silence_ms: silenceMs },
    ...{ duration_ms: null, heard_ms: 0, conversation_ids: '[]', created_at: now, updated_at: now },
  };
}

async function* joined(pages: AsyncIterable<Row[]>, last: Row[]): AsyncGenerator<Row[]> {
  yield* pages;
  yield last;
}

async function* withIds(pages: AsyncIterable<Row[]>, ids: ReadonlySet<string>): AsyncGenerator<Row[]> {
  for await (const rows of pages) yield rows.filter(({ id }) => ids.has(String(id)));
}

async function* linesOf(
  pages: AsyncIterable<object[]>,
  onEnd: (count: number) => void,
): AsyncGenerator<string> {
  let count = 0;
  for await (const rows of pages) {
    count += rows.length;
    for (const row of rows) yield `${JSON.stringify(row)}\n`;
  }
  onEnd(count);
}

/** The same for the files of one conversation, and unlike every other's. */
function pathOf({ id, structured }: Conversation, at: number): string {
  const [day = '', time = ''] = new Date(at).toISOString().split('T');
  const [year, month] = day.split('-');
  return `conversations/${year}/${month}/${day} ${time.slice(0, 5).replace(':', '')} ${fileName(structured.title)} ${id.slice(-8)}`;
}

/** Prepares the content of each file for the archive. */
async function* archivable(files: AsyncIterable<Made>, pace: Pace): AsyncGenerator<ArchivedFile> {
  for await (const { path, at, content, isCompressed = false } of files)
    yield { path, at, pieces: inPieces(content, pace), isCompressed };
}

/** Joins parts to larger pieces, and rests between stretches of work: live speech goes first. */
async function* inPieces(content: Made['content'], pace: Pace): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const given of content) {
    const part = typeof given === 'string' ? Buffer.from(given) : given;
    parts.push(part);
    bytes += part.length;
    await pace();
    if (bytes < PIECE_BYTES) continue;
    yield concat(parts);
    parts = [];
    bytes = 0;
  }
  yield concat(parts);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return first && parts.length === 1 ? first : Buffer.concat(parts);
}
