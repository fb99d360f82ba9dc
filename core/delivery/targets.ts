import type { ChannelAddress, Clock, Delivery, Hook, TargetKind } from '../contract/model.ts';
import type { NotificationChannel, NotificationMessage, Stores } from '../contract/plugin.ts';
import { withinLimit } from '../runtime/deadline.ts';
import { type AppError, toAppError } from '../runtime/errors.ts';
import type { Outbound } from './outbound.ts';
import { signatureHeaders } from './signature.ts';

/** Message as it is sent, the same on each attempt. */
export type Message = Pick<Delivery, 'id' | 'query' | 'contentType'> & { body: string | Uint8Array };

/** Result of one attempt. */
export interface Sent {
  /** `final`: a retry cannot help. `gone`: the target no longer exists. */
  verdict: 'delivered' | 'retry' | 'final' | 'gone';
  /** Status of the HTTP response. */
  status: number | null;
  /** Error message for people; null: none. */
  error: string | null;
  /** The beginning of the answer. */
  answer: string | null;
  /** The answer, as far as it was read. */
  body: Uint8Array | null;
  /** Seconds after which the receiver accepts another request. */
  retryAfter: number | undefined;
}

/** Current state of a target of deliveries. */
export interface Target {
  kind: TargetKind;
  id: string;
  /** Owner of the target. */
  userId: string;
  appId: string | null;
  /** For people: the type of a hook, the label of an address. */
  name: string;
  /** As of `Hook`; kept up to date by `follow`. */
  failingSince: number | null;
  /** Whether `follow` switched it off. */
  isOff: boolean;
  /** Sends once. Rejects only with the signal's reason. */
  send(message: Message, signal: AbortSignal): Promise<Sent>;
}

/** Notifies the owner that a target was switched off, within the same transaction. */
export type NotifyOwner = (
  tx: Stores,
  target: Pick<Target, 'kind' | 'id' | 'userId' | 'appId' | 'name'>,
  reason: string,
) => Promise<void>;

const ANSWER_BYTES = 1024;
const LIMIT_MS = 15_000;
const OFF_AFTER_MS = 72 * 3_600_000;
/** In addition to all from 500 on. */
const RETRIED_STATUSES = [408, 425, 429];

export type Targets = ReturnType<typeof createTargets>;

/** Webhooks and addresses under one interface: they receive deliveries, fail, and are switched off. */
export function createTargets({
  clock,
  outbound,
  channel,
  notifyOwner,
}: {
  clock: Clock;
  outbound: Pick<Outbound, 'post'>;
  /** The plugin of this name. Throws while it does not work. */
  channel(name: string): NotificationChannel;
  notifyOwner: NotifyOwner;
}) {
  function ofHook(hook: Hook): Target {
    const { id, userId, appId, type: name, failingSince } = hook;
    return {
      kind: 'hook',
      id,
      userId,
      appId,
      name,
      failingSince,
      isOff: false,
      send: (message, signal) => post(hook, message, signal),
    };
  }

  function ofAddress(address: ChannelAddress): Target {
    const { id, userId, label: name, failingSince } = address;
    return {
      kind: 'channel',
      id,
      userId,
      appId: null,
      name,
      failingSince,
      isOff: false,
      send: (message, signal) => notify(address, message, signal),
    };
  }

  /** Finds a target; null: it was removed, or switched off. */
  async function find(stores: Stores, kind: TargetKind, id: string): Promise<Target | null> {
    if (kind === 'hook') {
      const hook = await stores.hooks.target(id);
      return hook?.enabled ? ofHook(hook) : null;
    }
    const address = await stores.channelAddresses.target(id);
    return address?.enabled ? ofAddress(address) : null;
  }

  async function post(hook: Hook, message: Message, signal: AbortSignal): Promise<Sent> {
    const { query, contentType, body } = message;
    const posted = await outbound.post(withQuery(hook.url, query), {
      headers: { 'content-type': contentType, ...signatureHeaders(hook, message, clock.now()) },
      body,
      signal,
    });
    if (posted.status === null) return failure(posted.error);
    const { status, retryAfter } = posted;
    const verdict = verdictOf(status);
    return {
      verdict,
      status,
      error: verdict === 'delivered' ? null : whyNot(status),
      answer: textOf(posted.body),
      body: posted.body,
      retryAfter,
    };
  }

  async function notify(address: ChannelAddress, { body }: Message, signal: AbortSignal): Promise<Sent> {
    const limit = { clock, limitMs: LIMIT_MS, what: `answer of ${address.channel}` };
    try {
      const message: NotificationMessage = JSON.parse(String(body)); // ours
      await withinLimit(limit, signal, ended =>
        channel(address.channel).send(address.address, message, ended),
      );
      return { ...NOTHING, verdict: 'delivered', error: null };
    } catch (error) {
      signal.throwIfAborted();
      return failure(toAppError(error, 'upstream_error'));
    }
  }

  /**
   * Updates the target after an attempt: a step of a transaction, or null if nothing changes. A target that failed for
   * too long, or is gone, is switched off.
   * @param isFirst whether this is the first of several attempts of its delivery, which is too little to judge by
   */
  function follow(
    target: Target,
    { verdict }: Sent,
    { at, isFirst }: { at: number; isFirst: boolean },
  ): ((tx: Stores) => Promise<void>) | null {
    const before = target.failingSince;
    if (verdict === 'delivered') {
      target.failingSince = null;
      return before === null ? null : tx => patch(tx, target, { failingSince: null });
    }
    const since = before ?? at;
    target.failingSince = since;
    const reason = whyOff(verdict, isFirst ? 0 : at - since);
    if (reason !== null) {
      target.isOff = true;
      return tx => switchOff(tx, target, reason);
    }
    return before === null ? tx => patch(tx, target, { failingSince: since }) : null;
  }

  async function switchOff(tx: Stores, target: Target, offReason: string): Promise<void> {
    const { failingSince } = target;
    if (!(await find(tx, target.kind, target.id))) return; // already
    await patch(tx, target, { enabled: false, offReason, failingSince });
    await tx.deliveries.giveUp(target.id, clock.now());
    await notifyOwner(tx, target, offReason);
  }

  return { ofHook, find, follow };
}

function whyOff(verdict: Sent['verdict'], failingMs: number): string | null {
  if (verdict === 'gone') return 'It answered that it is gone';
  return failingMs >= OFF_AFTER_MS ? 'Nothing could be delivered for 72 hours' : null;
}

type Standing = Partial<Pick<Hook, 'enabled' | 'offReason' | 'failingSince'>>;

async function patch(tx: Stores, { kind, userId, id }: Target, changes: Standing): Promise<void> {
  if (kind === 'hook') await tx.hooks.update(userId, id, changes);
  else await tx.channelAddresses.update(userId, id, changes);
}

const NOTHING = { status: null, answer: null, body: null, retryAfter: undefined } as const;

function failure(error: AppError): Sent {
  const { code, message, retryable, expose, retryAfter } = error;
  const verdict = code === 'gone' ? 'gone' : retryable ? 'retry' : 'final';
  return { ...NOTHING, verdict, error: expose ? message : 'It failed within this server', retryAfter };
}

function verdictOf(status: number): Sent['verdict'] {
  if (status >= 200 && status < 300) return 'delivered';
  if (status === 410) return 'gone';
  return status >= 500 || RETRIED_STATUSES.includes(status) ? 'retry' : 'final';
}

function whyNot(status: number): string {
  if (status >= 300 && status < 400) return `It answered ${status}: redirects are not followed`;
  return `It answered ${status}`;
}

/** Appends a query to the one that the address already has. */
function withQuery(url: string, query: string): string {
  if (query === '') return url;
  const target = new URL(url);
  target.search = target.search === '' ? query : `${target.search.slice(1)}&${query}`;
  return target.href;
}

function textOf(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, ANSWER_BYTES), { stream: true });
  return text.replaceAll('\0', '');
}
