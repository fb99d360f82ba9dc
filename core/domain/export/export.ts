import { Readable } from 'node:stream';
import yazl from 'yazl';
import type { Clock, Conversation, Segment, User } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { createPace } from '../../runtime/pace.ts';
import { version } from '../../runtime/version.ts';
import type { CalendarFeed } from '../calendar/calendar-feed.ts';
import type { Conversations } from '../conversations/conversations.ts';
import { dataFile, FORMAT, LEFT_OUT, MANIFEST } from './account-files.ts';
import { FORMATS, fileName } from './readable.ts';

const PAGE = 100;

/** One file of an archive; its text is made while it is written. */
interface File {
  path: string;
  at: number;
  text: AsyncIterable<string> | Iterable<string>;
}

export type AccountExport = ReturnType<typeof createAccountExport>;

/** Everything that an account owns as one ZIP archive: its rows as JSON Lines, and files for people and other programs. */
export function createAccountExport({
  storage,
  conversations,
  calendarFeed,
  clock,
}: {
  storage: Storage;
  conversations: Pick<Conversations, 'transcript' | 'speakerNames'>;
  calendarFeed: Pick<CalendarFeed, 'pieces'>;
  clock: Clock;
}) {
  const running = new Set<string>();

  async function* filesOf(user: User): AsyncGenerator<File> {
    const now = clock.now();
    const counts: Record<string, number> = {};
    for (const { name, rows } of await storage.owned()) {
      if (LEFT_OUT[name] !== undefined) continue;
      yield {
        path: dataFile(name),
        at: now,
        text: linesOf(rows(user.id), count => {
          counts[name] = count;
        }),
      };
    }
    yield* conversationsOf(user);
    yield { path: 'memories.md', at: now, text: memoriesOf(user.id) };
    yield { path: 'calendar.ics', at: now, text: calendarFeed.pieces(user.id, 'todo') };
    yield { path: 'people.vcf', at: now, text: peopleOf(user.id) };
    const about = {
      format: FORMAT,
      earshot: version,
      exported_at: new Date(now).toISOString(),
      account: user.name,
    };
    yield { path: MANIFEST, at: now, text: [`${JSON.stringify({ ...about, rows: counts }, null, 2)}\n`] }; // last: it has the counts
  }

  async function* conversationsOf(user: User): AsyncGenerator<File> {
    const speakerName = await conversations.speakerNames(user);
    for await (const conversation of pagesOf(offset =>
      storage.conversations.list(user.id, { statuses: ['completed'], limit: PAGE, offset }),
    )) {
      const segments: Segment[] = [];
      const all = conversations.transcript(user.id, conversation.id, Number.POSITIVE_INFINITY);
      for await (const segment of all) segments.push(segment);
      const at = conversation.startedAt ?? conversation.createdAt;
      const path = pathOf(conversation, at);
      for (const [ending, write] of Object.entries(FORMATS))
        yield { path: `${path}.${ending}`, at, text: write({ conversation, segments, speakerName }) };
    }
  }

  async function* memoriesOf(userId: string): AsyncGenerator<string> {
    yield '# Memories\n\n';
    for await (const { content, category } of pagesOf(offset =>
      storage.memories.list(userId, { limit: PAGE, offset }),
    ))
      yield `- ${content.replace(/\s+/g, ' ')} (${category})\n`;
  }

  async function* peopleOf(userId: string): AsyncGenerator<string> {
    for (const { id, name } of await storage.people.list(userId))
      yield `BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:${id}\r\nFN:${name.replace(/[\\;,]/g, '\\$&')}\r\nEND:VCARD\r\n`;
  }

  return {
    /**
     * The archive, made no faster than it is read. `rate_limited` while another one of the account is being made.
     * Destroying it ends the work.
     */
    archive(user: User): Readable {
      if (running.has(user.id))
        throw new AppError('rate_limited', 'An export of this account is being made: wait for it', {
          retryAfter: 30,
        });
      running.add(user.id);
      const archive = zipOf(filesOf(user));
      archive.once('close', () => running.delete(user.id));
      return archive;
    },
  };
}

async function* linesOf(
  pages: AsyncIterable<object[]>,
  onEnd: (count: number) => void,
): AsyncGenerator<string> {
  const pace = createPace();
  let count = 0;
  for await (const rows of pages) {
    count += rows.length;
    yield rows.map(row => `${JSON.stringify(row)}\n`).join('');
    await pace();
  }
  onEnd(count);
}

async function* pagesOf<T>(load: (offset: number) => Promise<T[]>): AsyncGenerator<T> {
  for (let offset = 0; ; offset += PAGE) {
    const page = await load(offset);
    yield* page;
    if (page.length < PAGE) return;
  }
}

/** The same for the files of one conversation, and unlike every other's. */
function pathOf({ id, structured }: Conversation, at: number): string {
  const [day = '', time = ''] = new Date(at).toISOString().split('T');
  const [year, month] = day.split('-');
  return `conversations/${year}/${month}/${day} ${time.slice(0, 5).replace(':', '')} ${fileName(structured.title)} ${id.slice(-8)}`;
}

/** One file after the other, so that no more than one is in memory. */
function zipOf(files: AsyncGenerator<File>): Readable {
  const zip = new yazl.ZipFile();
  const archive = zip.outputStream as Readable;
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  archive.once('close', onClosed);

  async function fill(): Promise<void> {
    for await (const { path, at, text } of files) {
      const source = Readable.from(text, { objectMode: false });
      zip.addReadStream(source, path, { mtime: new Date(at), mode: 0o100600, forceDosTimestamp: true });
      const ended = new Promise<void>((resolve, reject) => source.once('end', resolve).once('error', reject));
      await Promise.race([ended, closed]);
      if (!archive.destroyed) continue;
      source.destroy();
      return;
    }
    zip.end();
  }
  fill().catch(error => archive.destroy(error));
  return archive;
}
