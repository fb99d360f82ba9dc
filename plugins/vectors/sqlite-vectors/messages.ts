/** The messages between the plugin and the index's thread. */

import type { VectorItem, VectorSpace } from '../../../core/contract/plugin.ts';
import type { ErrorCode } from '../../../core/runtime/errors.ts';

/** Requests that the thread answers. */
export interface Verbs {
  upsert(space: VectorSpace, items: readonly VectorItem[]): void;
  search(space: VectorSpace, userId: string, vector: Float32Array, limit: number): Hit[];
  remove(space: VectorSpace, userId: string, ids: readonly string[]): void;
  spaces(): { name: string; id: string }[];
  drop(name: string): void;
}

export interface Hit {
  id: string;
  score: number;
}

export type Verb = keyof Verbs;

/** Passed to the thread at its start. */
export interface ThreadSettings {
  file: string;
  /** Size of SQLite's page cache. */
  cacheBytes: number;
}

export type ToThread =
  /** Sent one at a time: the next one follows the answer. */
  | { type: 'ask'; verb: Verb; args: unknown[] }
  /** Closes the file and ends the thread. */
  | { type: 'close' };

export type FromThread =
  /** The first message. */
  | { type: 'ready' }
  /** Sent in place of `ready`, when another try would not help. */
  | { type: 'refused'; message: string }
  | { type: 'answer'; value: unknown }
  | { type: 'failed'; code: ErrorCode; message: string }
  /** The file became unreadable and was renamed; an empty one replaces it. */
  | { type: 'lost'; reason: string; movedTo: string };
