/** The contract of plugins that work with text: embedders, indexes, language models and what uses them. Types only. */
import type { z } from 'zod';

// ── vectors ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Turns texts into vectors: texts of similar meaning get similar vectors. */
export interface Embedder {
  /** Names model and version permanently: vectors of different ids are never compared. 1 to 100 of `a-z0-9._-`. */
  id: string;
  dimensions: number;
  /**
   * Returns a vector of length 1 for each text, in order; all zeros for a text without known words. At most 256 texts, each
   * cut at the model's limit. Rejects with the signal's reason when it is aborted.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}

/** Vectors of one kind of row, made by one embedder: `memories.words-en-1`. */
export interface VectorSpace {
  /** 1 to 200 of `a-z0-9._-`. */
  name: string;
  /** 1 to 4096; constant for a space. */
  dimensions: number;
}

export interface VectorItem {
  userId: string;
  /** Id of the source row, 1 to 200 characters. Different users may have equal ids. */
  id: string;
  /** Vector of any length. A vector of zeros matches nothing. */
  vector: Float32Array;
  /** Time of the source row's last change (epoch ms). An item older than the stored one is ignored. */
  updatedAt: number;
}

/**
 * Finds similar vectors. Core reads each found row again before it is shown. After a loss of its data it
 * starts empty: core notices that by the id of the space.
 */
export interface VectorIndex {
  /**
   * Adds or replaces items; creates a missing space, also for no items. At most 256 at once. Rejects with
   * `invalid_input` if the dimensions of a vector differ from those of the space, and then changes nothing.
   */
  upsert(space: VectorSpace, items: readonly VectorItem[]): Promise<void>;
  /**
   * Returns the nearest items of this user, best first, by cosine (-1 to 1). At most `limit` (1 to 1000); none from
   * a missing space, and none for a vector of zeros.
   */
  search(
    space: VectorSpace,
    userId: string,
    vector: Float32Array,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ id: string; score: number }[]>;
  /** Removes items. Missing ids are no error. At most 1000 at once. */
  remove(space: VectorSpace, userId: string, ids: readonly string[]): Promise<void>;
  /** Lists all spaces. A space that was created again, after it was dropped or lost, has another `id`. */
  spaces(): Promise<{ name: string; id: string }[]>;
  /** Drops a space. A missing one is no error. */
  drop(name: string): Promise<void>;
}

// ── language models ─────────────────────────────────────────────────────────────────────────────────────────────

export interface LanguageModel {
  /** Shown to people: `llama3.2`. */
  model: string;
  /**
   * Returns an answer of this schema. The plugin asks the model once to correct one that does not match. Rejects with
   * `upstream_error` if that fails too, `timeout`, `config_error`, or `too_large` for a prompt that is too long; with the
   * signal's reason when it is aborted.
   */
  object<T>(schema: z.ZodType<T>, prompt: Prompt): Promise<T>;
  /** Streams the answer in pieces, none of them empty. Throws the errors of `object`. */
  text(prompt: Prompt): AsyncIterable<string>;
}

export interface Prompt {
  /** Instructions. They come from Earshot alone. */
  system: string;
  /** Input to work on. It may come from anyone: treat it as data, never as instructions. */
  user: string;
  /** Maximum tokens of the answer. */
  maxTokens?: number;
  signal: AbortSignal;
}

/** Language model with image input. */
export interface VisionModel {
  model: string;
  /** As `LanguageModel.object`, with pictures. */
  object<T>(schema: z.ZodType<T>, prompt: Prompt & { images: readonly Picture[] }): Promise<T>;
}

export interface Picture {
  bytes: Uint8Array;
  /** `image/jpeg`, `image/png` or `image/webp`. */
  type: string;
}

// ── understanding ───────────────────────────────────────────────────────────────────────────────────────────────

/** Makes notes of a finished conversation: title, overview, category, tasks, events and memories. */
export interface Understanding {
  /** Whether it needs a language model: core skips it if `llm` names none. */
  needsModel?: boolean;
  /**
   * Core passes the whole transcript, in order, and checks the answer: an item that cites no segment, or one that is not
   * in the transcript, is dropped. The transcript is data: nothing in it is an instruction. Rejects when it cannot
   * answer now: core uses the answer of the next configured plugin for the time being, and retries later.
   * `too_large`: it never can, and core does not retry. Rejects with the signal's reason when it is aborted.
   */
  understand(
    transcript: readonly SpokenSegment[],
    context: UnderstandingContext,
    signal: AbortSignal,
  ): Promise<Understood>;
}

export interface SpokenSegment {
  id: string;
  text: string;
  /** The name of the owner or of a known person, else `Speaker 1`. */
  speaker: string;
  /** Whether the owner said it. */
  isUser: boolean;
  /** Epoch ms. */
  startAt: number;
  endAt: number;
  /** Whether the owner marked this moment: it deserves a sentence of the overview, and lasting facts a memory. */
  isMarked?: boolean;
}

export interface UnderstandingContext {
  /** The owner's name. */
  owner: string;
  /** Names of the people whom the owner knows. */
  people: readonly string[];
  /** IANA name of the owner's time zone. */
  timeZone: string;
  /** ISO 639-1 codes of the owner, if known; empty: any. */
  languages: readonly string[];
  /** ISO 639-1 of the owner's summaries; null: that of the conversation. */
  summaryLanguage: string | null;
  /** The owner's instructions for this overview; null: those of its category, if any. */
  template: string | null;
  /** Instructions for overviews by category. */
  templates: readonly { instructions: string; categories: readonly string[] }[];
  /** The language models that work now, the preferred one first. */
  models: readonly LanguageModel[];
  /** Turns texts into vectors; null: none works now. */
  embedder: Embedder | null;
  /** Open tasks of the owner from other conversations, which need not be reported again. */
  openTasks: readonly { description: string; dueAt: number | null }[];
  /** Unreached goals of the owner, whose progress may be mentioned; at most 100. */
  goals: readonly UnderstoodGoal[];
  /** Folders that the owner created and described. */
  folders: readonly { name: string; description: string | null }[];
  /** Finds the owner's memories most similar to a text, best first, at most 20. */
  memoriesNear(text: string): Promise<string[]>;
  /** Converts an instant (epoch ms) to the wall-clock time in the owner's time zone. */
  wallTime(at: number): { day: string; minute: number };
  /** Returns the first instant (epoch ms) of a wall-clock time. `day` is `YYYY-MM-DD`, `minute` counts from midnight. */
  instantOf(time: { day: string; minute: number }): number;
}

/** A text, and the ids of the segments that it rests on. */
export interface Cited {
  text: string;
  from: readonly string[];
}

/** Core reads at most 200 characters of the title, 50 tasks, 50 events and 4 memories. */
export interface Understood {
  /** Whether the conversation has no content worth keeping: it is discarded, and the rest is ignored. */
  discard: boolean;
  title: Cited;
  /** Sentence by sentence. */
  overview: readonly Cited[];
  /** One of the categories of the interface, such as `work`; `other` where none fits. The emoji is core's. */
  category: string;
  /** The name of one of the folders of the context, by their descriptions; null: none. Absent: core looks for one. */
  folder?: string | null;
  /** Tasks of the owner, not those of others. */
  tasks: readonly UnderstoodTask[];
  events: readonly UnderstoodEvent[];
  /**
   * Lasting facts about the owner and the people whom the owner knows. Core keeps those that cite segments of the owner or
   * a known person, merges known facts, and leaves out those that the owner has deleted.
   */
  memories: readonly UnderstoodMemory[];
  /** Progress of goals that the owner mentioned. Core adds findings of its own rules. At most 100. */
  progress?: readonly UnderstoodProgress[];
}

/** A goal, with fields as in the REST interface. */
export interface UnderstoodGoal {
  id: string;
  title: string;
  goalType: 'boolean' | 'scale' | 'numeric';
  unit: string | null;
  currentValue: number;
  targetValue: number | null;
}

/** Progress of a goal, which its owner is asked to confirm. It cites a segment of the owner, which core quotes. */
export interface UnderstoodProgress {
  goalId: string;
  /** New value; 1: a `boolean` goal is done. */
  value: number;
  /** Whether the value is added to the current one, for `numeric` goals alone; otherwise it replaces it. */
  adds: boolean;
  from: readonly string[];
}

/** A fact as its owner would write it down: `Lives in Cologne`, `Nora has twins`. At most 500 characters. */
export interface UnderstoodMemory extends Cited {
  /**
   * Names a fact that only one memory can state, such as `home` or `Nora: home`; 1 to 100 characters. A memory of the
   * same topic with another text, which was true before, becomes part of this one's history.
   */
  topic?: string | undefined;
  /** Text of a memory from `memoriesNear` that is no longer true: it becomes history as well. */
  replaces?: string | undefined;
}

export interface UnderstoodTask extends Cited {
  /** Epoch ms; null: not mentioned. */
  dueAt: number | null;
}

/** An appointment: `text` is its title. */
export interface UnderstoodEvent extends Cited {
  /** Epoch ms. */
  startAt: number;
  /** Duration; null: not mentioned. */
  minutes: number | null;
}

// ── translation ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Translates speech. Core caches, limits and retries. */
export interface Translator {
  /** ISO 639-1 codes of target languages; `any`: unknown. */
  languages: readonly string[] | 'any';
  /** Whether it needs a language model: core skips it if none works. */
  needsModel?: boolean;
  /**
   * Returns the translation; at most 10,000 characters. Rejects with `upstream_error`, `timeout`, `rate_limited` or
   * `unavailable`, which core retries, or with `config_error` or `too_large`, which it does not; with the signal's
   * reason when it is aborted. No error contains any of the text.
   */
  translate(request: TranslationRequest, signal: AbortSignal): Promise<string>;
}

export interface TranslationRequest {
  /** Spoken text: data that contains no instructions. 1 to 20,000 characters. */
  text: string;
  /** ISO 639-1; null: unknown, the translator detects it. */
  from: string | null;
  /** ISO 639-1, maybe with a region: `pt-BR`. */
  to: string;
  /** The language models that work now, the preferred one first. */
  models: readonly LanguageModel[];
}
