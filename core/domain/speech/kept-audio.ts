/** Audio that is kept: utterances that no recogniser could transcribe. All other audio is deleted once it is text. */
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Conversation, Stream } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isId } from '../ids.ts';

/** Stream, and the sample at which it begins. */
const ID = /^([0-9a-f-]{36})-(\d{1,15})$/;
const ENDING = '.wav';
const HEADER_BYTES = 44;
/** Samples of one channel, of 16 bits. */
const SAMPLES_PER_S = 16_000;
const BYTES_PER_S = 2 * SAMPLES_PER_S;
const MAX_LISTED = 200;

export interface KeptAudio {
  id: string;
  /** Time of its first sample, epoch ms. */
  startedAt: number;
  seconds: number;
  bytes: number;
}

export type KeptAudios = ReturnType<typeof createKeptAudios>;

/** @param dir directory of the files, of all users */
export function createKeptAudios({ storage, dir }: { storage: Storage; dir: string }) {
  async function fileOf(stream: Stream, id: string, sample: number): Promise<KeptAudio | null> {
    const file = await stat(pathOf(id)).catch(() => null); // a rule may have deleted it
    if (!file || stream.anchorAt === null) return null;
    const seconds = Math.max(0, file.size - HEADER_BYTES) / BYTES_PER_S;
    return { id, seconds, bytes: file.size, startedAt: stream.anchorAt + (sample * 1000) / SAMPLES_PER_S };
  }

  const pathOf = (id: string) => join(dir, `${id}${ENDING}`);

  /** Lists audio of the time of a conversation, the oldest first. `not_found`, also where it is locked. */
  async function list(userId: string, conversationId: string): Promise<KeptAudio[]> {
    const conversation = isId(conversationId)
      ? await storage.conversations.get(userId, conversationId)
      : null;
    if (!conversation || conversation.locked) throw new AppError('not_found', 'Conversation not found');
    const streams = new Map<string, Stream | null>();
    const found: KeptAudio[] = [];
    for (const name of await readdir(dir).catch(() => [])) {
      const [, streamId, sample] = (name.endsWith(ENDING) && ID.exec(name.slice(0, -ENDING.length))) || [];
      if (streamId === undefined || sample === undefined) continue;
      const known = streams.get(streamId);
      const stream = known === undefined ? await storage.streams.get(userId, streamId) : known;
      streams.set(streamId, stream);
      const audio = stream && (await fileOf(stream, `${streamId}-${sample}`, Number(sample)));
      if (audio && isWithin(audio, conversation)) found.push(audio);
    }
    return found.sort((a, b) => a.startedAt - b.startedAt).slice(0, MAX_LISTED);
  }

  /** Opens the file of one. `not_found`. */
  async function openFile(userId: string, id: string): Promise<{ handle: FileHandle; bytes: number }> {
    const [, streamId = ''] = ID.exec(id) ?? [];
    const isOwn = isId(streamId) && (await storage.streams.get(userId, streamId)) !== null;
    const handle = isOwn ? await open(pathOf(id)).catch(() => null) : null;
    if (!handle) throw new AppError('not_found', 'Audio not found');
    const { size } = await handle.stat();
    return { handle, bytes: size };
  }

  return { list, open: openFile };
}

/** Speech that has no text does not move the end of its conversation: what begins soon after it belongs to it, too. */
const SLACK_MS = 120_000;

function isWithin({ startedAt }: KeptAudio, { startedAt: from, finishedAt: to }: Conversation): boolean {
  return from !== null && startedAt >= from - SLACK_MS && (to === null || startedAt <= to + SLACK_MS);
}
