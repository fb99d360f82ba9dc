/** The contract of plugins that send to others: notification channels, calendars and webhook types. Types only. */
import type { z } from 'zod';
import type { ActionItem, Conversation, Device, DeviceHappening, Segment } from './model.ts';

// ── notifications ───────────────────────────────────────────────────────────────────────────────────────────────

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
