import type { Clock, Recording } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { knownSource } from '../conversations/sources.ts';
import { derivedId, isId, newId } from '../ids.ts';
import { languageOf, MULTI } from '../languages.ts';
import { timeInName } from './recorded-at.ts';

/** Durable job that turns a recording into conversations; its key is the recording. */
export const RECORDING_JOB = 'recording.transcribe';

/** Maximum bytes of one file: ten hours of stereo in studio quality. */
export const MAX_RECORDING_BYTES = 8 * 1024 ** 3;
/** Maximum bytes of all waiting files of one user. */
const MAX_WAITING_BYTES = 64 * 1024 ** 3;
const MAX_WAITING = 10_000;
/** Pause that begins another conversation, in ms, as for a live connection. */
const SILENCE_MS = { least: 2000, usual: 120_000, most: 14_400_000 };
const MAX_NAME_CHARS = 200;
/** Time for which finished recordings stay listed. */
const KEPT_MS = 30 * 24 * 3_600_000;

export interface NewRecording {
  /** A file on this machine. */
  path: string;
  /** True: the file is moved; absent: it is copied. */
  isTemporary?: boolean;
  /** Name shown to people; its extension gives the codec of a file without a header. */
  name: string;
  /** Time of the first sample (epoch ms); null or absent: by its name, else by its end. */
  startedAt?: number | null | undefined;
  /** Time of the last sample (epoch ms), such as the time of the file; null or absent: the time of arrival. */
  endedAt?: number | null | undefined;
  /** ISO 639-1, or `multi`, the default. */
  language?: string | undefined;
  source?: string | undefined;
  /** A pause of this length begins another conversation. */
  silenceMs?: number | undefined;
  /** The caller's id: the same id is stored once. */
  sessionId?: string | null | undefined;
}

/** Storage of recordings until they are transcribed. */
export interface RecordingFiles {
  /** Stores a file so that it survives a power loss. `not_found`, `storage_full`. */
  take(userId: string, id: string, from: { path: string; isTemporary: boolean }): Promise<void>;
  /** `not_found` where it cannot be read. */
  size(path: string): Promise<number>;
  pathOf(userId: string, id: string): string;
  remove(userId: string, id: string): Promise<void>;
}

export type Recordings = ReturnType<typeof createRecordings>;

/** Audio files that become conversations. */
export function createRecordings({
  storage,
  clock,
  sources,
  files,
}: {
  storage: Storage;
  clock: Clock;
  /** Where conversations can come from. */
  sources: ReadonlySet<string>;
  files: RecordingFiles;
}) {
  /**
   * Takes a file; it becomes conversations by and by, at the times at which they were spoken, also after a crash.
   * `not_found`, `too_large`, `invalid_request`, `conflict` where too many of the user wait, `storage_full`.
   */
  async function add(userId: string, given: NewRecording): Promise<Recording> {
    const now = clock.now();
    const { path, isTemporary = false, sessionId = null } = given;
    const id = sessionId === null ? newId(now) : derivedId(`${userId}\0recording\0${sessionId}`);
    const known = sessionId === null ? null : await storage.recordings.get(userId, id);
    if (known) return known;
    const bytes = await files.size(path);
    const recording = { ...checked(given, sources, now), id, userId, bytes };
    await refuseTooMuch(userId, recording);
    await files.take(userId, id, { path, isTemporary });
    try {
      await storage.transaction('add recording', async tx => {
        await tx.recordings.insert(recording);
        const payload = { userId, recordingId: id };
        await tx.jobs.enqueue({ kind: RECORDING_JOB, key: id, runAt: now, payload });
      });
      return recording;
    } catch (error) {
      const stored = await storage.recordings.get(userId, id);
      if (stored) return stored; // two requests with the same id arrived at once
      await files.remove(userId, id);
      throw error;
    }
  }

  async function refuseTooMuch(userId: string, { name, bytes }: Pick<Recording, 'name' | 'bytes'>) {
    if (bytes === 0) throw invalid(`${name} is empty`);
    if (bytes > MAX_RECORDING_BYTES)
      throw new AppError('too_large', `${name}: at most ${MAX_RECORDING_BYTES / 1024 ** 3} GiB`);
    const waiting = await storage.recordings.waiting(userId);
    if (waiting.recordings >= MAX_WAITING || waiting.bytes + bytes > MAX_WAITING_BYTES)
      throw new AppError('conflict', 'Too many recordings wait: wait until some are text, or delete some', {
        retryAfter: 600,
      });
  }

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<Recording> {
    const found = isId(id) ? await storage.recordings.get(userId, id) : null;
    if (!found) throw new AppError('not_found', 'Recording not found');
    return found;
  }

  /** Stops it, and deletes its file; conversations made from it stay. `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    await get(userId, id);
    await storage.transaction('delete recording', async tx => {
      await tx.recordings.remove(userId, id);
      await tx.jobs.cancel(RECORDING_JOB, id);
    });
    await files.remove(userId, id);
  }

  /** Deletes the file once the recording is finished. Resolves to false where the recording was deleted. */
  async function update(
    { userId, id }: Pick<Recording, 'userId' | 'id'>,
    patch: Parameters<Storage['recordings']['update']>[2],
  ): Promise<boolean> {
    const isThere = await storage.recordings.update(userId, id, { ...patch, updatedAt: clock.now() });
    if (patch.state === 'done' || patch.state === 'failed') await files.remove(userId, id);
    return isThere;
  }

  return {
    add,
    get,
    /** Newest first. */
    list: (userId: string, page: { limit: number; offset: number }): Promise<Recording[]> =>
      storage.recordings.list(userId, page),
    remove,
    update,
    /** Whether its file is still needed. */
    async isWaiting(userId: string, id: string): Promise<boolean> {
      const state = (await storage.recordings.get(userId, id))?.state;
      return state === 'waiting' || state === 'running';
    },
    /** The row of a recording; null: it is gone. */
    find: (userId: string, id: string): Promise<Recording | null> => storage.recordings.get(userId, id),
    pathOf: files.pathOf,
    prune: (): Promise<void> => storage.recordings.prune(clock.now() - KEPT_MS),
  };
}

function checked(
  { name, startedAt = null, endedAt = null, language = MULTI, source = 'unknown', silenceMs }: NewRecording,
  sources: ReadonlySet<string>,
  now: number,
): Omit<Recording, 'id' | 'userId' | 'bytes'> {
  const spoken = languageOf(language);
  if (spoken === null) throw invalid('language: must be a code such as en, or multi');
  if (Math.max(startedAt ?? 0, endedAt ?? 0) > now) throw invalid('It cannot have been recorded after now');
  const silence = silenceMs ?? SILENCE_MS.usual;
  if (!(silence >= SILENCE_MS.least && silence <= SILENCE_MS.most))
    throw invalid(`silence: ${SILENCE_MS.least / 1000} to ${SILENCE_MS.most / 1000} seconds`);
  const shown =
    name
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, '')
      .slice(-MAX_NAME_CHARS) || 'recording';
  return {
    name: shown,
    state: 'waiting',
    error: null,
    startedAt: startedAt ?? timeInName(shown, now),
    endedAt,
    language: spoken,
    source: knownSource(source, sources),
    silenceMs: silence,
    durationMs: null,
    heardMs: 0,
    conversationIds: [],
    createdAt: now,
    updatedAt: now,
  };
}

function invalid(msg: string): AppError {
  return new AppError('invalid_request', msg);
}
