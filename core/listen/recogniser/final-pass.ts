import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createUtterance, type GrowingUtterance } from '../../audio/utterance.ts';
import type { Clock, Segment } from '../../contract/model.ts';
import type { Vocabularies } from '../../domain/accounts/vocabulary.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Writing } from './polish.ts';
import { type NamedProvider, serves } from './providers.ts';
import { openSession, transcribeOnce, writing } from './recogniser.ts';

/**
 * Second pass: when an utterance has ended, a slower and better recogniser transcribes it again, and its text replaces
 * the live one. Pending utterances are kept on disk and survive a restart.
 */
export interface FinalPass {
  /** Null: no second pass for this language. */
  begin(live: { userId: string; streamId: string; language: string }): FinalPassOf | null;
  /** Resolves when nothing of this conversation is pending, or when its time is up. */
  settled(conversationId: string, signal: AbortSignal): Promise<void>;
  /** Continues with what an earlier process left. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Second pass over one utterance. */
export interface FinalPassOf {
  /** Notes that live text went into these segments. */
  heard(text: string, provider: string, segments: readonly Segment[]): void;
  /** Starts the second pass: the utterance has ended and its live text is stored. */
  end(utterance: GrowingUtterance): Promise<void>;
}

interface FinalPassOptions {
  dir: string;
  /** Current recogniser of the second pass; null: it does not work. Absent: none is configured. */
  provider: (() => NamedProvider | null) | null;
  conversations: Pick<Conversations, 'replaceText'>;
  vocabularies: Pick<Vocabularies, 'expected'>;
  clock: Clock;
  log: Log;
}

/** Pending audio of all streams together, in bytes; beyond it utterances keep their live text. */
const MAX_WAITING_BYTES = 512 * 1024 * 1024;
/** Older live text is not replaced. */
const MAX_AGE_MS = 6 * 3_600_000;
/** Tries of one utterance, and the pause after each. */
const MAX_TRIES = 3;
const TRY_AGAIN_MS = 10_000;
/** Pause before a recogniser that does not work is asked again. */
const AWAY_MS = 30_000;
/** Utterances processed at a time, each of another stream: those of one stream keep their order. */
const MAX_AT_ONCE = 4;
/** How long the end of a conversation waits for its last utterances. */
const SETTLE_MS = 30_000;
const SUFFIX = '.utterance';
const ID_CHARS = 36;

const Note = z.object({
  userId: z.string(),
  streamId: z.string(),
  conversationId: z.string(),
  language: z.string(),
  channel: z.number().int(),
  startSample: z.number().int(),
  /** Epoch ms. */
  at: z.number(),
  live: z.array(z.object({ segmentId: z.string(), at: z.number().int(), text: z.string() })),
});
type Note = z.infer<typeof Note>;

interface Waiting {
  path: string;
  bytes: number;
  tries: number;
  note: Pick<Note, 'streamId' | 'conversationId' | 'at'>;
}

/** Deletes pending audio of these streams, whose account is gone. */
export async function removeFinalPass(dir: string, streamIds: readonly string[]): Promise<void> {
  const gone = new Set(streamIds);
  for (const name of await readdir(dir).catch(() => []))
    if (gone.has(name.slice(0, ID_CHARS))) await rm(join(dir, name), { force: true });
}

export function createFinalPass(options: FinalPassOptions): FinalPass {
  const { dir, conversations, vocabularies, clock, log } = options;
  /** By stream, in the order spoken. */
  const queues = new Map<string, Waiting[]>();
  const working = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const watchers = new Set<() => void>();
  let waitingBytes = 0;
  let isFull = false;

  function add(waiting: Waiting) {
    const { streamId } = waiting.note;
    const queue = queues.get(streamId) ?? [];
    queues.set(streamId, queue);
    queue.push(waiting);
    waitingBytes += waiting.bytes;
    work();
  }

  /** Starts workers for waiting streams, up to the limit. */
  function work() {
    for (const [streamId, queue] of queues) {
      if (working.size >= MAX_AT_ONCE || signal.aborted) return;
      if (working.has(streamId)) continue;
      const run = drain(streamId, queue).finally(() => {
        working.delete(streamId);
        work();
      });
      working.set(streamId, run);
    }
  }

  /** Never rejects. */
  async function drain(streamId: string, queue: Waiting[]) {
    for (let [next] = queue; next; [next] = queue) {
      const pauseMs = await attempt(next);
      if (signal.aborted) return;
      if (pauseMs === null) await forget(queue);
      else await clock.sleep(pauseMs, signal).catch(() => {});
      if (signal.aborted) return;
    }
    queues.delete(streamId);
  }

  async function forget(queue: Waiting[]) {
    const done = queue.shift();
    if (!done) return;
    waitingBytes -= done.bytes;
    isFull = false;
    await rm(done.path, { force: true }).catch(error => log.warn({ err: error }, 'audio cannot be deleted'));
    for (const look of [...watchers]) look();
  }

  /** Resolves to the pause before the next try; null: done. */
  async function attempt(waiting: Waiting): Promise<number | null> {
    const { streamId: stream, at } = waiting.note;
    if (clock.now() - at > MAX_AGE_MS) {
      log.warn({ stream }, 'the second pass came too late for an utterance; its live text stands');
      return null;
    }
    const provider = options.provider?.() ?? null;
    if (provider === null) return AWAY_MS;
    const found = await readFile(waiting.path).catch(() => null);
    if (found === null) return null; // its account is gone
    const { note, pcm } = parse(found);
    const vocabulary = await vocabularies.expected(note.userId).catch(() => []);
    const session = await openedFor({ ...note, vocabulary }, provider);
    if (session === null) return AWAY_MS;
    try {
      const utterance = createUtterance(note);
      utterance.append(pcm);
      utterance.end();
      const pieces = await transcribeOnce(session, utterance, { clock, signal });
      const write = writing(provider, { ...note, vocabulary });
      const text = pieces.map(piece => write(piece).text.trim()).join(' ');
      if (text !== '') await conversations.replaceText({ ...note, text, sttProvider: provider.name });
      return null;
    } catch (error) {
      if (signal.aborted) return null;
      waiting.tries += 1;
      const isLast = waiting.tries >= MAX_TRIES;
      const what = isLast ? 'the live text stands' : 'trying again';
      log.warn({ err: error, provider: provider.name, stream }, `the second pass failed; ${what}`);
      return isLast ? null : TRY_AGAIN_MS;
    }
  }

  /** Null: it does not answer now. */
  async function openedFor({ language, vocabulary }: Writing, provider: NamedProvider) {
    try {
      return await openSession(provider, { language, vocabulary, clock, signal });
    } catch (error) {
      if (!signal.aborted)
        log.warn({ err: error, provider: provider.name }, 'the second pass waits for its recogniser');
      return null;
    }
  }

  async function write(note: Note, pcm: Int16Array): Promise<Waiting> {
    const head = Buffer.from(`${JSON.stringify(note)}\n`);
    const body = Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    const path = join(dir, `${note.streamId}-${note.startSample}${SUFFIX}`);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const file = await open(`${path}.new`, 'w', 0o600);
    await file.writev([head, body]).finally(() => file.close());
    await rename(`${path}.new`, path);
    return { path, bytes: head.length + body.length, tries: 0, note };
  }

  function hasRoom(bytes: number): boolean {
    if (waitingBytes + bytes <= MAX_WAITING_BYTES) return true;
    if (!isFull) log.warn({ waitingBytes }, 'the second pass does not keep up; live text stands');
    isFull = true;
    return false;
  }

  const waitsFor = (conversationId: string) =>
    [...queues.values()].some(queue => queue.some(({ note }) => note.conversationId === conversationId));

  return {
    begin({ userId, streamId, language }) {
      const provider = options.provider?.();
      if (!provider || !serves(provider.stt, language)) return null;
      const live: (Note['live'][number] & { conversationId: string })[] = [];
      let isDone = false;
      return {
        heard(text, by, segments) {
          isDone ||= by === provider.name;
          const said = text.trim();
          const segment = segments.at(-1);
          if (!segment?.text.endsWith(said)) return;
          const last = live.at(-1);
          if (last?.segmentId === segment.id) last.text += ` ${said}`;
          else
            live.push({
              segmentId: segment.id,
              at: segment.text.length - said.length,
              text: said,
              conversationId: segment.conversationId,
            });
        },
        async end(utterance) {
          const [first] = live;
          if (isDone || !first) return;
          const pcm = await samplesOf(utterance);
          if (pcm.length === 0 || !hasRoom(pcm.byteLength)) return;
          const { conversationId } = first;
          const { startSample, channel } = utterance;
          const own = live.filter(part => part.conversationId === conversationId);
          const note = { userId, streamId, conversationId, language, channel, startSample, at: clock.now() };
          try {
            add(await write({ ...note, live: own.map(({ conversationId: _, ...part }) => part) }, pcm));
          } catch (error) {
            log.warn({ err: error, stream: streamId }, 'no room for the second pass; the live text stands');
          }
        },
      };
    },
    async settled(conversationId, leaving) {
      if (!waitsFor(conversationId)) return;
      const done = Promise.withResolvers<void>();
      const look = () => waitsFor(conversationId) || done.resolve();
      const over = new AbortController();
      const late = clock.sleep(SETTLE_MS, AbortSignal.any([over.signal, leaving])).catch(() => {});
      watchers.add(look);
      await Promise.race([done.promise, late]);
      watchers.delete(look);
      over.abort();
    },
    async start() {
      const found: Waiting[] = [];
      for (const name of await readdir(dir).catch(() => [])) {
        const path = join(dir, name);
        const waiting = name.endsWith(SUFFIX) && options.provider ? await readWaiting(path) : null;
        if (waiting) found.push(waiting);
        else await rm(path, { force: true });
      }
      for (const waiting of found.sort((a, b) => a.note.at - b.note.at)) add(waiting);
    },
    async stop() {
      stopping.abort(new AppError('unavailable', 'The server stops'));
      await Promise.all(working.values());
    },
  };
}

/** Null: it was not written completely, or is not a file of this kind. */
async function readWaiting(path: string): Promise<Waiting | null> {
  try {
    const bytes = await readFile(path);
    const { streamId, conversationId, at } = parse(bytes).note;
    return { path, bytes: bytes.length, tries: 0, note: { streamId, conversationId, at } };
  } catch {
    return null;
  }
}

function parse(bytes: Buffer): { note: Note; pcm: Int16Array } {
  const end = bytes.indexOf('\n');
  const note = Note.parse(JSON.parse(bytes.subarray(0, end).toString('utf8')));
  const audio = Uint8Array.from(bytes.subarray(end + 1)); // at an even address
  return { note, pcm: new Int16Array(audio.buffer, 0, audio.byteLength >> 1) };
}

async function samplesOf(utterance: GrowingUtterance): Promise<Int16Array> {
  const wav = await utterance.wav(undefined, new AbortController().signal);
  return new Int16Array(wav.buffer, WAV_HEADER_BYTES);
}
const WAV_HEADER_BYTES = 44;
