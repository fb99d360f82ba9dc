/** What a list costs core part by part: how long each takes when it runs alone, in this process. */
import { createConversations } from '../../../core/domain/conversations.ts';
import { createCredentials } from '../../../core/domain/credentials.ts';
import { createIdentities } from '../../../core/domain/identities.ts';
import { createKeys } from '../../../core/domain/keys.ts';
import { createUsers } from '../../../core/domain/users.ts';
import { createEvents } from '../../../core/events.ts';
import { conversationJson } from '../../../core/http/conversation-json.ts';
import { conversationRoutes } from '../../../core/http/routes/conversations.ts';
import type { Storage } from '../../../core/plugin.ts';
import { storageContext } from '../../helpers/storage.ts';
import { percentile } from '../benchmark.ts';

export interface PartsPlan {
  storage: Storage;
  userId: string;
  key: string;
  /** Of the list. */
  limit: number;
  times: number;
}

/** Milliseconds of one request, by part. */
export async function partsOf({
  storage,
  userId,
  key,
  limit,
  times,
}: PartsPlan): Promise<Record<string, number>> {
  const { clock } = storageContext();
  const identities = createIdentities(() => ({ working: [], missing: [] })); // an API key needs none
  const users = createUsers({ storage, clock, identities });
  const credentials = createCredentials({ storage, users, keys: createKeys({ storage, clock }), identities });
  const conversations = createConversations({ storage, clock, events: createEvents(), jobs: { poke() {} } });
  const list = conversationRoutes(conversations).find(({ id }) => id === 'listConversations');
  const principal = await credentials.authenticate(`Bearer ${key}`);
  const request = { principal, params: {}, query: { limit: String(limit) }, body: undefined };
  const filter = { statuses: ['completed' as const], discarded: false, locked: false, limit, offset: 0 };
  const found = await conversations.list(userId, filter);
  const json = found.map(conversation => conversationJson(conversation, 'Work'));

  const time = (work: () => unknown) => medianMs(work, times);
  const authentication = await time(() => credentials.authenticate(`Bearer ${key}`));
  const rows = await time(() => conversations.list(userId, filter));
  const folders = await time(() => conversations.folderNames(userId));
  const mapping = await time(() => found.map(conversation => conversationJson(conversation, 'Work')));
  const whole = await time(() => list?.run(request));
  return {
    authentication,
    validation: Math.max(0, whole - rows - folders - mapping),
    'query of the rows': rows,
    'query of the folders': folders,
    JSON: mapping + (await time(() => JSON.stringify(json))),
  };
}

/** Of so many, once it is compiled. */
export async function medianMs(work: () => unknown, times: number): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times * 2; i++) {
    const startedAt = performance.now();
    await work();
    if (i >= times) took.push(performance.now() - startedAt);
  }
  return percentile(took, 50);
}
