import type { App, AppKey, Installation } from '../model.ts';

export interface AppStore {
  insert(app: App): Promise<void>;
  /** Finds an app of any user, as everyone on this server may install it. */
  get(id: string): Promise<App | null>;
  /** Lists the apps of this owner, or all: newest first, ties by id. */
  list(userId?: string): Promise<App[]>;
  /** Resolves to whether this user owns such an app. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<App, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Removes it with its keys, webhooks and installations. Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  insertKey(key: AppKey): Promise<void>;
  keyByHash(hash: string): Promise<AppKey | null>;
  /** Newest first. */
  keys(userId: string, appId: string): Promise<AppKey[]>;
  /** Resolves to whether it existed. */
  removeKey(userId: string, appId: string, id: string): Promise<boolean>;
}

export interface InstallationStore {
  /** Inserts or replaces. Rejects with `not_found` if the app does not exist. */
  put(installation: Installation): Promise<void>;
  get(userId: string, appId: string): Promise<Installation | null>;
  /** Newest first. */
  list(userId: string): Promise<Installation[]>;
  /** Resolves to whether it was installed. */
  remove(userId: string, appId: string): Promise<boolean>;
}
