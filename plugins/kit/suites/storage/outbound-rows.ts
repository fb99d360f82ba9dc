import type {
  App,
  AppKey,
  ChannelAddress,
  Delivery,
  DeliveryAttempt,
  Hook,
  Installation,
  Notification,
  NotificationSettings,
} from '../../../../core/contract/model.ts';

/** Rows of outgoing messages, for the checks. */
const NOON = Date.UTC(2026, 10, 2, 12);

export function app(id: string, userId: string, changes: Partial<App> = {}): App {
  return {
    id,
    userId,
    name: `name of ${id}`,
    description: '',
    capabilities: ['external_integration'],
    triggersOn: ['memory_created'],
    webhookUrl: null,
    setupCompletedUrl: null,
    actions: [],
    notificationScopes: [],
    createdAt: NOON,
    updatedAt: NOON,
    ...changes,
  };
}

export function appKey(id: string, { id: appId, userId }: App, changes: Partial<AppKey> = {}): AppKey {
  return { id, appId, userId, hash: `hash of ${id}`, hint: 'sk_abcd...wxyz', createdAt: NOON, ...changes };
}

export function installation(
  userId: string,
  appId: string,
  changes: Partial<Installation> = {},
): Installation {
  return { userId, appId, scopes: ['user_name'], actions: [], installedAt: NOON, ...changes };
}

export function hook(id: string, userId: string, changes: Partial<Hook> = {}): Hook {
  return {
    id,
    userId,
    appId: null,
    label: '',
    type: 'memory_created',
    url: `https://example.com/${id}`,
    seconds: null,
    enabled: true,
    offReason: null,
    failingSince: null,
    secret: 'whsec_c2VjcmV0',
    oldSecret: null,
    oldSecretUntil: null,
    createdAt: NOON,
    updatedAt: NOON,
    ...changes,
  };
}

/** A pending delivery, due at once. */
export function delivery(id: string, userId: string, changes: Partial<Delivery> = {}): Delivery {
  return {
    id,
    userId,
    targetKind: 'hook',
    targetId: 'h1',
    appId: null,
    type: 'memory_created',
    subject: 'c1',
    state: 'pending',
    query: `uid=${userId}`,
    contentType: 'application/json',
    body: '{}',
    attempts: 0,
    nextAt: NOON,
    createdAt: NOON,
    endedAt: null,
    replayOf: null,
    ...changes,
  };
}

export function attempt(
  { id: deliveryId, userId }: Pick<Delivery, 'id' | 'userId'>,
  number: number,
  changes: Partial<DeliveryAttempt> = {},
): DeliveryAttempt {
  return {
    deliveryId,
    userId,
    number,
    at: NOON + number,
    tookMs: 7,
    status: 200,
    error: null,
    answer: 'ok',
    ...changes,
  };
}

export function notification(id: string, userId: string, changes: Partial<Notification> = {}): Notification {
  return {
    id,
    userId,
    appId: null,
    event: 'action_item_reminder',
    rule: 'The task is due',
    title: 'Reminder',
    text: `text of ${id}`,
    data: {},
    createdAt: NOON,
    readAt: null,
    silence: null,
    heldUntil: null,
    ...changes,
  };
}

export function notificationSettings(
  userId: string,
  changes: Partial<NotificationSettings> = {},
): NotificationSettings {
  return {
    userId,
    timeZone: 'Europe/Berlin',
    quietHours: null,
    digestAt: null,
    muted: [],
    budgets: {},
    daySummaryAt: null,
    ...changes,
  };
}

export function channelAddress(
  id: string,
  userId: string,
  changes: Partial<ChannelAddress> = {},
): ChannelAddress {
  return {
    id,
    userId,
    channel: 'log',
    label: `label of ${id}`,
    address: {},
    enabled: true,
    offReason: null,
    failingSince: null,
    createdAt: NOON,
    ...changes,
  };
}
