import type { Readable } from 'node:stream';

/** A copy of a backup, elsewhere. */
export interface Copy {
  /** Name of the file, as `nameOf` makes it. */
  name: string;
  /** Epoch ms. */
  createdAt: number;
  /** Null: the place does not tell. */
  bytes: number | null;
}

/** Storage for copies of backups, other than a directory of this machine. */
export interface Place {
  /** For people, and to tell places apart: `s3://bucket/prefix`, or `command:rclone`. */
  name: string;
  /** Stores a file under its own name. It is there whole, and was checked, when this resolves. */
  store(file: string, signal: AbortSignal): Promise<void>;
  /** Newest first; null: it cannot be asked. */
  list: ((signal: AbortSignal) => Promise<Copy[]>) | null;
  /** Null: it cannot delete. */
  remove: ((name: string, signal: AbortSignal) => Promise<void>) | null;
  /** Reads one back; null: it cannot. */
  read: ((name: string, signal: AbortSignal) => Promise<Readable>) | null;
}
