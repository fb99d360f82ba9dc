import type { ChannelAddress, Notification, NotificationSettings } from '../model.ts';

export interface NotificationFilter {
  unread?: boolean | undefined;
  appId?: string | undefined;
  beforeId?: string | undefined;
  limit: number;
}

export interface NotificationStore {
  insert(notification: Notification): Promise<void>;
  get(userId: string, id: string): Promise<Notification | null>;
  /** Newest first (by id, which grows with time). */
  list(userId: string, filter: NotificationFilter): Promise<Notification[]>;
  countUnread(userId: string): Promise<number>;
  /** Marks unread notifications as read, by id or all. Resolves to their number. */
  markRead(userId: string, ids: readonly string[] | 'all', at: number): Promise<number>;
  /** Lists notifications that are held back until then or earlier, oldest first. */
  held(userId: string, until: number, limit: number): Promise<Notification[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Notification, 'silence' | 'heldUntil'>>,
  ): Promise<boolean>;
  settings(userId: string): Promise<NotificationSettings | null>;
  putSettings(settings: NotificationSettings): Promise<void>;
  /** Deletes at most `limit` notifications that were created before. Resolves to their number. */
  prune(before: number, limit: number): Promise<number>;
}

export interface ChannelAddressStore {
  insert(address: ChannelAddress): Promise<void>;
  get(userId: string, id: string): Promise<ChannelAddress | null>;
  /** Finds an address of any user, for deliveries. */
  target(id: string): Promise<ChannelAddress | null>;
  /** Lists enabled addresses of this channel, of all users, oldest first. */
  targets(channel: string, limit: number): Promise<ChannelAddress[]>;
  /** By `createdAt`, ties by id. */
  list(userId: string): Promise<ChannelAddress[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<ChannelAddress, 'label' | 'address' | 'enabled' | 'offReason' | 'failingSince'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}
