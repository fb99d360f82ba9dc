/**
 * The contract between core and its plugins: types only. A plugin is a module whose default export is a `Plugin`;
 * `plugins/README.md` shows a complete one. Plugins import nothing from core but these types. Each capability is described in
 * the file that its type is imported from below.
 */
import type { z } from 'zod';
import type { AppError, ErrorCode } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { IdentityProvider } from './identity.ts';
import type {
  Embedder,
  LanguageModel,
  Translator,
  Understanding,
  VectorIndex,
  VisionModel,
} from './language.ts';
import type { Clock } from './model.ts';
import type { CalendarOutlet, NotificationChannel, WebhookType } from './outlets.ts';
import type { SpeakerModel, SttProvider, VadProvider } from './speech.ts';
import type { Storage } from './storage.ts';

export type { ErrorCode } from '../runtime/errors.ts';
export type { Log } from '../runtime/log.ts';
export type * from './identity.ts';
export type * from './language.ts';
export type { ActionItem, Clock, Conversation, Device, Segment } from './model.ts';
export type * from './outlets.ts';
export type * from './speech.ts';
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
   * Names what it sends over the network, as the subject of a sentence: `Speech`, `What was said`. It is shown with the
   * title, and `earshot recogniser` does not serve such a recogniser. Absent: nothing.
   */
  sends?: string;
  /**
   * Schema of its options. Core passes in zod, so a plugin needs no package for it. Mark a secret with
   * `.meta({ secret: true })`: it may then also come from a file, and is never printed. Mark the path of a program or
   * library to run with `.meta({ fileOnly: true })`: operators cannot set it on the page.
   */
  options?: (zod: typeof z) => z.ZodType<Options>;
  /** Opens resources and returns capabilities, within 30 seconds. After a failure, the `onStop` handlers run. */
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

/** Sends one request to an address that a user gave; see `PluginContext.fetchUser`. */
export type FetchUser = (
  url: string,
  request: {
    method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PROPFIND' | 'REPORT';
    headers?: Record<string, string>;
    body?: string | Uint8Array;
    signal: AbortSignal;
  },
) => Promise<{ status: number; headers: Headers; body: Uint8Array }>;

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
