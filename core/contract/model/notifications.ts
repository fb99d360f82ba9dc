/** Notification of a user. It stays in the inbox, whatever channels it was sent to. */
export interface Notification {
  id: string;
  userId: string;
  /** App that sent it; null: the server itself. */
  appId: string | null;
  /**
   * Event that caused it: `action_item_update`, `action_item_reminder`, `app_message`, `proactive`, `hook_off`,
   * `day_summary`.
   */
  event: string;
  /** Reason and rule for sending it, for people. */
  rule: string;
  title: string;
  text: string;
  /** Ids and instants for programs. */
  data: Record<string, unknown>;
  createdAt: number;
  readAt: number | null;
  /** Reason why it was sent to no channel; null: it was, or will be at `heldUntil`. */
  silence: 'muted' | 'budget' | 'no_channel' | null;
  /** Quiet hours, or the digest, keep it back until then. */
  heldUntil: number | null;
}

/** Address of a user for notifications. */
export interface ChannelAddress {
  id: string;
  userId: string;
  /** The plugin's name. */
  channel: string;
  /** The user's name for it. */
  label: string;
  /** Fields of the channel's schema; may contain secrets. */
  address: Record<string, unknown>;
  enabled: boolean;
  offReason: string | null;
  failingSince: number | null;
  createdAt: number;
}

/** A user's choice of notifications and when they arrive. */
export interface NotificationSettings {
  userId: string;
  /** IANA name. */
  timeZone: string;
  /** Minutes after local midnight, from inclusive to exclusive, may go past midnight; null: never quiet. */
  quietHours: { from: number; to: number } | null;
  /** Time of the daily digest, in minutes after local midnight; null: no digest. */
  digestAt: number | null;
  /** Muted app ids and events: their notifications stay in the inbox and are not sent. */
  muted: string[];
  /** Notifications of one app in an hour, by app id; absent: the operator's default. */
  budgets: Record<string, number>;
  /** Time of the day summary, in minutes after local midnight; null: never. */
  daySummaryAt: number | null;
}
