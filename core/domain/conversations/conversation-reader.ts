import type { Conversation, Folder, Photo, Segment, User } from '../../contract/model.ts';
import type { ConversationFilter, Storage } from '../../contract/plugin.ts';
import { createPace } from '../../runtime/pace.ts';
import { isId } from '../ids.ts';
import { PagedList } from '../pages.ts';

/** Number of segments in one read. */
const SEGMENTS_AT_ONCE = 200;
/** Maximum photos that are read; a merged conversation may have more than one alone may have. */
export const ALL_PHOTOS = 100_000;

/** Reads conversations, their transcripts, and the names in them. */
export function createConversationReader({ storage }: { storage: Storage }) {
  /**
   * Returns the user's conversation of this id, whatever its status; null also for what is not an id, or another
   * user's.
   */
  async function get(userId: string, id: string): Promise<Conversation | null> {
    return isId(id) ? storage.conversations.get(userId, id) : null;
  }

  /** Newest first. */
  async function list(userId: string, filter: ConversationFilter): Promise<Conversation[]> {
    if (filter.folderId !== undefined && !isId(filter.folderId)) return [];
    return storage.conversations.list(userId, filter);
  }

  /** Resolves to a function that names the speaker of a segment: the owner, a known person, else a number. */
  async function speakerNames(owner: User): Promise<(segment: Segment) => string> {
    const people = new Map((await storage.people.list(owner.id)).map(person => [person.id, person.name]));
    return segment =>
      (segment.isUser ? owner.name : people.get(segment.personId ?? '')) ?? `Speaker ${segment.speakerId}`;
  }

  /** Lists folders in order. Creates none. */
  const folders = (userId: string): Promise<Folder[]> => storage.folders.list(userId);

  /** Counts the conversations of each folder, without discarded ones; it reads all of them. */
  const folderCounts = (userId: string): Promise<Map<string, number>> => storage.folders.counts(userId);

  /** Returns the names of the user's folders, by id. */
  async function folderNames(userId: string): Promise<Map<string, string>> {
    return new Map((await storage.folders.list(userId)).map(folder => [folder.id, folder.name]));
  }

  /** Lists segments by start, reading them on demand. */
  function transcript(userId: string, id: string, most: number): PagedList<Segment> {
    async function* pages() {
      const pace = createPace();
      let after: Segment | null = null;
      for (let left = most; left > 0; await pace()) {
        const limit = Math.min(left, SEGMENTS_AT_ONCE);
        const segments: Segment[] = await storage.segments.page(userId, id, after, limit);
        yield segments;
        if (segments.length < limit) return;
        after = segments.at(-1) ?? null;
        left -= limit;
      }
    }
    return new PagedList(pages());
  }

  /** Lists the segments of several conversations, sorted by start within each. */
  async function segments(userId: string, conversationIds: string[]): Promise<Segment[]> {
    const all: Segment[] = [];
    for (const id of conversationIds)
      for await (const segment of transcript(userId, id, Number.POSITIVE_INFINITY)) all.push(segment);
    return all;
  }

  /** Lists photos of one conversation in the order in which they were taken. */
  function photos(userId: string, id: string): Promise<Photo[]> {
    return storage.photos.list(userId, id, ALL_PHOTOS);
  }

  return { get, list, transcript, segments, photos, speakerNames, folders, folderCounts, folderNames };
}
