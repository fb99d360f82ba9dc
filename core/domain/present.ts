/** Conversations as they are shown: with the name of their folder and, asked for, their transcript. */
import type { z } from 'zod';
import { AppError } from '../errors.ts';
import type { Conversation, Segment, User } from '../model.ts';
import { type ConversationJson, conversationJson } from './conversation-json.ts';
import type { Conversations } from './conversations.ts';

type Json = z.input<typeof ConversationJson>;

export interface Presenter {
  /** @param maxSegments of each transcript; absent: all */
  present(user: User, found: Conversation[], withTranscript: boolean, maxSegments?: number): Promise<Json[]>;
  /** `not_found` where there is none. */
  presentOne(user: User, found: Conversation | null, withTranscript: boolean): Promise<Json>;
}

export function createPresenter(conversations: Conversations): Presenter {
  /** Of several conversations at once: their segments, and what to call the speakers. */
  async function transcriptsOf(user: User, ids: string[], maxSegments: number) {
    const [segments, speakerName] = await Promise.all([
      conversations.segments(user.id, ids),
      conversations.speakerNames(user),
    ]);
    const byConversation = Map.groupBy(segments, segment => segment.conversationId);
    return (id: string) => {
      const own: Segment[] = byConversation.get(id) ?? [];
      return { segments: own.slice(0, maxSegments), speakerName };
    };
  }

  async function present(
    user: User,
    found: Conversation[],
    withTranscript: boolean,
    maxSegments = Number.POSITIVE_INFINITY,
  ) {
    const filed = found.some(({ folderId }) => folderId !== null);
    const names = filed ? await conversations.folderNames(user.id) : new Map<string, string>();
    const nameOf = ({ folderId }: Conversation) => names.get(folderId ?? '') ?? null;
    if (!withTranscript)
      return found.map(conversation => conversationJson(conversation, nameOf(conversation)));
    const transcriptOf = await transcriptsOf(
      user,
      found.map(conversation => conversation.id),
      maxSegments,
    );
    return found.map(conversation =>
      conversationJson(conversation, nameOf(conversation), transcriptOf(conversation.id)),
    );
  }

  async function presentOne(user: User, found: Conversation | null, withTranscript: boolean) {
    const [json] = found ? await present(user, [found], withTranscript) : [];
    if (!json) throw new AppError('not_found', 'Conversation not found');
    return json;
  }

  return { present, presentOne };
}
