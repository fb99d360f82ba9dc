import type { Device } from '../model.ts';

export interface DeviceStore {
  /** Inserts, or replaces by id. */
  put(device: Device): Promise<void>;
  get(userId: string, id: string): Promise<Device | null>;
  /** Oldest first, ties by id. */
  list(userId: string): Promise<Device[]>;
  /** Lists at most `limit` devices of all users that appear connected and were not reported since `before`. */
  silent(before: number, limit: number): Promise<Device[]>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}
