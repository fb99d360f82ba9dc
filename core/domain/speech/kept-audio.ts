/**
 * Audio that is kept: clips, where the account wants them, and utterances that no recogniser could transcribe. All other
 * audio is deleted once it is text.
 */
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Conversation, Stream } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isId } from '../ids.ts';
import type { Clips } from './clips.ts';

/** Stream, and the sample at which it begins. */
const UNTRANSCRIBED_ID = /^([0-9a-f-]{36})-(\d{1,15})$/;
const UNTRANSCRIBED_ENDING = '.wav';
const HEADER_BYTES = 44;
/** Samples of one channel, of 16 bits. */
const SAMPLES_PER_S = 16_000;
const BYTES_PER_S = 2 * SAMPLES_PER_S;

export interface KeptAudio {
  id: string;
  /** Time of its first sample, epoch ms. */
  startedAt: number;
  seconds: number;
  bytes: number;
  /** False: no recogniser could transcribe it. */
  hasText: boolean;
}

export interface AudioFile {
  handle: FileHandle;
  bytes: number;
  type: 'audio/ogg' | 'audio/wav';
  /** ASCII only. */
  fileName: string;
}

export type KeptAudios = ReturnType<typeof createKeptAudios>;

/** @param dir directory of the files of untranscribed utterances, of all users */
export function createKeptAudios({
  storage,
  clips,
  dir,
}: {
  storage: Storage;
  clips: Pick<Clips, 'list' | 'get' | 'open'>;
  dir: string;
}) {
  const pathOf = (id: string) => join(dir, `${id}${UNTRANSCRIBED_ENDING}`);

  async function untranscribedOf(stream: Stream, id: string, sample: number): Promise<KeptAudio | null> {
    const file = await stat(pathOf(id)).catch(() => null); // a rule may have deleted it
    if (!file || stream.anchorAt === null) return null;
    const seconds = Math.max(0, file.size - HEADER_BYTES) / BYTES_PER_S;
    const startedAt = stream.anchorAt + (sample * 1000) / SAMPLES_PER_S;
    return { id, seconds, bytes: file.size, startedAt, hasText: false };
  }

  async function untranscribed(conversation: Conversation): Promise<KeptAudio[]> {
    const streams = new Map<string, Stream | null>();
    const found: KeptAudio[] = [];
    for (const name of await readdir(dir).catch(() => [])) {
      const id = name.endsWith(UNTRANSCRIBED_ENDING) ? name.slice(0, -UNTRANSCRIBED_ENDING.length) : '';
      const [, streamId, sample] = UNTRANSCRIBED_ID.exec(id) ?? [];
      if (streamId === undefined || sample === undefined) continue;
      const known = streams.get(streamId);
      const stream = known === undefined ? await storage.streams.get(conversation.userId, streamId) : known;
      streams.set(streamId, stream);
      const audio = stream && (await untranscribedOf(stream, id, Number(sample)));
      if (audio && isWithin(audio, conversation)) found.push(audio);
    }
    return found;
  }

  async function clipsOf({ userId, id }: Conversation, page: { since: number; limit: number }) {
    return (await clips.list(userId, id, page)).map(({ id, startedAt, durationMs, bytes }): KeptAudio => {
      return { id, startedAt, seconds: durationMs / 1000, bytes, hasText: true };
    });
  }

  /**
   * Lists audio of a conversation from an instant on (epoch ms), by its beginning. `not_found`, also where it is
   * locked.
   */
  async function list(
    userId: string,
    conversationId: string,
    page: { since: number; limit: number },
  ): Promise<KeptAudio[]> {
    const conversation = isId(conversationId)
      ? await storage.conversations.get(userId, conversationId)
      : null;
    if (!conversation || conversation.locked) throw new AppError('not_found', 'Conversation not found');
    const failed = (await untranscribed(conversation)).filter(({ startedAt }) => startedAt >= page.since);
    return [...failed, ...(await clipsOf(conversation, page))]
      .sort((a, b) => a.startedAt - b.startedAt)
      .slice(0, page.limit);
  }

  /** Opens the file of one. `not_found`, also where its conversation is locked. */
  async function openFile(userId: string, id: string): Promise<AudioFile> {
    const file = isId(id) ? await openClip(userId, id) : await openUntranscribed(userId, id);
    if (!file) throw new AppError('not_found', 'Audio not found');
    return file;
  }

  async function openClip(userId: string, id: string): Promise<AudioFile | null> {
    const clip = await clips.get(userId, id);
    const conversation = clip && (await storage.conversations.get(userId, clip.conversationId));
    if (!conversation || conversation.locked) return null;
    return opened(clips.open(userId, id), { type: 'audio/ogg', fileName: `${id}.ogg` });
  }

  async function openUntranscribed(userId: string, id: string): Promise<AudioFile | null> {
    const [, streamId = ''] = UNTRANSCRIBED_ID.exec(id) ?? [];
    const isOwn = isId(streamId) && (await storage.streams.get(userId, streamId)) !== null;
    return isOwn ? opened(open(pathOf(id)), { type: 'audio/wav', fileName: `${id}.wav` }) : null;
  }

  return { list, open: openFile };
}

/** Null: the file is gone. */
async function opened(
  opening: Promise<FileHandle>,
  about: Pick<AudioFile, 'type' | 'fileName'>,
): Promise<AudioFile | null> {
  const handle = await opening.catch(() => null);
  return handle && { handle, bytes: (await handle.stat()).size, ...about };
}

/** Speech that has no text does not move the end of its conversation: what begins soon after it belongs to it, too. */
const SLACK_MS = 120_000;

function isWithin({ startedAt }: KeptAudio, { startedAt: from, finishedAt: to }: Conversation): boolean {
  return from !== null && startedAt >= from - SLACK_MS && (to === null || startedAt <= to + SLACK_MS);
}
