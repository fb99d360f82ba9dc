/** The messages between the plugin and the index's thread. */

import type { VectorItem, VectorSpace } from '../../../core/contract/plugin.ts';
import type { ErrorCode } from '../../../core/runtime/errors.ts';

/** The questions that the thread answers. */
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

/** Handed to the thread when it starts. */
export interface ThreadSettings {
  file: string;
  /** For the pages of the file that were read last. */
  cacheBytes: number;
}

export type ToThread =
  /** One at a time: the next one comes when this was answered. */
  | { type: 'ask'; verb: Verb; args: unknown[] }
  /** Closes the file and ends the thread. */
  | { type: 'close' };

export type FromThread =
  /** First. */
  | { type: 'ready' }
  /** In its stead: trying again would not help. */
  | { type: 'refused'; message: string }
  | { type: 'answer'; value: unknown }
  | { type: 'failed'; code: ErrorCode; message: string }
  /** The file could not be read any more and was renamed. An empty one has taken its place. */
  | { type: 'lost'; reason: string; movedTo: string };
