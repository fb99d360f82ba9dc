/** Data about its users that an app requests for the prompts of its proactive notifications. */
export type UserScope = 'user_name' | 'user_facts' | 'user_context' | 'user_chat';

/** Action that an app may take on the data of a user who installed it. */
export type AppAction =
  | 'create_conversation'
  | 'create_facts'
  | 'read_conversations'
  | 'read_memories'
  | 'read_tasks';

export type AppCapability = 'external_integration' | 'proactive_notification';

/** Program of a user: it receives events of the users who installed it, and may send them notifications. */
export interface App {
  id: string;
  /** Owner of the app. Everyone on this server may install it. */
  userId: string;
  name: string;
  description: string;
  capabilities: AppCapability[];
  /** Types of webhooks, by their wire names. */
  triggersOn: string[];
  webhookUrl: string | null;
  /** Requested with `?uid=` before an installation: must respond `{is_setup_completed: true}`. */
  setupCompletedUrl: string | null;
  actions: AppAction[];
  notificationScopes: UserScope[];
  createdAt: number;
  updatedAt: number;
}

/** A secret of an app: `sk_` + 32 hex. */
export interface AppKey {
  id: string;
  appId: string;
  /** Owner of the app. */
  userId: string;
  /** SHA-256 of the raw secret, hex. */
  hash: string;
  /** `sk_` + first 4 + `...` + last 4, for lists. */
  hint: string;
  createdAt: number;
}

/** Installation of an app by a user, with the permissions granted. */
export interface Installation {
  userId: string;
  appId: string;
  scopes: UserScope[];
  actions: AppAction[];
  installedAt: number;
}
