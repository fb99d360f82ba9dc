/** Conversations as they are shown: with the name of their folder and, asked for, their transcript. */
import type { z } from 'zod';
import type { Conversations } from '../domain/conversations.ts';
import { AppError } from '../errors.ts';
import type { Conversation, Segment, User } from '../model.ts';
import { type ConversationJson, conversationJson } from './conversation-json.ts';

type Json = z.input<typeof ConversationJson>;

export interface Presenter {
  present(user: User, found: Conversation[], withTranscript: boolean): Promise<Json[]>;
  /** `not_found` where there is none. */
  presentOne(user: User, found: Conversation | null, withTranscript: boolean): Promise<Json>;
}

export function createPresenter(conversations: Conversations): Presenter {
  /** Of several conversations at once: their segments, and what to call the speakers. */
  async function transcriptsOf(user: User, ids: string[]) {
    const [segments, speakerName] = await Promise.all([
      conversations.segments(user.id, ids),
      conversations.speakerNames(user),
    ]);
    const byConversation = Map.groupBy(segments, segment => segment.conversationId);
    return (id: string) => ({ segments: byConversation.get(id) ?? ([] as Segment[]), speakerName });
  }

  async function present(user: User, found: Conversation[], withTranscript: boolean) {
    const filed = found.some(({ folderId }) => folderId !== null);
    const names = filed ? await conversations.folderNames(user.id) : new Map<string, string>();
    const nameOf = ({ folderId }: Conversation) => names.get(folderId ?? '') ?? null;
    if (!withTranscript)
      return found.map(conversation => conversationJson(conversation, nameOf(conversation)));
    const transcriptOf = await transcriptsOf(
      user,
      found.map(conversation => conversation.id),
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
