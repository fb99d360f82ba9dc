import type {
  AccountSession,
  ActionItem,
  ApiKey,
  Clip,
  Conversation,
  Folder,
  Goal,
  GoalSuggestion,
  Job,
  Mark,
  Memory,
  Person,
  Photo,
  Place,
  Segment,
  Stream,
  SummaryTemplate,
  User,
  Voice,
  VoiceSample,
} from '../../../../core/contract/model.ts';
import type { JobStore } from '../../../../core/contract/plugin.ts';

/** Rows for the checks. Their ids are readable words, since a storage accepts any text. */
export const NOON = Date.UTC(2026, 10, 2, 12);

export function user(id: string): User {
  return {
    id,
    name: `Name of ${id}`,
    nameKey: `name of ${id}`,
    issuer: 'earshot',
    subject: id,
    createdAt: NOON,
    memoryAccess: true,
    signedOutAt: null,
    role: 'owner',
    disabledAt: null,
  };
}

export function apiKey(id: string, userId: string, changes: Partial<ApiKey> = {}): ApiKey {
  const scopes: ApiKey['scopes'] = ['listen', 'memories:read'];
  return {
    id,
    userId,
    name: id,
    hash: `hash of ${id}`,
    hint: 'omi_dev_abcd...wxyz',
    scopes,
    createdAt: NOON,
    lastUsedAt: null,
    ...changes,
  };
}

export function session(id: string, userId: string, changes: Partial<AccountSession> = {}): AccountSession {
  return {
    id,
    userId,
    kind: 'browser',
    userAgent: 'Mozilla/5.0',
    createdAt: NOON,
    lastUsedAt: NOON,
    expiresAt: 8_000_000_000_000,
    ...changes,
  };
}

export function conversation(id: string, userId: string, changes: Partial<Conversation> = {}): Conversation {
  return {
    id,
    userId,
    status: 'in_progress',
    createdAt: NOON,
    startedAt: null,
    finishedAt: null,
    structured: { title: '', overview: '', category: 'other', emoji: '', actionItems: [], events: [] },
    language: null,
    source: 'omi',
    deviceId: null,
    folderId: null,
    geolocation: null,
    discarded: false,
    starred: false,
    locked: false,
    timeoutMs: 120_000,
    lastActivityAt: NOON,
    ...changes,
  };
}

export function segment(id: string, owner: Conversation, changes: Partial<Segment> = {}): Segment {
  return {
    id,
    userId: owner.userId,
    conversationId: owner.id,
    text: `text of ${id}`,
    start: 0,
    end: 1,
    speaker: 'SPEAKER_00',
    speakerId: 0,
    isUser: false,
    personId: null,
    sttProvider: null,
    language: null,
    translations: null,
    profileCompared: false,
    ...changes,
  };
}

export function voice(owner: Conversation, speakerId: number, changes: Partial<Voice> = {}): Voice {
  return {
    ...{ userId: owner.userId, conversationId: owner.id, speakerId, space: 'model-1' },
    ...{ vector: Float32Array.of(0.6, -0.8), seconds: 2.5, isUser: false, personId: null },
    ...{ isChosen: false, updatedAt: NOON },
    ...changes,
  };
}

export function voiceSample(id: string, userId: string, changes: Partial<VoiceSample> = {}): VoiceSample {
  return {
    ...{ id, userId, personId: null, space: 'model-1', vector: Float32Array.of(1, 0), seconds: 2.25 },
    ...{ conversationId: null, speakerId: null, createdAt: NOON },
    ...changes,
  };
}

export function photo(id: string, owner: Conversation, changes: Partial<Photo> = {}): Photo {
  return {
    id,
    userId: owner.userId,
    conversationId: owner.id,
    takenAt: NOON,
    createdAt: NOON,
    width: 640,
    height: 480,
    bytes: 1000,
    description: null,
    discarded: false,
    ...changes,
  };
}

export function clip(id: string, owner: Conversation, changes: Partial<Clip> = {}): Clip {
  return {
    id,
    userId: owner.userId,
    conversationId: owner.id,
    startedAt: NOON,
    durationMs: 2500,
    bytes: 7000,
    createdAt: NOON,
    ...changes,
  };
}

export function mark(id: string, owner: Conversation, changes: Partial<Mark> = {}): Mark {
  return { id, userId: owner.userId, conversationId: owner.id, at: NOON, createdAt: NOON, ...changes };
}

export function stream(id: string, owner: Conversation, changes: Partial<Stream> = {}): Stream {
  return {
    id,
    userId: owner.userId,
    clientStream: null,
    setup: null,
    channel: 0,
    conversationId: owner.id,
    source: owner.source,
    deviceId: owner.deviceId,
    codec: 'opus',
    anchorAt: null,
    through: 0,
    received: 0,
    receivedSample: 0,
    ...changes,
  };
}

export function folder(id: string, userId: string, changes: Partial<Folder> = {}): Folder {
  return {
    id,
    userId,
    name: `name of ${id}`,
    description: null,
    color: '#3B82F6',
    icon: '💼',
    order: 0,
    isDefault: false,
    isSystem: false,
    createdAt: NOON,
    updatedAt: NOON,
    ...changes,
  };
}

export function place(id: string, userId: string, changes: Partial<Place> = {}): Place {
  const middle = { latitude: 52.52, longitude: 13.405 };
  return { id, userId, name: `name of ${id}`, ...middle, createdAt: NOON, ...changes };
}

export function actionItem(id: string, userId: string, changes: Partial<ActionItem> = {}): ActionItem {
  return {
    id,
    userId,
    description: `description of ${id}`,
    completed: false,
    createdAt: NOON,
    updatedAt: NOON,
    dueAt: null,
    completedAt: null,
    conversationId: null,
    segmentId: null,
    locked: false,
    ...changes,
  };
}

export function memory(id: string, userId: string, changes: Partial<Memory> = {}): Memory {
  return {
    id,
    userId,
    content: `content of ${id}`,
    category: 'other',
    visibility: 'private',
    tags: [],
    createdAt: NOON,
    updatedAt: NOON,
    manuallyAdded: true,
    scoring: '01_997_1793620800',
    reviewed: true,
    userReview: true,
    edited: false,
    locked: false,
    topic: null,
    asOf: NOON,
    sources: [],
    history: [],
    ...changes,
  };
}

export function goal(id: string, userId: string, changes: Partial<Goal> = {}): Goal {
  return {
    id,
    userId,
    title: `title of ${id}`,
    desiredOutcome: null,
    whyItMatters: null,
    successCriteria: [],
    horizonAt: null,
    goalType: 'numeric',
    startValue: 0,
    currentValue: 0,
    targetValue: null,
    minValue: null,
    maxValue: null,
    unit: null,
    paused: false,
    reached: false,
    createdAt: NOON,
    updatedAt: NOON,
    ...changes,
  };
}

export function goalSuggestion(
  id: string,
  { userId, id: goalId }: Goal,
  owner: Conversation,
  changes: Partial<GoalSuggestion> = {},
): GoalSuggestion {
  return {
    ...{ id, userId, goalId, conversationId: owner.id, segmentIds: ['s1'], text: 'I ran five kilometres.' },
    ...{ value: 5, adds: true, state: 'open', createdAt: NOON },
    ...changes,
  };
}

export function summaryTemplate(
  id: string,
  userId: string,
  changes: Partial<SummaryTemplate> = {},
): SummaryTemplate {
  return {
    ...{ id, userId, name: `name of ${id}`, instructions: 'Short.', categories: [] },
    ...{ createdAt: NOON, updatedAt: NOON },
    ...changes,
  };
}

export function person(id: string, userId: string, changes: Partial<Person> = {}): Person {
  return { id, userId, name: `name of ${id}`, createdAt: NOON, ...changes };
}

export function job(key: string, runAt: number, payload: Record<string, unknown> = {}) {
  return { kind: 'finish', key, runAt, payload };
}

/** Claims the one job that is due at `now`. */
export async function claimOne(jobs: JobStore, now: number, leaseMs = 1000): Promise<Job> {
  const [claimed, ...others] = await jobs.claim(['finish'], now, leaseMs, 10);
  if (!claimed || others.length > 0)
    throw new Error(`${others.length + (claimed ? 1 : 0)} jobs were due, not one`);
  return claimed;
}

export const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);
export const keysOf = (jobs: Job[]): string[] => jobs.map(({ key }) => key);
