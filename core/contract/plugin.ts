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

/** A vendor, as a value. */
export interface Plugin<Options = never> {
  /** Unique, kebab-case; also the name of its section in the configuration. */
  name: string;
  /** The version of this contract. */
  api: 1;
  /** For people: what it is, and what it is good for. */
  title: string;
  /**
   * The schema of its options. Core hands in zod, so a plugin needs no package for it. Mark a secret with
   * `.meta({ secret: true })`: it may then also come from a file, and is never printed. Mark the path of a program or
   * library to run with `.meta({ fileOnly: true })`: operators cannot set it on the page.
   */
  options?: (zod: typeof z) => z.ZodType<Options>;
  /** Opens what it needs and returns what it can do. Has 10 seconds; on failure everything pushed to `onStop` is undone. */
  setup(context: PluginContext<Options>): Capabilities | Promise<Capabilities>;
  /**
   * For `earshot doctor`: what can be told of its state without `setup`, while a server may run on the same data. It
   * looks, and changes nothing.
   */
  diagnose?(context: DiagnosisContext<Options>): Promise<Diagnosis[]>;
}

export type DiagnosisContext<Options> = Pick<
  PluginContext<Options>,
  'options' | 'log' | 'clock' | 'signal' | 'dataDir' | 'error'
>;

/** One thing that was looked at. */
export interface Diagnosis {
  /** For people: `schema`. */
  what: string;
  /** `note`: good to know. `doubt`: it works, and may not for long. `bad`: it does not work. */
  level: 'good' | 'note' | 'doubt' | 'bad';
  detail: string;
  /** The way out in one line; null where nothing is wrong. */
  cure: string | null;
}

export interface PluginContext<Options> {
  options: Options;
  /** Tagged with the plugin's name; secrets are redacted. */
  log: Log;
  clock: Clock;
  /** Aborted when the plugin is to stop, also while `setup` still runs. */
  signal: AbortSignal;
  /** A directory of its own, created, mode 0700. A storage plugin gets the data directory itself. */
  dataDir: string;
  /** Small durable values of its own, in the database. Rejects for storage plugins, which load before it. */
  state: PluginState;
  /** For addresses that the operator configured. Aborted when the plugin stops. */
  fetch: typeof fetch;
  /**
   * For an address that a user gave: `https` to a public address, or a host that the operator allows. It is resolved,
   * checked, and connected to as checked; redirects are not followed; an answer has at most 1 MiB. Rejects with
   * `forbidden` where the address may not be reached, and with `upstream_error` or `timeout` where it cannot be.
   */
  fetchUser: FetchUser;
  /** Undone newest first when the plugin stops or its setup fails; each has 5 seconds. */
  onStop(undo: () => void | Promise<void>): void;
  /** Makes the error that core understands. */
  error(code: ErrorCode, message: string, options?: { cause?: unknown; retryAfter?: number }): AppError;
  /**
   * Reports that the plugin failed: it is shown as degraded, undone, and started again with growing pauses, unless the
   * error's code is one that trying again cannot help.
   */
  fail(error: Error): void;
}

/** Values are JSON, at most 64 KiB each. `version` counts writes from 1. */
export interface PluginState {
  get(key: string): Promise<{ value: unknown; version: number } | null>;
  /** Writes if the stored version still is `version` (0: not there yet). Resolves to whether it did. */
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
  /** Sample rate that it needs, in Hz. Core resamples. */
  sampleRate: 16000;
  /** ISO 639-1 codes, or `'any'`. `multi` in the list: it detects the language by itself. */
  languages: readonly string[] | 'any';
  /** Shown to people and in voice answers; null when the engine has no name for it. */
  model: string | null;
  /** Its text has neither capitals nor punctuation: core gives it both, by a plain rule. Absent: it has them. */
  plain?: boolean;
  /** Resolves only after the engine really answered; rejects with `config_error`, `timeout` or `upstream_error`. */
  open(hints: SttHints): Promise<SttSession>;
}

export interface SttHints {
  /** ISO 639-1, or `multi`. */
  language: string;
  /**
   * Names and words that are likely to be said, the most important first, at most 500, each 1 to 100 characters on one
   * line: for engines that can be told them. They are data of a user: never logged. Absent: there are none.
   */
  vocabulary?: readonly string[];
  signal: AbortSignal;
}

/** Lives as long as one stream of audio. Core calls `transcribe` for one utterance at a time. */
export interface SttSession {
  /**
   * The text of one utterance, which is still growing when handed over. Pieces come in order and do not overlap;
   * a final piece is never taken back. Throws when the engine failed: core then starts again, at the next provider or
   * here, from the end of the last final piece. Core does the same where a piece is not as it should be: out of order,
   * empty, beyond what was read, longer than 10,000 characters, or with U+0000 in it. For silence, yield nothing.
   */
  transcribe(utterance: Utterance, signal: AbortSignal): AsyncIterable<Transcript>;
  /** Rejects when the engine is lost between utterances: core then opens another at once. Never resolves. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/** Speech between two silences, at most 30 s. Readable from any sample, several times, while it is kept. */
export interface Utterance {
  /** Position in its stream, in samples. */
  readonly startSample: number;
  /** Position after its last sample, in samples; undefined until the utterance has ended. */
  readonly endSample?: number | undefined;
  /** 0: there is one; 1: the owner's side of a call, 2: the other. Each has a session of its own. */
  readonly channel: number;
  /** Signed 16-bit samples at 16 kHz mono from stream sample `from` on; ends when the utterance has ended. */
  pcm(from?: number): AsyncIterable<Int16Array>;
  /**
   * The audio from stream sample `from` on as a WAV file, once the utterance has ended: `endSample` is known then.
   * Rejects with the signal's reason as soon as that is aborted.
   */
  wav(from: number | undefined, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
}

/** A piece of what was said. Where nothing was said there is none. */
export interface Transcript {
  /** Never empty, without spaces around it. */
  text: string;
  /** Positions in the stream, in samples. */
  startSample: number;
  endSample: number;
  /** Interim pieces never leave core. */
  final: boolean;
  /**
   * The engine's label of the voice: `SPEAKER_` and a number of two digits or more, `SPEAKER_00` for the first that it
   * heard. The same voice has the same label throughout a session; labels of two sessions have nothing in common.
   * Absent: the engine does not tell voices apart.
   */
  speaker?: string;
  /** ISO 639-1, where the engine detects the language. */
  language?: string;
}

// ── speakers ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Turns speech into vectors: pieces of one voice get vectors of a small angle, whatever is said. The likeness of two is
 * the cosine of that angle. Which pieces are of one person, and who that is, core decides.
 */
export interface SpeakerModel {
  /** Names model and version, for ever: vectors of different ids are never compared. 1 to 100 of `a-z0-9._-`. */
  id: string;
  dimensions: number;
  /** Likeness from which two pieces of some seconds are of one voice. */
  sameVoice: number;
  /** Likeness from which a voice may be given the name of a person; at least `sameVoice`. */
  namedVoice: number;
  /**
   * One vector of length 1 of speech of a quarter of a second to 30 s, at 16 kHz mono. Called when a pause begins, and
   * again where speech goes on after it: calls are often aborted. A segment whose text is there waits for at most 400 ms.
   * Rejects with the signal's reason when it is aborted.
   */
  embed(samples: Int16Array, signal: AbortSignal): Promise<Float32Array>;
}

// ── speech detection ────────────────────────────────────────────────────────────────────────────────────────────

export interface VadProvider {
  /** Samples at 16 kHz that one probability stands for. */
  windowSize: number;
  /** Cheap: one per stream. The model is shared. */
  open(): VadSession;
}

export interface VadSession {
  /** Speech probability, 0 to 1, of each consecutive window; `samples.length` is a multiple of `windowSize`. */
  probabilities(samples: Int16Array): Float32Array | Promise<Float32Array>;
  /** Forgets what came before: the next samples do not follow on. */
  reset(): void;
  close(): void;
}

// ── identity ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface IdentityProvider {
  /** The `iss` of its tokens: it chooses among several providers. */
  issuer: string;
  /**
   * Checks an ID token; rejects with `unauthorized`, with `forbidden` where whom it is for may have no account here,
   * or, where that cannot be told now, with `unavailable`. The mapping to our users is core's.
   */
  verify(token: string): Promise<VerifiedIdentity>;
  /**
   * Checks an access token (RFC 9068) that was issued for this resource, an address; rejects as `verify` does. Absent:
   * the provider issues none that could be checked here.
   */
  verifyAccess?(token: string, resource: string): Promise<VerifiedIdentity & { scopes: string[] }>;
  /**
   * Where the provider is this server itself, whose users are added by hand: makes an ID token. For a provider without
   * this, core makes an account for each subject at its first token.
   */
  issue?(user: {
    subject: string;
    name: string;
    /** Absent: as long as the provider thinks right. A shorter one is kept to. */
    lifetimeMs?: number;
    /** Id of the session that the token belongs to: `verify` returns it again. Absent: none. */
    session?: string;
  }): Promise<IssuedToken>;
  /** Where it signs users in by password. Which passwords are good enough, and how often one may try, is core's. */
  passwords?: {
    /** With null it is taken away. */
    set(subject: string, password: string | null): Promise<void>;
    /** Takes the same time for a wrong password, a subject without one, and null: nobody. */
    check(subject: string | null, password: string): Promise<boolean>;
    /** Whether there is one. Without this nobody is welcomed by a link. */
    isSet?(subject: string): Promise<boolean>;
  };
  /** Signing keys of the tokens that it issues. */
  keys?: {
    /** From now on another one signs; what the ones before have signed stays valid until it expires. */
    rotate(): Promise<void>;
    /** For whoever else checks its tokens: a JSON Web Key Set (RFC 7517). */
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
  /** Epoch ms. From then on `verify` refuses the token; what was opened with it is closed. */
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

/** Turns texts into vectors: texts of like meaning get vectors of a small angle. */
export interface Embedder {
  /** Names model and version, for ever: vectors of different ids are never compared. 1 to 100 of `a-z0-9._-`. */
  id: string;
  dimensions: number;
  /**
   * One vector of length 1 for each text, in order; all zeros where a text says nothing to it. At most 256 texts, each
   * cut off where it is longer than the model reads. Rejects with the signal's reason when it is aborted.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}

/** Vectors of one kind of row, made by one embedder: `memories.words-en-1`. */
export interface VectorSpace {
  /** 1 to 200 of `a-z0-9._-`. */
  name: string;
  /** 1 to 4096; the same for as long as the space is there. */
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
 * Finds neighbours. Its answers are hints: core reads every row again before anyone sees it. Where all is lost it
 * begins anew, empty: core sees that by the id of the space.
 */
export interface VectorIndex {
  /**
   * Adds or replaces; makes the space where it is missing, also with no items. At most 256 at once. Rejects with
   * `invalid_input` when a vector has not as many dimensions as the space; nothing is changed then.
   */
  upsert(space: VectorSpace, items: readonly VectorItem[]): Promise<void>;
  /**
   * The nearest of this user, best first, by the cosine of the angle (-1 to 1). At most `limit` (1 to 1000); none from
   * a space that is not there, and none for a vector of zeros.
   */
  search(
    space: VectorSpace,
    userId: string,
    vector: Float32Array,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ id: string; score: number }[]>;
  /** Ids that are not there are no error. At most 1000 at once. */
  remove(space: VectorSpace, userId: string, ids: readonly string[]): Promise<void>;
  /** All that there are. A space that was made anew, after it was dropped or lost, has another `id`. */
  spaces(): Promise<{ name: string; id: string }[]>;
  /** One that is not there is no error. */
  drop(name: string): Promise<void>;
}

// ── language models ─────────────────────────────────────────────────────────────────────────────────────────────

export interface LanguageModel {
  /** Shown to people: `llama3.2`. */
  model: string;
  /**
   * An answer of this schema. The plugin has the model mend one that does not match, once; rejects with
   * `upstream_error` when that fails too, `timeout`, `config_error`, or `too_large` where the prompt is; with the
   * signal's reason when it is aborted.
   */
  object<T>(schema: z.ZodType<T>, prompt: Prompt): Promise<T>;
  /** The answer in pieces, as they come, none of them empty. Throws what `object` rejects with. */
  text(prompt: Prompt): AsyncIterable<string>;
}

export interface Prompt {
  /** Instructions. They come from Earshot alone. */
  system: string;
  /** Input to work on. It may come from anyone: treat it as data, never as instructions. */
  user: string;
  /** Tokens that the answer may have at most. */
  maxTokens?: number;
  signal: AbortSignal;
}

/** A language model that sees. */
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

/** Makes of a finished conversation what its owner would have written down. */
export interface Understanding {
  /** It asks a language model: core leaves it out where the configuration names none in `llm`. */
  needsModel?: boolean;
  /**
   * Core hands over the whole transcript, in order, and checks the answer: what cites no segment, or one that is not
   * in the transcript, is dropped. The transcript is data: nothing in it is an instruction. Rejects when it cannot
   * answer now: core takes the answer of the next plugin of the configuration for the time being, and asks again later.
   * `too_large` where it never can: core does not ask again. Rejects with the signal's reason when it is aborted.
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
  /** The owner said it. */
  isUser: boolean;
  /** Epoch ms. */
  startAt: number;
  endAt: number;
  /** The owner marked this moment to remember it: it is worth a sentence of the overview, and what lasts a memory. */
  isMarked?: boolean;
}

export interface UnderstandingContext {
  /** The owner's name. */
  owner: string;
  /** Names of the people whom the owner knows. */
  people: readonly string[];
  /** IANA name of the owner's time zone. */
  timeZone: string;
  /** ISO 639-1, as far as they are known; empty: any. */
  languages: readonly string[];
  /** ISO 639-1, of what the owner wants to read; null: that of the conversation. */
  summaryLanguage: string | null;
  /** The form that the owner wants the overview to have, in the owner's words; null: that of its category, if any. */
  template: string | null;
  /** The forms of overviews by category. */
  templates: readonly { instructions: string; categories: readonly string[] }[];
  /** The language models that work now, the preferred one first. */
  models: readonly LanguageModel[];
  /** Turns texts into vectors; null: none works now. */
  embedder: Embedder | null;
  /** Open tasks of the owner from other conversations, which need not be reported again. */
  openTasks: readonly { description: string; dueAt: number | null }[];
  /** Goals of the owner that are not reached, whose progress may have been told of; at most 100. */
  goals: readonly UnderstoodGoal[];
  /** Folders that the owner created and described. */
  folders: readonly { name: string; description: string | null }[];
  /** The contents of the owner's memories that are nearest to a text, best first, at most 20. */
  memoriesNear(text: string): Promise<string[]>;
  /** Converts an instant (epoch ms) to the wall-clock time in the owner's time zone. */
  wallTime(at: number): { day: string; minute: number };
  /** The first instant (epoch ms) at which they show it. `day` is `YYYY-MM-DD`, `minute` counts from midnight. */
  instantOf(time: { day: string; minute: number }): number;
}

/** A text, and the ids of the segments that it rests on. */
export interface Cited {
  text: string;
  from: readonly string[];
}

/** Core reads at most 200 characters of the title, 50 tasks, 50 events and 4 memories. */
export interface Understood {
  /** Nothing was said that is worth keeping: the conversation is discarded, and the rest is not read. */
  discard: boolean;
  title: Cited;
  /** Sentence by sentence. */
  overview: readonly Cited[];
  /** One of the categories of the interface, such as `work`; `other` where none fits. The emoji is core's. */
  category: string;
  /** The name of one of the folders of the context, by their descriptions; null: none. Absent: core looks for one. */
  folder?: string | null;
  /** The owner's alone, not those of others. */
  tasks: readonly UnderstoodTask[];
  events: readonly UnderstoodEvent[];
  /**
   * Lasting facts about the owner and the people whom the owner knows. Core keeps those that rest on what the owner or
   * a known person said, merges what is known already, and leaves out what the owner has deleted.
   */
  memories: readonly UnderstoodMemory[];
  /** Progress of goals that the owner told of. Core adds what its own rules find. At most 100. */
  progress?: readonly UnderstoodProgress[];
}

/** A goal as `GoalJson` of the interface has it. */
export interface UnderstoodGoal {
  id: string;
  title: string;
  goalType: 'boolean' | 'scale' | 'numeric';
  unit: string | null;
  currentValue: number;
  targetValue: number | null;
}

/** Progress of a goal, which its owner is asked to confirm. It rests on a segment of the owner; core quotes that one. */
export interface UnderstoodProgress {
  goalId: string;
  /** 1 where a `boolean` goal is done. */
  value: number;
  /** The value comes on top of what was there, which `numeric` goals alone allow; otherwise it takes its place. */
  adds: boolean;
  from: readonly string[];
}

/** A fact as its owner would write it down: `Lives in Cologne`, `Nora has twins`. At most 500 characters. */
export interface UnderstoodMemory extends Cited {
  /**
   * Names what only one memory can tell, such as `home` or `Nora: home`; 1 to 100 characters. A memory of the same topic
   * that says something else, and was true before, becomes a part of this one's history.
   */
  topic?: string | undefined;
  /** The text of a memory, as `memoriesNear` gave it, that is no longer true: it becomes history as well. */
  replaces?: string | undefined;
}

export interface UnderstoodTask extends Cited {
  /** Epoch ms; null: none was said. */
  dueAt: number | null;
}

/** An appointment: `text` is its title. */
export interface UnderstoodEvent extends Cited {
  /** Epoch ms. */
  startAt: number;
  /** Null: none was said. */
  minutes: number | null;
}

// ── translation ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Turns what was said in one language into another. Core caches, bounds and repeats. */
export interface Translator {
  /** ISO 639-1 codes of what it translates into; `any`: it cannot tell. */
  languages: readonly string[] | 'any';
  /** It asks a language model: core leaves it out where none works. */
  needsModel?: boolean;
  /**
   * The same in another language; at most 10,000 characters. Rejects with `upstream_error`, `timeout`, `rate_limited` or
   * `unavailable`, which core tries again, or with what it does not: `config_error`, `too_large`; with the signal's
   * reason when it is aborted. No error holds a word of the text.
   */
  translate(request: TranslationRequest, signal: AbortSignal): Promise<string>;
}

export interface TranslationRequest {
  /** Spoken text: data that contains no instructions. 1 to 20,000 characters. */
  text: string;
  /** ISO 639-1; null: not known, the translator detects it. */
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
   * Sends it once, or throws: `gone` where the address is not there any more (it is switched off), `forbidden` or
   * `config_error` where trying again cannot help, else `upstream_error`, `timeout` or `rate_limited`, which are tried
   * again. Core keeps order, repeats, and limits.
   * @param address as `address` parsed it
   */
  send(address: Address, message: NotificationMessage, signal: AbortSignal): Promise<void>;
  /** Where an address may also show the state of its owner's account, as a smart home does. */
  home?: HomeDisplay<Address>;
}

/** Shows accounts in smart homes, and takes requests from there. Core calls one method of a home at a time. */
export interface HomeDisplay<Address extends object = object> {
  /** Whether the address asks for it; as `address` parsed it. */
  wants(address: Address): boolean;
  /**
   * All homes that there are, at each start of the plugin and whenever that changes: what an earlier life of the plugin
   * showed for any other is taken away.
   * @param act does what somebody in the home asks for; never rejects
   */
  begin(
    homes: readonly string[],
    act: (home: string, request: HomeRequest) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** The whole state, after each change: what is not in it any more is taken away. Core tries again what it rejects. */
  show(home: string, state: HomeState, signal: AbortSignal): Promise<void>;
  /** Something happened just now. It is lost where this rejects. */
  tell(home: string, event: HomeEvent, signal: AbortSignal): Promise<void>;
}

export interface HomeState {
  /** Name of the account. */
  account: string;
  /** At most 100. `isTalking`: speech came from it within the last seconds. */
  devices: readonly { device: Device; name: string; isTalking: boolean }[];
  /** The latest that is over; null: there is none. */
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
  /** Notify the owner of the account. */
  | { kind: 'notify'; text: string }
  /** A new task. */
  | { kind: 'task'; text: string }
  /** The task with this id is done. */
  | { kind: 'done'; id: string }
  /** Listen to the account's wearables, or pause until it is asked for again. */
  | { kind: 'listen'; isOn: boolean };

export interface NotificationMessage {
  /** A UUID, the same at each try: an outlet that knows such ids shows it once. */
  id: string;
  title: string;
  /** May come from anyone: plain text, never markup. At most 4000 characters. */
  text: string;
  /** Epoch ms: when it came to be. */
  at: number;
  /** Sender: the name of an app, or `Earshot`. */
  app: string;
  /** `action_item_update`; see `Notification.event`. */
  event: string;
  /** For people: why it was sent. */
  rule: string;
  urgency: 'low' | 'normal' | 'high';
  /** Where one tap ends notifications of this kind; null where the server has no address of its own. */
  muteUrl: string | null;
  data: Readonly<Record<string, unknown>>;
}

// ── calendars ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Calendars elsewhere, into which core writes tasks and appointments. A user connects one. */
export interface CalendarOutlet<Address extends object = object> {
  /**
   * Address of a calendar, as its user gives it. Core hands in zod. Mark a secret with `.meta({ secret: true })`: it is
   * never shown again. A `url` that `fetchUser` would refuse wherever its name leads is refused when it is set.
   * With `z.strictObject`, a field that it does not have is refused; `z.object` drops it.
   */
  address(zod: typeof z): z.ZodObject & z.ZodType<Address>;
  /** Rejects with `config_error` where a person has to do something, such as enter another password. */
  open(address: Address, signal: AbortSignal): Promise<RemoteCalendar>;
}

/** A calendar that was opened. Entries are known by their UID, which ends with `@earshot`; it shows no others. */
export interface RemoteCalendar {
  /** For people. */
  name: string;
  /** It stores tasks (`VTODO`), and not appointments alone. */
  takesTasks: boolean;
  list(): Promise<{ uid: string; etag: string }[]>;
  /** Reads the entries that are there. */
  read(uids: readonly string[]): Promise<RemoteEntry[]>;
  /**
   * Writes an entry where its version there still is `etag` (null: it is not there), and rejects with `conflict` where
   * it is not. Resolves to the new version; null: the calendar does not say.
   */
  write(uid: string, text: string, etag: string | null): Promise<string | null>;
  /** The same for its removal. One that is not there any more is removed. */
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
 * A kind of webhook: what happened, as one request. Pure: core signs, sends, repeats and logs it. With its trigger as the
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
  /** Its wire name: `memory_created`. */
  type: string;
  /** Other names of it that clients in the field use. */
  aliases?: readonly string[];
  /** `segments` and `audio` are about now: they are kept in memory, and dropped when they are late. */
  trigger: Trigger;
  /** Null: nothing is to be sent. The query is appended to that of the address. */
  render(event: WebhookEvent & { trigger: Trigger }): WebhookRequest | null;
  /** Reads what the receiver answered, where that may ask for something. Null: it asks for nothing. */
  answer?(json: unknown): WebhookAnswer | null;
}

/** `wire` is what the REST interface answers for the same thing, ready to be sent. */
export type WebhookEvent =
  | {
      trigger: 'segments';
      userId: string;
      conversationId: string;
      /** New, or changed since the last. */
      segments: readonly Segment[];
      /** The same segments. */
      wire: readonly Readonly<Record<string, unknown>>[];
    }
  | {
      trigger: 'audio';
      userId: string;
      /** Hz: 16000, or 8000 where the stream is. */
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
      /** All of that. */
      wire: Readonly<Record<string, unknown>>;
    }
  | {
      trigger: 'device';
      userId: string;
      deviceId: string;
      kind: DeviceHappening['kind'];
      /** Event and wearable, as they go over the wire. */
      wire: Readonly<Record<string, unknown>>;
    };

/**
 * Headers are core's alone: it signs each request. A receiver that wants a credential of its own takes one that the user
 * writes into the query of the address, or stands behind a small relay that checks the signature.
 */
export interface WebhookRequest {
  query: Readonly<Record<string, string>>;
  contentType: string;
  body: string | Uint8Array;
}

export type WebhookAnswer =
  /** To be shown as it is. */
  | { message: string }
  /** To be made into a message from what the user allowed. */
  | { prompt: string; params: readonly string[]; context: Readonly<Record<string, unknown>> | null }
  /** It asks for something that it does not get: why, for the log, without a word of it. */
  | { ignored: string };

// ── pages ───────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Static files for browsers. Core reads the directory once, at the first request, and serves those files alone: at most
 * 500, together 20 MiB, each of a type that it knows by its ending. All are sent with a strict
 * Content-Security-Policy: scripts, styles and connections of this server alone, nothing inline; scripts make markup
 * through the trusted types policy `earshot` or not at all.
 */
export interface Page {
  /** `/`, or `/name/` in small letters, digits and dashes. The routes of the REST interface come first. */
  path: string;
  /** Absolute; holds an `index.html`. */
  directory: string;
  /** First segments of paths below `path` that the page's own script shows: `index.html` is sent for each of them. */
  views?: readonly string[];
  /** A folder of the directory whose files carry a hash of their content in their names: browsers may keep them for ever. */
  immutable?: string;
}
