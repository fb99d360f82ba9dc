import type { Conversation } from '../contract/model.ts';
import type { Embedder, LanguageModel, UnderstandingContext } from '../contract/plugin.ts';
import type { People } from '../domain/accounts/people.ts';
import type { Users } from '../domain/accounts/users.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import type { SummaryTemplates } from '../domain/conversations/summary-templates.ts';
import { MULTI } from '../domain/languages.ts';
import type { Notifications } from '../domain/notifications/notifications.ts';
import type { Search } from '../domain/search/search.ts';
import type { ActionItems } from '../domain/tasks/action-items.ts';
import type { Goals } from '../domain/tasks/goals.ts';
import { instantOf, wallTime } from '../domain/wall-clock.ts';
import { describedFolders } from './filing.ts';

/** Maximum number of open tasks that a plugin receives: those due first, then the newest. */
const MAX_OPEN_TASKS = 200;
const MAX_MEMORIES = 20;
/** Maximum number of active goals, the newest, whose progress is looked for. */
export const MAX_GOALS = 100;

export interface ContextDeps {
  users: Pick<Users, 'get'>;
  people: Pick<People, 'list'>;
  notifications: Pick<Notifications, 'settings'>;
  actionItems: Pick<ActionItems, 'list'>;
  goals: Pick<Goals, 'list'>;
  conversations: Pick<Conversations, 'folders'>;
  search: Pick<Search, 'search'>;
  summaryTemplates: Pick<SummaryTemplates, 'wishesFor'>;
  /** Lists the models that are available now, the preferred one first. */
  models(): LanguageModel[];
  /** Throws where none is available. */
  embedder(): Embedder;
}

/** Gathers the owner's data that helps to understand a conversation. */
export async function contextOf(
  conversation: Conversation,
  {
    users,
    people,
    notifications,
    actionItems,
    goals,
    conversations,
    search,
    summaryTemplates,
    models,
    embedder,
  }: ContextDeps,
): Promise<UnderstandingContext> {
  const { userId, language } = conversation;
  const [owner, known, { timeZone }, open, active, folders, wishes] = await Promise.all([
    users.get(userId),
    people.list(userId),
    notifications.settings(userId),
    actionItems.list(userId, { completed: false, limit: MAX_OPEN_TASKS, offset: 0 }),
    goals.list(userId, { active: true, limit: MAX_GOALS, offset: 0 }),
    conversations.folders(userId),
    summaryTemplates.wishesFor(conversation),
  ]);
  return {
    owner: owner.name,
    people: known.map(({ name }) => name),
    timeZone,
    languages: language === null || language === MULTI ? [] : [language.toLowerCase()],
    ...wishes,
    models: models(),
    embedder: orNull(embedder),
    openTasks: open
      .filter(({ conversationId }) => conversationId !== conversation.id) // to be heard again, or be taken back
      .map(({ description, dueAt }) => ({ description, dueAt })),
    goals: active.map(({ id, title, goalType, unit, currentValue, targetValue }) => ({
      id,
      title,
      goalType,
      unit,
      currentValue,
      targetValue,
    })),
    folders: describedFolders(folders).map(({ name, description }) => ({ name, description })),
    memoriesNear: async text =>
      (await search.search(userId, text, MAX_MEMORIES)).map(({ memory }) => memory.content),
    wallTime: at => wallTime(at, timeZone),
    instantOf: time => instantOf(time, timeZone),
  };
}

function orNull<T>(get: () => T): T | null {
  try {
    return get();
  } catch {
    return null; // the host has logged why
  }
}
