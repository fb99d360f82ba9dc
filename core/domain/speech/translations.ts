import type { Clock, Segment, Translation } from '../../contract/model.ts';
import type { LanguageModel, Storage, Translator } from '../../contract/plugin.ts';
import { deadline } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus, Events } from '../../runtime/events.ts';
import type { Log } from '../../runtime/log.ts';
import { baseOf, MULTI } from '../languages.ts';
import type { SpeechChoices } from './speech-settings.ts';

/** Time in ms without change after which a segment is translated; longer than usual pauses within a sentence. */
const SETTLED_MS = 1500;
/** Time in ms after which a segment that keeps growing is translated, and again when it has grown further. */
const GROWING_MS = 10_000;
/** Maximum waiting segments of one user; past it the oldest is not translated. */
const MAX_WAITING = 200;
/** Time limit of one translation. */
const LIMIT_MS = 20_000;
/** Pauses in ms between attempts at one segment; after the last it is not translated. */
const PAUSES_MS = [1000, 5000];
const MAX_PAUSE_MS = 30_000;
/** Maximum texts whose translations are cached. */
const MAX_CACHED = 1000;
/** Maximum length of cached texts. */
const MAX_CACHED_CHARS = 2000;
const MAX_TRANSLATED_CHARS = 10_000;
/** Maximum characters of a text that are examined for its language. */
const MAX_DETECTED_CHARS = 1000;
/** Minimum ratio of the best guess's probability to the second's: a wrong language is worse than none. */
const MIN_LEAD = 1.5;
/** Segments read at a time. */
const PAGE = 100;

interface Waiting {
  segment: Segment;
  /** Time of the first text, and of the last change. */
  since: number;
  changedAt: number;
}

interface Queue {
  /** Waiting segments in the order of their first text. */
  waiting: Map<string, Waiting>;
  wake: AbortController;
}

/**
 * Translates segments for users who chose a language that differs from the spoken one, in the background: segments never wait
 * for it. The segments of a user are translated one after the other; a growing one once it has stopped growing, or another
 * follows. Failed translations are retried, and then left out.
 */
export function createTranslations({
  storage,
  speechSettings,
  translators,
  models,
  events,
  clock,
  log,
}: {
  storage: Storage;
  speechSettings: Pick<SpeechChoices, 'get'>;
  /** Lists the available translators, preferred one first. */
  translators(): Translator[];
  models(): LanguageModel[];
  events: EventBus;
  clock: Clock;
  log: Log;
}) {
  const queues = new Map<string, Queue>();
  const cache = createCache();
  const stopping = new AbortController();
  const { signal } = stopping;
  let startedAt = clock.now();
  const working = new Set<Promise<void>>();

  function onSegments({ userId, segments }: Events['segments'][0]): void {
    if (signal.aborted || translators().length === 0) return;
    const known = queues.get(userId);
    const queue = known ?? { waiting: new Map(), wake: new AbortController() };
    for (const segment of segments) if (!segment.translations) add(queue, segment);
    if (known) queue.wake.abort();
    else begin(userId, queue);
  }

  /** Translates what waited when the server stopped, once the conversation that it interrupted has ended. */
  function onProcessed({
    userId,
    conversation: { id, createdAt },
  }: Events['conversation.processed'][0]): void {
    if (!signal.aborted && createdAt < startedAt && translators().length > 0)
      track(translateRest(userId, id), 'a conversation could not be translated to its end');
  }

  async function translateRest(userId: string, conversationId: string): Promise<void> {
    const { translateTo } = await speechSettings.get(userId);
    if (translateTo === null) return;
    let last: Segment | undefined;
    do {
      const segments = await storage.segments.page(userId, conversationId, last ?? null, PAGE);
      for (const segment of segments) {
        signal.throwIfAborted();
        if (!segment.translations) await translateOne(segment, translateTo);
      }
      last = segments.at(-1);
    } while (last);
  }

  function add({ waiting }: Queue, segment: Segment): void {
    const now = clock.now();
    const since = waiting.get(segment.id)?.since ?? now;
    waiting.set(segment.id, { segment, since, changedAt: now }); // a waiting segment keeps its place
    const [oldest] = waiting.keys();
    if (waiting.size <= MAX_WAITING || oldest === undefined) return;
    waiting.delete(oldest);
    log.warn({ most: MAX_WAITING }, 'too much waits to be translated: the oldest is left out');
  }

  function begin(userId: string, queue: Queue): void {
    queues.set(userId, queue);
    const drained = drain(userId, queue).catch(error => {
      queues.delete(userId);
      throw error;
    });
    track(drained, 'translation has stopped until more is said');
  }

  function track(promise: Promise<void>, failure: string): void {
    const work = promise
      .catch(error => {
        if (!signal.aborted) log.warn({ err: toAppError(error) }, failure);
      })
      .then(() => {
        working.delete(work);
      });
    working.add(work);
  }

  async function drain(userId: string, queue: Queue): Promise<void> {
    for (;;) {
      const next = queue.waiting.values().next().value;
      if (!next) break;
      const now = clock.now();
      const isFollowed = queue.waiting.size > 1;
      const dueAt = isFollowed ? now : Math.min(next.changedAt + SETTLED_MS, next.since + GROWING_MS);
      if (dueAt > now) {
        await nap(queue, dueAt - now);
        continue;
      }
      queue.waiting.delete(next.segment.id);
      const { translateTo } = await speechSettings.get(userId);
      if (translateTo === null) queue.waiting.clear();
      else await translateOne(next.segment, translateTo);
    }
    queues.delete(userId);
  }

  /** Waits until then, or until something changes. */
  async function nap(queue: Queue, ms: number): Promise<void> {
    queue.wake = new AbortController();
    const ends = AbortSignal.any([queue.wake.signal, signal]);
    await clock.sleep(ms, ends).catch(() => {});
    signal.throwIfAborted();
  }

  async function translateOne(segment: Segment, to: string): Promise<void> {
    const { userId, conversationId, id, text } = segment;
    const from = await languageOf(segment);
    if (from !== null && baseOf(from) === baseOf(to)) return;
    const translated = await cache(`${userId} ${from} ${to} ${text}`, text, () => persevere(text, from, to));
    if (translated === null || translated === text) return;
    const translations: Translation[] = [{ lang: to, text: translated }];
    if (!(await storage.segments.translated(userId, id, text, translations))) return; // its text has changed meanwhile
    events.emit('translated', { userId, conversationId, segmentId: id, translations });
  }

  /** Returns the language from the recogniser, otherwise of the conversation, otherwise by the text. Null: the translator detects it. */
  async function languageOf({ userId, conversationId, language, text }: Segment): Promise<string | null> {
    if (language !== null) return language;
    const spoken = (await storage.conversations.get(userId, conversationId))?.language ?? MULTI;
    if (spoken !== MULTI) return spoken;
    return languageOfText(text);
  }

  /** Null: not possible now. */
  async function persevere(text: string, from: string | null, to: string): Promise<string | null> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask(text, from, to);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = toAppError(thrown, 'upstream_error');
        const pause = PAUSES_MS[attempt];
        log.warn({ err: error, attempt: attempt + 1 }, 'a segment could not be translated');
        if (pause === undefined || !error.retryable) return null;
        await clock.sleep(Math.min((error.retryAfter ?? 0) * 1000 || pause, MAX_PAUSE_MS), signal);
      }
    }
  }

  async function ask(text: string, from: string | null, to: string): Promise<string | null> {
    const chosen = translators().find(({ languages }) => canSpeak(languages, to));
    if (!chosen) return null;
    const late = () => new AppError('timeout', `The translator did not answer within ${LIMIT_MS} ms`);
    const request = { text, from, to, models: models() };
    const answer = await deadline(
      { clock, limitMs: LIMIT_MS, late },
      ending => chosen.translate(request, ending),
      signal,
    );
    if (typeof answer !== 'string' || answer.length > MAX_TRANSLATED_CHARS || answer.includes('\0'))
      throw new AppError(
        'config_error',
        'The translator breaks its contract: its answer is no text, or too long',
      );
    return answer.trim() || null;
  }

  return {
    start(): void {
      startedAt = clock.now();
      events.on('segments', onSegments);
      events.on('conversation.processed', onProcessed);
    },
    /** Stops; segments that wait are translated after the next start, when their conversation has ended. */
    async stop(): Promise<void> {
      events.off('segments', onSegments);
      events.off('conversation.processed', onProcessed);
      stopping.abort(new AppError('unavailable', 'Earshot is stopping'));
      for (const { wake } of queues.values()) wake.abort();
      await Promise.all(working);
    },
  };
}

function canSpeak(languages: Translator['languages'], to: string): boolean {
  return languages === 'any' || languages.some(code => code === to || baseOf(code) === baseOf(to));
}

/** A cache of the newest translations, because people repeat themselves. */
function createCache() {
  const known = new Map<string, string>();

  return async (key: string, text: string, work: () => Promise<string | null>): Promise<string | null> => {
    const found = known.get(key);
    const answer = found ?? (await work());
    known.delete(key);
    if (answer === null || text.length > MAX_CACHED_CHARS) return answer;
    known.set(key, answer);
    const [oldest] = known.keys();
    if (known.size > MAX_CACHED && oldest !== undefined) known.delete(oldest);
    return answer;
  };
}

/** Detects the language (ISO 639-1) of a text by its letters and words; null where it is too short, or ambiguous. */
async function languageOfText(text: string): Promise<string | null> {
  const { detectAll } = await import('tinyld/light'); // it loads the statistics of 24 languages
  const [best, second] = detectAll(text.slice(0, MAX_DETECTED_CHARS));
  if (!best) return null;
  return best.accuracy >= MIN_LEAD * (second?.accuracy ?? 0) ? best.lang : null;
}
