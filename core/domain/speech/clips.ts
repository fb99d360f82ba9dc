import { type FileHandle, open, writeFile } from 'node:fs/promises';
import type { Clock } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { toAppError } from '../../runtime/errors.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { newId } from '../ids.ts';
import type { UserFiles } from '../user-files.ts';
import { CLIPS_JOB, type SpeechChoices } from './speech-settings.ts';

export const CLIP_FILES = { audio: '.ogg' } as const;
/** Clips of one conversation that are read at once, where all are meant. */
export const ALL_CLIPS = 100_000;
/** Deleted in one run of the job, so that other jobs run in between. */
const DELETED_AT_ONCE = 500;
/** Part of the limit to which clips are deleted, so that the next one does not exceed it again. */
const ROOM = 0.95;
const SAMPLES_PER_MS = 16;
const DAY_MS = 24 * 3_600_000;

/** Spoken audio with its text. */
export interface Spoken {
  userId: string;
  conversationId: string;
  /** When the first sample was recorded, epoch ms. */
  startedAt: number;
  /** 16 kHz mono. */
  pcm: Int16Array;
}

export type Clips = ReturnType<typeof createClips>;

/** The only writer of clips: audio that accounts keep, a row and a file for each utterance. */
export function createClips({
  storage,
  speechSettings,
  files,
  encode,
  checkDisk,
  maxBytesPerUser,
  clock,
  log,
}: {
  storage: Storage;
  speechSettings: Pick<SpeechChoices, 'get'>;
  files: UserFiles<keyof typeof CLIP_FILES>;
  /** Encodes 16 kHz mono audio as the file. */
  encode(pcm: Int16Array): Promise<Uint8Array>;
  /** Rejects where the disk has no room for it. */
  checkDisk(): Promise<void>;
  /** Beyond it, the oldest clips of an account are deleted. */
  maxBytesPerUser: number;
  clock: Clock;
  log: Log;
}) {
  /** Clips whose file may exist, but whose row does not yet. */
  const pending = new Set<string>();
  /** Bytes by user, too many where some were deleted since: counted anew when they seem to exceed the limit. */
  const sizes = new Map<string, number>();

  /** Returns the bytes of the file. */
  async function store({ userId, conversationId, startedAt, pcm }: Spoken): Promise<number> {
    const now = clock.now();
    const id = newId(now);
    pending.add(id);
    try {
      await checkDisk();
      const bytes = await encode(pcm);
      const { audio: path } = await files.place(userId, id);
      await writeFile(path, bytes, { flag: 'wx', mode: 0o600, flush: true });
      await files.settle(userId);
      const durationMs = Math.round(pcm.length / SAMPLES_PER_MS);
      await storage.clips.insert({
        ...{ id, userId, conversationId, startedAt, durationMs, bytes: bytes.length, createdAt: now },
      });
      return bytes.length;
    } catch (error) {
      await files.remove(userId, [id]);
      throw error;
    } finally {
      pending.delete(id);
    }
  }

  /** Whether clips of this user are to be deleted: too many, or stored while the user chose to keep none. */
  async function isTooMuch(userId: string, added: number): Promise<boolean> {
    const known = sizes.get(userId);
    const size = known === undefined ? await storage.clips.bytes(userId) : known + added;
    sizes.set(userId, size);
    return size > maxBytesPerUser || !(await areKept(userId));
  }

  async function areKept(userId: string): Promise<boolean> {
    return (await speechSettings.get(userId)).keepAudioDays !== null;
  }

  async function enqueueExpiry(userId: string): Promise<void> {
    sizes.delete(userId);
    await storage.jobs.enqueue({ kind: CLIPS_JOB, key: userId, runAt: clock.now(), payload: { userId } });
  }

  /** Lists clips to delete: those too old for their owner, else the oldest of too many. */
  async function superfluous(userId: string): Promise<string[]> {
    const { keepAudioDays } = await speechSettings.get(userId);
    const before = keepAudioDays === null ? Number.MAX_SAFE_INTEGER : clock.now() - keepAudioDays * DAY_MS;
    const old = await storage.clips.expired(userId, before, DELETED_AT_ONCE);
    if (old.length > 0) return old.map(({ id }) => id);
    const size = await storage.clips.bytes(userId);
    if (size <= maxBytesPerUser) return [];
    let excess = size - maxBytesPerUser * ROOM;
    const all = await storage.clips.expired(userId, Number.MAX_SAFE_INTEGER, DELETED_AT_ONCE);
    return all.flatMap(({ id, bytes }) => {
      if (excess <= 0) return [];
      excess -= bytes;
      return [id];
    });
  }

  /** Handler of `CLIPS_JOB`. */
  const expire: JobHandler = async ({ key: userId }, signal) => {
    const due = await superfluous(userId);
    if (due.length === 0 || signal.aborted) return undefined;
    await storage.clips.remove(userId, due);
    await files.remove(userId, due);
    return due.length === DELETED_AT_ONCE ? { again: clock.now() } : undefined;
  };

  return {
    /** Whether audio of this user that becomes text is to be kept. */
    areKept,
    /** Keeps audio whose text is stored. Failures are logged: the text does not depend on it. */
    async keep(spoken: Spoken): Promise<void> {
      const { userId, pcm } = spoken;
      if (pcm.length === 0) return;
      try {
        if (await isTooMuch(userId, await store(spoken))) await enqueueExpiry(userId);
      } catch (thrown) {
        const error = toAppError(thrown);
        // its conversation was deleted meanwhile
        if (error.code !== 'not_found') log.warn({ err: error }, 'audio of an utterance could not be kept');
      }
    },
    list: storage.clips.list,
    get: storage.clips.get,
    open: (userId: string, id: string): Promise<FileHandle> => open(files.pathOf(userId, id, 'audio')),
    expire,
    /** Removes what is older than the settings of its user say, or too much, and files without a row. */
    async nightly(): Promise<void> {
      for (const userId of await files.users()) await enqueueExpiry(userId);
      const removed = await files.removeOrphans(storage.clips.some, pending);
      if (removed > 0) log.info({ clips: removed }, 'files of clips that are gone were removed');
    },
  };
}
