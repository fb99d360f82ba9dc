/** Folders of the data directory that several services use. */
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';

/** Audio that waits for its text. */
export function spoolOf({ dataDir }: Config): string {
  return join(dataDir, 'audio');
}

/** Audio of utterances for which every recogniser failed. */
export function quarantineOf({ dataDir }: Config): string {
  return join(dataDir, 'untranscribed');
}

/** Requests and images that are being received. */
export function uploadsOf({ dataDir }: Config): string {
  return join(dataDir, 'uploads');
}

/** Audio that waits for the second pass. */
export function finalPassOf({ dataDir }: Config): string {
  return join(dataDir, 'final-pass');
}
