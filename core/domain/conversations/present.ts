/** Presents conversations with the name of their folder and, on request, their transcript. */
import type { z } from 'zod';
import type { Conversation, Segment, User } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import { type List, mapPages, type PagedList } from '../pages.ts';
import {
  type ConversationJson,
  conversationJson,
  type SegmentJson,
  segmentJson,
} from './conversation-json.ts';
import type { Conversations } from './conversations.ts';

type Json = z.input<typeof ConversationJson>;
type Transcript = PagedList<z.input<typeof SegmentJson>>;
/** A conversation whose transcript is read while the response is written. */
type StreamedJson = Omit<Json, 'transcript_segments'> & { transcript_segments?: Transcript };

export interface Presenter {
  /** Without transcripts. */
  present(user: User, found: Conversation[]): Promise<Json[]>;
  /** A whole conversation in memory. `not_found`. */
  presentOne(user: User, found: Conversation | null, withTranscript: boolean): Promise<Json>;
  /** A conversation whose transcript is read on demand. */
  streamOne(user: User, found: Conversation | null, withTranscript: boolean): Promise<StreamedJson>;
  /** @param maxSegments maximum of each transcript; null: without transcripts */
  stream(user: User, found: List<Conversation>, maxSegments: number | null): Promise<List<StreamedJson>>;
}

export function createPresenter(conversations: Conversations): Presenter {
  async function folderNamer(user: User, found: readonly Conversation[]) {
    const isFiled = found.some(({ folderId }) => folderId !== null);
    const names = isFiled ? await conversations.folderNames(user.id) : new Map<string, string>();
    return ({ folderId }: Conversation) => names.get(folderId ?? '') ?? null;
  }

  async function present(user: User, found: Conversation[]) {
    const nameOf = await folderNamer(user, found);
    return found.map(conversation => conversationJson(conversation, nameOf(conversation)));
  }

  async function streamOne(
    user: User,
    found: Conversation | null,
    withTranscript: boolean,
  ): Promise<StreamedJson> {
    const [json] = found ? await present(user, [found]) : [];
    if (!found || !json) throw new AppError('not_found', 'Conversation not found');
    if (!withTranscript) return json;
    const speakerName = await conversations.speakerNames(user);
    return { ...json, transcript_segments: transcriptOf(found, speakerName, Number.POSITIVE_INFINITY) };
  }

  async function presentOne(user: User, found: Conversation | null, withTranscript: boolean) {
    const { transcript_segments: transcript, ...json } = await streamOne(user, found, withTranscript);
    if (!transcript) return json;
    const transcript_segments: NonNullable<Json['transcript_segments']> = [];
    for await (const segment of transcript) transcript_segments.push(segment);
    return { ...json, transcript_segments };
  }

  async function stream(user: User, found: List<Conversation>, maxSegments: number | null) {
    const speakerName = maxSegments === null ? null : await conversations.speakerNames(user);
    return mapPages(found, async (page): Promise<StreamedJson[]> => {
      const nameOf = await folderNamer(user, page);
      return page.map(conversation => {
        const json: StreamedJson = conversationJson(conversation, nameOf(conversation));
        if (speakerName) json.transcript_segments = transcriptOf(conversation, speakerName, maxSegments ?? 0);
        return json;
      });
    });
  }

  function transcriptOf(
    { userId, id }: Conversation,
    speakerName: (segment: Segment) => string,
    maxSegments: number,
  ): Transcript {
    return conversations
      .transcript(userId, id, maxSegments)
      .map(segment => segmentJson(segment, speakerName(segment)));
  }

  return { present, presentOne, streamOne, stream };
}
