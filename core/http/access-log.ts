import type { AccessEntry } from '../contract/model.ts';
import type { Principal } from '../domain/accounts/credentials.ts';
import type { Accesses } from '../domain/privacy/accesses.ts';

/** Data that an operation answers, and the path parameter that names a single thing of it. */
interface Read {
  data:
    | 'conversations'
    | 'memories'
    | 'action_items'
    | 'goals'
    | 'photos'
    | 'chat'
    | 'messages'
    | 'everything';
  subject?: string;
}

const CONVERSATIONS: Read = { data: 'conversations' };
const MEMORIES: Read = { data: 'memories' };
const TASKS: Read = { data: 'action_items' };

/** Operations that answer content of an account, by their id. Their reads are logged. */
export const READS: Readonly<Record<string, Read>> = {
  listConversations: CONVERSATIONS,
  searchConversations: CONVERSATIONS,
  getConversation: { data: 'conversations', subject: 'conversation_id' },
  listDailySummaries: CONVERSATIONS,
  getDailySummary: CONVERSATIONS,
  getWeeklyReview: CONVERSATIONS,
  getStatistics: CONVERSATIONS,
  streamEvents: CONVERSATIONS,
  ask: CONVERSATIONS,
  askStreaming: CONVERSATIONS,
  sendMessage: CONVERSATIONS,
  sendVoiceMessage: CONVERSATIONS,
  listMessages: { data: 'chat' },
  listMemories: MEMORIES,
  searchMemories: MEMORIES,
  getMemory: { data: 'memories', subject: 'memory_id' },
  getMemoryHistory: { data: 'memories', subject: 'memory_id' },
  listActionItems: TASKS,
  getActionItem: { data: 'action_items', subject: 'action_item_id' },
  listGoals: { data: 'goals' },
  listGoalSuggestions: { data: 'goals' },
  getGoal: { data: 'goals', subject: 'goal_id' },
  getGoalHistory: { data: 'goals', subject: 'goal_id' },
  listPlaces: CONVERSATIONS,
  listMarks: { data: 'conversations', subject: 'conversation_id' },
  listPhotos: { data: 'photos', subject: 'conversation_id' },
  listKeptAudio: { data: 'conversations', subject: 'conversation_id' },
  getKeptAudio: CONVERSATIONS,
  getPhoto: { data: 'photos', subject: 'photo_id' },
  listNotifications: { data: 'messages' },
  getDelivery: { data: 'messages', subject: 'delivery_id' },
  exportAccount: { data: 'everything' },
  getExportFile: { data: 'everything' },
  listUserConversations: CONVERSATIONS,
  searchUserConversations: CONVERSATIONS,
  listUserMemories: MEMORIES,
  listUserTasks: TASKS,
};

/** Longest id that is noted. */
const MAX_ID_CHARS = 100;

/** Notes each read of content once it has been answered. */
export function createNoteRead({ record }: Pick<Accesses, 'record'>) {
  return (
    principal: Principal,
    operation: string,
    params: Record<string, unknown>,
    via: AccessEntry['via'],
  ): void => {
    const read = READS[operation];
    if (!read) return;
    const subject = read.subject === undefined ? undefined : params[read.subject];
    record({
      userId: principal.user.id,
      ...readerOf(principal),
      via,
      operation,
      data: read.data,
      subject: subject === undefined ? null : String(subject).slice(0, MAX_ID_CHARS),
    });
  };
}

function readerOf({ kind, keyId, app }: Principal): Pick<AccessEntry, 'reader' | 'readerId'> {
  if (kind === 'key') return { reader: 'key', readerId: keyId ?? null };
  if (kind === 'app') return { reader: 'app', readerId: app?.id ?? null };
  return { reader: 'session', readerId: null };
}
