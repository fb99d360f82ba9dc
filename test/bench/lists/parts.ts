/** Measures the parts of a request in core: the time of each in isolation, in this process. */

import type { Storage } from '../../../core/contract/plugin.ts';
import { createCredentials } from '../../../core/domain/accounts/credentials.ts';
import { createIdentities } from '../../../core/domain/accounts/identities.ts';
import { createKeys } from '../../../core/domain/accounts/keys.ts';
import { createSessions } from '../../../core/domain/accounts/sessions.ts';
import { createUsers } from '../../../core/domain/accounts/users.ts';
import { createConversations } from '../../../core/domain/conversations/conversations.ts';
import { createActionItems } from '../../../core/domain/tasks/action-items.ts';
import { createRateLimits } from '../../../core/http/rate-limit.ts';
import { actionItemRoutes } from '../../../core/http/routes/action-items.ts';
import { conversationRoutes } from '../../../core/http/routes/conversations.ts';
import { createEvents } from '../../../core/runtime/events.ts';
import { storageContext } from '../../helpers/storage.ts';
import { percentile } from '../benchmark.ts';

/** Requests that are measured in parts: a list, a single row, and a created one. */
export const PARTED = ['listConversations', 'getConversation', 'createActionItem'] as const;
export const PAGE = { limit: 25, offset: 0 };
const SHOWN = { statuses: ['completed' as const], discarded: false, locked: false, ...PAGE };
export const DRAFT = { description: 'Send the photos to Eve' };

export interface PartsPlan {
  storage: Storage;
  userId: string;
  key: string;
  /** Id of an existing conversation. */
  id: string;
  /** Requests a minute. */
  limits: Parameters<typeof createRateLimits>[0]['limits'];
  times: number;
}

/** Milliseconds per part of a request, for each request measured in parts. */
export async function partsOf(plan: PartsPlan): Promise<Record<string, number>[]> {
  const { storage, userId, key, id, limits, times } = plan;
  const { clock } = storageContext();
  const identities = createIdentities(() => ({ working: [], missing: [] })); // an API key needs none
  const events = createEvents();
  const users = createUsers({
    storage,
    clock,
    identities,
    sessions: createSessions({ storage, clock, events }),
    events,
  });
  const credentials = createCredentials({
    users,
    keys: createKeys({ storage, clock, events }),
    apps: { verify: async () => null },
    identities,
  });
  const conversations = createConversations({ storage, clock, events });
  const actionItems = createActionItems({ storage, clock, events });
  const routes = [...conversationRoutes(conversations), ...actionItemRoutes(actionItems)];
  const rateLimits = createRateLimits({ storage, clock, limits });
  const principal = await credentials.authenticate(`Bearer ${key}`);
  const asked = [
    { params: {}, query: { limit: String(PAGE.limit) } },
    { params: { conversation_id: id }, query: {} },
    { params: {}, query: {}, body: DRAFT },
  ];
  const folders = () => conversations.folderNames(userId);
  const stored = [
    async () => [await conversations.list(userId, SHOWN), await folders()],
    async () => [await conversations.get(userId, id), await folders()],
    () => actionItems.create(userId, [{ completed: false, dueAt: null, ...DRAFT }]),
  ];

  const time = (work: () => unknown) => medianMs(work, times);
  const authentication = await time(() => credentials.authenticate(`Bearer ${key}`));
  const limiting = await time(() => rateLimits.take({ userId, subject: key }, 'read'));
  const taken: Record<string, number>[] = [];
  for (const [at, name] of PARTED.entries()) {
    const route = routes.find(each => each.id === name);
    const request = { principal, params: {}, query: {}, body: undefined, ...asked[at] };
    const answer = await route?.run(request);
    const storing = await time(() => stored[at]?.());
    const whole = await time(() => route?.run(request));
    taken.push({
      authentication,
      'rate limit': limiting,
      storage: storing,
      'validation, mapping': Math.max(0, whole - storing),
      JSON: await time(() => JSON.stringify(answer)),
    });
  }
  return taken;
}

/** Measures the median of this many runs, after compilation. */
export async function medianMs(work: () => unknown, times: number): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times * 2; i++) {
    const startedAt = performance.now();
    await work();
    if (i >= times) took.push(performance.now() - startedAt);
  }
  return percentile(took, 50);
}
