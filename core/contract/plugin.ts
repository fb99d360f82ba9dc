/**
 * The contract between core and its plugins: types only. A plugin is a module whose default export is a `Plugin`;
 * `plugins/README.md` shows a complete one. Plugins import nothing from core but these types.
 */
import type { z } from 'zod';
import type { AppError, ErrorCode } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { ActionItem, Clock, Conversation, Device, DeviceHappening, Segment } from './model.ts';
import type { Storage } from './storage.ts';

export type { ErrorCode } from '../runtime/errors.ts';
export type { Log } from '../runtime/log.ts';
export type { ActionItem, Clock, Conversation, Device, Segment } from './model.ts';
export type * from './storage.ts';

/** Support for one vendor, engine or database. */
export interface Plugin<Options = never> {
  /** Unique, kebab-case; also the name of its section in the configuration. */
  name: string;
  /** The version of this contract. */
  api: 1;
  /** Description for people: what it is, and its purpose. */
  title: string;
  /**
   * Schema of its options. Core passes in zod, so a plugin needs no package for it. Mark a secret with
   * `.meta({ secret: true })`: it may then also come from a file, and is never printed. Mark the path of a program or
   * library to run with `.meta({ fileOnly: true })`: operators cannot set it on the page.
   */
  options?: (zod: typeof z) => z.ZodType<Options>;
  /** Opens resources and returns capabilities, within 10 seconds. After a failure, the `onStop` handlers run. */
  setup(context: PluginContext<Options>): Capabilities | Promise<Capabilities>;
  /**
   * Reports its state to `earshot doctor`, without `setup`, while a server may run on the same data. It
   * changes nothing.
   */
  diagnose?(context: DiagnosisContext<Options>): Promise<Diagnosis[]>;
}

export type DiagnosisContext<Options> = Pick<
  PluginContext<Options>,
  'options' | 'log' | 'clock' | 'signal' | 'dataDir' | 'error'
>;

/** Result of one check. */
export interface Diagnosis {
  /** Name of the checked part, for people: `schema`. */
  what: string;
  /** `note`: information. `doubt`: it works, with a risk. `bad`: it does not work. */
  level: 'good' | 'note' | 'doubt' | 'bad';
  detail: string;
  /** Remedy, in one line; null if nothing is wrong. */
  cure: string | null;
}

export interface PluginContext<Options> {
  options: Options;
  /** Tagged with the plugin's name; secrets are redacted. */
  log: Log;
  clock: Clock;
  /** Aborted when the plugin is to stop, also while `setup` still runs. */
  signal: AbortSignal;
  /** Private directory (mode 0700), which exists. A storage plugin gets the data directory itself. */
  dataDir: string;
  /** Small durable values of the plugin, in the database. Rejects for storage plugins. */
  state: PluginState;
  /** Fetches addresses that the operator configured. Requests are aborted when the plugin stops. */
  fetch: typeof fetch;
  /**
   * Fetches an address that a user gave: `https` to a public address, or a host that the operator allows. It is resolved,
   * checked, and connected to as checked; redirects are not followed; a response has at most 1 MiB. Rejects with
   * `forbidden` where the address may not be reached, and with `upstream_error` or `timeout` where it cannot be.
   */
  fetchUser: FetchUser;
  /** Registers a clean-up. When the plugin stops or its setup fails, they run newest first, 5 seconds each. */
  onStop(undo: () => void | Promise<void>): void;
  /** Creates an error that core understands. */
  error(code: ErrorCode, message: string, options?: { cause?: unknown; retryAfter?: number }): AppError;
  /**
   * Reports that the plugin failed: it is shown as degraded, stopped, and restarted after growing pauses, unless the
   * error's code shows that a retry cannot help.
   */
  fail(error: Error): void;
}

/** Values are JSON, at most 64 KiB each. `version` counts writes from 1. */
export interface PluginState {
  get(key: string): Promise<{ value: unknown; version: number } | null>;
  /** Writes if the stored version is `version` (0: the key does not exist). Resolves to whether it was written. */
  compareAndSet(key: string, version: number, value: unknown): Promise<boolean>;
  list(prefix?: string): Promise<string[]>;
  delete(key: string): Promise<void>;
}

/** Capabilities that `setup` returns, each at most once. */
export interface Capabilities {
  stt?: SttProvider;
  vad?: VadProvider;
  storage?: Storage;
  identity?: IdentityProvider;
  embedder?: Embedder;
  vectors?: VectorIndex;
  llm?: LanguageModel;
  vision?: VisionModel;
  understanding?: Understanding;
  translator?: Translator;
  speakers?: SpeakerModel;
  notify?: NotificationChannel;
  calendar?: CalendarOutlet;
  webhook?: WebhookType;
  page?: Page;
}

// ── speech recognition ──────────────────────────────────────────────────────────────────────────────────────────

export interface SttProvider {
  /** Required sample rate in Hz. Core resamples. */
  sampleRate: 16000;
  /** ISO 639-1 codes, or `'any'`. `multi` in the list: it detects the language. */
  languages: readonly string[] | 'any';
  /** Name of the model for people and in responses; null: it has none. */
  model: string | null;
  /** Whether its text lacks capitals and punctuation: core then adds them by a simple rule. Absent: false. */
  plain?: boolean;
  /** Resolves once the engine has answered; rejects with `config_error`, `timeout` or `upstream_error`. */
  open(hints: SttHints): Promise<SttSession>;
}

export interface SttHints {
  /** ISO 639-1, or `multi`. */
  language: string;
  /**
   * Names and words that are likely to be spoken, the most important first, at most 500, each 1 to 100 characters on one
   * line, for engines that accept them. They are data of a user: never log them. Absent: none.
   */
  vocabulary?: readonly string[];
  signal: AbortSignal;
}

/** Session for one stream of audio. Core calls `transcribe` for one utterance at a time. */
export interface SttSession {
  /**
   * Yields the text of one utterance, which may still be growing. Pieces are in order and do not overlap;
   * a final piece is never revised. Throws if the engine failed: core then continues, with the next provider or
   * this one, from the end of the last final piece. Core does the same if a piece is invalid: out of order,
   * empty, beyond the audio, longer than 10,000 characters, or with U+0000 in it. For silence, yield nothing.
   */
  transcribe(utterance: Utterance, signal: AbortSignal): AsyncIterable<Transcript>;
  /** Rejects if the engine is lost between utterances: core then opens another session at once. Never resolves. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/** Speech between two silences, at most 30 s. It can be read several times, from any sample. */
export interface Utterance {
  /** Position in its stream, in samples. */
  readonly startSample: number;
  /** Position after its last sample, in samples; undefined until the utterance has ended. */
  readonly endSample?: number | undefined;
  /** 0: the only channel; 1: the owner's side of a call, 2: the other. Each has its own session. */
  readonly channel: number;
  /** Signed 16-bit samples at 16 kHz mono from stream sample `from` on; ends when the utterance has ended. */
  pcm(from?: number): AsyncIterable<Int16Array>;
  /**
   * The audio from stream sample `from` on as a WAV file, once the utterance has ended: `endSample` is known then.
   * Rejects with the signal's reason as soon as that is aborted.
   */
  wav(from: number | undefined, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
}

/** Piece of transcribed speech. */
export interface Transcript {
  /** Text without surrounding spaces, never empty. */
  text: string;
  /** Positions in the stream, in samples. */
  startSample: number;
  endSample: number;
  /** Interim pieces never leave core. */
  final: boolean;
  /**
   * The engine's label of the voice: `SPEAKER_` and a number of two digits or more, `SPEAKER_00` for the first voice
   * of the session. A voice keeps its label within a session; labels of different sessions are unrelated.
   * Absent: the engine does not separate voices.
   */
  speaker?: string;
  /** ISO 639-1, if the engine detects the language. */
  language?: string;
}

// ── speakers ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Turns speech into vectors: pieces of one voice get similar vectors, whatever the words. The similarity of two is
 * the cosine of their angle. Core decides which pieces belong to one person, and who that is.
 */
export interface SpeakerModel {
  /** Names model and version permanently: vectors of different ids are never compared. 1 to 100 of `a-z0-9._-`. */
  id: string;
  dimensions: number;
  /** Similarity from which two pieces of some seconds count as one voice. */
  sameVoice: number;
  /** Similarity from which a voice may get the name of a person; at least `sameVoice`. */
  namedVoice: number;
  /**
   * Returns a vector of length 1 for a quarter of a second to 30 s of speech, at 16 kHz mono. Called when a pause
   * begins, and again if speech continues: calls are often aborted. A finished segment waits for at most 400 ms.
   * Rejects with the signal's reason when it is aborted.
   */
  embed(samples: Int16Array, signal: AbortSignal): Promise<Float32Array>;
}

// ── speech detection ────────────────────────────────────────────────────────────────────────────────────────────

export interface VadProvider {
  /** Samples at 16 kHz per probability. */
  windowSize: number;
  /** Opens a session for one stream. It is cheap, as the model is shared. */
  open(): VadSession;
}

export interface VadSession {
  /** Speech probability, 0 to 1, of each consecutive window; `samples.length` is a multiple of `windowSize`. */
  probabilities(samples: Int16Array): Float32Array | Promise<Float32Array>;
  /** Clears the state: the next samples are unrelated to the earlier ones. */
  reset(): void;
  close(): void;
}

// ── identity ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface IdentityProvider {
  /** `iss` of its tokens, by which core chooses among several providers. */
  issuer: string;
  /**
   * Verifies an ID token; rejects with `unauthorized`, with `forbidden` if its subject may not have an account here,
   * or with `unavailable` if that is unknown now. Core maps identities to users.
   */
  verify(token: string): Promise<VerifiedIdentity>;
  /**
   * Verifies an access token (RFC 9068) that was issued for this resource, an address; rejects like `verify`. Absent:
   * the provider issues none that can be verified here.
   */
  verifyAccess?(token: string, resource: string): Promise<VerifiedIdentity & { scopes: string[] }>;
  /**
   * Issues an ID token. Only for a provider whose users are added on this server; for a provider without
   * it, core creates an account for each subject at its first token.
   */
  issue?(user: {
    subject: string;
    name: string;
    /** Maximum lifetime; absent: the provider's default. */
    lifetimeMs?: number;
    /** Id of the session that the token belongs to: `verify` returns it again. Absent: none. */
    session?: string;
  }): Promise<IssuedToken>;
  /** Sign-in by password. Core decides which passwords are acceptable, and limits attempts. */
  passwords?: {
    /** Sets a password; null removes it. */
    set(subject: string, password: string | null): Promise<void>;
    /** Takes the same time for a wrong password, a subject without one, and null (no such account). */
    check(subject: string | null, password: string): Promise<boolean>;
    /** Tells whether a password is set. Without this method, no link of the first start is offered. */
    isSet?(subject: string): Promise<boolean>;
  };
  /** Signing keys of the tokens that it issues. */
  keys?: {
    /** Signs with a new key from now on. Existing tokens stay valid until they expire. */
    rotate(): Promise<void>;
    /** Returns a JSON Web Key Set (RFC 7517) for other verifiers of its tokens. */
    publicKeys(): Promise<JsonWebKeySet>;
  };
}

/** User that an ID token identifies. */
export interface VerifiedIdentity {
  issuer: string;
  subject: string;
  name: string;
  /** Epoch ms. */
  issuedAt: number;
  /** Epoch ms. From then on `verify` refuses the token, and connections opened with it are closed. */
  expiresAt: number;
  /** The session that core issued the token for; absent: none. */
  session?: string;
}

export interface IssuedToken {
  token: string;
  /** Epoch ms. */
  expiresAt: number;
}

export interface JsonWebKeySet {
  keys: { kty: string; kid: string; use: string; alg: string; [parameter: string]: unknown }[];
}

// ── meaning ─────────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── notifications ───────────────────────────────────────────────────────────────────────────────────────────────

export type FetchUser = (
  url: string,
  request: {
    method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PROPFIND' | 'REPORT';
    headers?: Record<string, string>;
    body?: string | Uint8Array;
    signal: AbortSignal;
  },
) => Promise<{ status: number; headers: Headers; body: Uint8Array }>;

/**
 * An outlet for notifications. A user has any number of addresses on it.
 *
 * @example
 * const notify: NotificationChannel<{ url: string }> = {
 *   address: z => z.strictObject({ url: z.url().describe('Where the pager answers') }),
 *   async send({ url }, { title, text }, signal) { … },
 * };
 */
export interface NotificationChannel<Address extends object = object> {
  /**
   * Schema of one address, as users enter it. Core passes in zod. Mark a field that is or holds a secret with `.meta({
   * secret: true })`: it is never shown again. A `z.url()` is fetched with `fetchUser`, and an address that `fetchUser`
   * would always refuse is refused when it is set. Core refuses a field that the schema does not have; within a nested
   * object `z.object` drops it, and `z.strictObject` refuses it.
   */
  address(zod: typeof z): z.ZodObject & z.ZodType<Address>;
  /** Values that a client needs to create an address, such as the public key of web push. */
  publicInfo?(): Readonly<Record<string, string>>;
  /**
   * Sends the message once, or throws: `gone` if the address no longer exists (it is switched off), `forbidden` or
   * `config_error` if a retry cannot help, else `upstream_error`, `timeout` or `rate_limited`, which are
   * retried. Core owns order, retries and limits.
   * @param address as `address` parsed it
   */
  send(address: Address, message: NotificationMessage, signal: AbortSignal): Promise<void>;
  /** Display of the account's state at an address, for smart homes. */
  home?: HomeDisplay<Address>;
}

/** Shows accounts in smart homes, and receives requests from there. Core calls one method of a home at a time. */
export interface HomeDisplay<Address extends object = object> {
  /** Tells whether a parsed address asks for the display. */
  wants(address: Address): boolean;
  /**
   * Receives all homes, at each start of the plugin and on each change: entries of other homes that an earlier run
   * showed are removed.
   * @param act performs a request from the home; never rejects
   */
  begin(
    homes: readonly string[],
    act: (home: string, request: HomeRequest) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Shows the whole state, after each change: missing entries are removed. Core retries after a rejection. */
  show(home: string, state: HomeState, signal: AbortSignal): Promise<void>;
  /** Reports an event. It is not retried. */
  tell(home: string, event: HomeEvent, signal: AbortSignal): Promise<void>;
}

export interface HomeState {
  /** Name of the account. */
  account: string;
  /** At most 100. `isTalking`: speech came from it within the last seconds. */
  devices: readonly { device: Device; name: string; isTalking: boolean }[];
  /** The latest finished conversation; null: none. */
  lastConversation: Conversation | null;
  /** Tasks that are open, at most 1000, in the order of lists. */
  openTasks: readonly ActionItem[];
  /** False: listening to the account's wearables is paused. */
  isListening: boolean;
}

export type HomeEvent =
  | { kind: 'conversation'; conversation: Conversation }
  | { kind: 'button'; deviceId: string; button: DeviceHappening['button']; at: number };

export type HomeRequest =
  /** Notifies the owner of the account. */
  | { kind: 'notify'; text: string }
  /** Creates a task. */
  | { kind: 'task'; text: string }
  /** Completes a task. */
  | { kind: 'done'; id: string }
  /** Resumes listening to the account's wearables, or pauses it until it is resumed. */
  | { kind: 'listen'; isOn: boolean };

export interface NotificationMessage {
  /** UUID, constant over retries: a service with such ids shows the message once. */
  id: string;
  title: string;
  /** May come from anyone: plain text, never markup. At most 4000 characters. */
  text: string;
  /** Epoch ms of its cause. */
  at: number;
  /** Sender: the name of an app, or `Earshot`. */
  app: string;
  /** `action_item_update`; see `Notification.event`. */
  event: string;
  /** Reason for sending it, for people. */
  rule: string;
  urgency: 'low' | 'normal' | 'high';
  /** Link that mutes notifications of this kind; null: the server has no public address. */
  muteUrl: string | null;
  data: Readonly<Record<string, unknown>>;
}

// ── calendars ───────────────────────────────────────────────────────────────────────────────────────────────────

/** External calendars, into which core writes tasks and appointments. A user connects one. */
export interface CalendarOutlet<Address extends object = object> {
  /**
   * Schema of a calendar's address, as its user enters it. Core passes in zod. Mark a secret with `.meta({ secret: true
   * })`: it is never shown again. A `url` that `fetchUser` would always refuse is refused when it is set. With
   * `z.strictObject`, a field that it does not have is refused; `z.object` drops it.
   */
  address(zod: typeof z): z.ZodObject & z.ZodType<Address>;
  /** Opens a calendar. Rejects with `config_error` if a person has to act, such as enter another password. */
  open(address: Address, signal: AbortSignal): Promise<RemoteCalendar>;
}

/** Open calendar. Entries are identified by a UID that ends with `@earshot`; others are not listed. */
export interface RemoteCalendar {
  /** For people. */
  name: string;
  /** Whether it stores tasks (`VTODO`) in addition to appointments. */
  takesTasks: boolean;
  list(): Promise<{ uid: string; etag: string }[]>;
  /** Reads entries; missing ones are left out. */
  read(uids: readonly string[]): Promise<RemoteEntry[]>;
  /**
   * Writes an entry if its version is `etag` (null: it does not exist), and otherwise rejects with
   * `conflict`. Resolves to the new version; null: unknown.
   */
  write(uid: string, text: string, etag: string | null): Promise<string | null>;
  /** Removes an entry in the same way. A missing entry counts as removed. */
  remove(uid: string, etag: string): Promise<void>;
}

export interface RemoteEntry {
  uid: string;
  etag: string;
  /** iCalendar (RFC 5545). */
  text: string;
}

// ── webhooks ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Type of webhook: renders an event as one request. Pure: core signs, sends, retries and logs it. With its trigger as the
 * parameter, `render` gets events of that trigger alone.
 *
 * @example
 * const webhook: WebhookType<'conversation'> = {
 *   type: 'acme_board',
 *   trigger: 'conversation',
 *   render: ({ conversation }) => …,
 * };
 */
export interface WebhookType<Trigger extends WebhookEvent['trigger'] = WebhookEvent['trigger']> {
  /** Name on the wire: `memory_created`. */
  type: string;
  /** Other names that existing clients use. */
  aliases?: readonly string[];
  /** Events that it gets. `segments` and `audio` are live: they are kept in memory, and dropped when late. */
  trigger: Trigger;
  /** Renders an event; null: nothing is sent. The query is appended to that of the address. */
  render(event: WebhookEvent & { trigger: Trigger }): WebhookRequest | null;
  /** Interprets the receiver's response, which may request something; null: it does not. */
  answer?(json: unknown): WebhookAnswer | null;
}

/** Event for a webhook. `wire` is its form in the REST interface, ready to be sent. */
export type WebhookEvent =
  | {
      trigger: 'segments';
      userId: string;
      conversationId: string;
      /** New or changed segments. */
      segments: readonly Segment[];
      /** The same segments in their wire form. */
      wire: readonly Readonly<Record<string, unknown>>[];
    }
  | {
      trigger: 'audio';
      userId: string;
      /** Hz: 16000, or 8000 for a stream of 8 kHz. */
      sampleRate: number;
      /** Mono. */
      pcm: Int16Array;
    }
  | {
      trigger: 'conversation';
      userId: string;
      conversation: Conversation;
      /** With `transcript_segments` (`text`, `speaker_name`, `is_user`, `start`, `end`, …) and folder. */
      wire: Readonly<Record<string, unknown>>;
    }
  | {
      trigger: 'day';
      userId: string;
      /** `YYYY-MM-DD` in the user's time zone. */
      day: string;
      timeZone: string;
      /** A few sentences. */
      summary: string;
      conversations: readonly Conversation[];
      actionItems: readonly ActionItem[];
      /** All of the above in wire form. */
      wire: Readonly<Record<string, unknown>>;
    }
  | {
      trigger: 'device';
      userId: string;
      deviceId: string;
      kind: DeviceHappening['kind'];
      /** Event and wearable in wire form. */
      wire: Readonly<Record<string, unknown>>;
    };

/**
 * Request of a webhook. Core sets all headers, and signs it. A receiver that needs its own credential takes one that
 * the user puts into the query of the address, or runs behind a relay that checks the signature.
 */
export interface WebhookRequest {
  query: Readonly<Record<string, string>>;
  contentType: string;
  body: string | Uint8Array;
}

export type WebhookAnswer =
  /** Message to show unchanged. */
  | { message: string }
  /** Prompt for a message, filled with permitted data. */
  | { prompt: string; params: readonly string[]; context: Readonly<Record<string, unknown>> | null }
  /** Request that is refused: the reason, for the log, without any of its text. */
  | { ignored: string };

// ── pages ───────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Static files for browsers. Core reads the directory once, at the first request, and serves those files alone: at most
 * 500, together 20 MiB, each of a known file type. All are sent with a strict
 * Content-Security-Policy: scripts, styles and connections of this server alone, nothing inline; scripts create markup
 * through the trusted types policy `earshot` or not at all.
 */
export interface Page {
  /** `/`, or `/name/` in lower-case letters, digits and dashes. Routes of the REST interface take precedence. */
  path: string;
  /** Absolute path of a directory with an `index.html`. */
  directory: string;
  /** First segments of paths below `path` that are routed by the page's script: `index.html` is sent for them. */
  views?: readonly string[];
  /** Folder of files with a hash of their content in the name, which browsers may cache without limit. */
  immutable?: string;
}
