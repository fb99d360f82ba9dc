import { randomBytes } from 'node:crypto';
import type { App, Clock, Hook } from '../../contract/model.ts';
import type { Storage, Stores, WebhookType } from '../../contract/plugin.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId, newId } from '../ids.ts';

/** Default interval in seconds between two pieces of audio. */
const DEFAULT_SECONDS = 5;
const MAX_SECONDS = 60;
const SECRET_BYTES = 32;
/** How long the previous secret is also used for signing. */
const OVERLAP_MS = 24 * 3600_000;
/** Maximum number of labelled addresses of one user and type. */
const MAX_LABELLED = 9;
/** Maximum number of webhooks that an error lists. */
const MAX_SHOWN = 10;

/** Types of webhooks whose plugins run now. */
export type HookTypes = () => readonly Pick<WebhookType, 'type' | 'aliases' | 'trigger'>[];

/** Throws where nothing may be sent to this address. */
export type CheckUrl = (url: string) => void;

/** A new secret, which cannot be shown again. */
export interface NewSecret {
  secret: string;
  /** Time until which the previous one signs too (epoch ms). */
  oldUntil: number;
}

/** Result of setting an address. */
interface SetHook {
  /** Null: the address was removed. */
  hook: Hook | null;
  /** The new signing secret, where this is the user's first webhook. */
  newSecret: string | null;
}

export type Hooks = ReturnType<typeof createHooks>;

/**
 * Addresses of webhooks: for each user and type the default one, and labelled ones. The only writer of hooks, apart
 * from the deliverer.
 */
export function createHooks({
  storage,
  clock,
  events,
  webhooks,
  checkUrl,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  webhooks: HookTypes;
  checkUrl: CheckUrl;
}) {
  /** `not_found` lists the existing types. */
  function typeOf(name: string): ReturnType<HookTypes>[number] {
    const found = typeNamed(webhooks(), name);
    if (found) return found;
    const known = webhooks().map(({ type }) => type);
    throw new AppError('not_found', `"${name}" is not a type of webhook. There are: ${known.join(', ')}`);
  }

  /**
   * Sets an address, and enables it again where the server had given up.
   * @param text an address; for audio followed by `,` and the seconds between two pieces; '' or `,` removes it
   * @param options.label tells several addresses of a type apart; '' is the default one
   * @param options.isNew `conflict` where there is one already
   */
  async function set(
    userId: string,
    typeName: string,
    text: string,
    { label = '', isNew = false }: { label?: string; isNew?: boolean } = {},
  ): Promise<SetHook> {
    const { type, trigger } = typeOf(typeName);
    const { url, seconds } = parseAddress(text, trigger === 'audio');
    if (url !== '') requireUrl(checkUrl, url, ['body', 'url']);
    const done = await unlessRaced(() =>
      storage.transaction('set webhook', async (tx): Promise<SetHook> => {
        const now = clock.now();
        const own = await groupIn(tx, userId, null);
        const ofType = own.filter(hook => hook.type === type);
        const before = ofType.find(hook => hook.label === label);
        if (isNew && before && before.url !== '') throw taken(type);
        if (url === '') {
          if (before) await switchIn(tx, { ...before, url }, false, now);
          return { hook: null, newSecret: null };
        }
        if (!before && label !== '') refuseTooMany(ofType);
        const hook = before ?? hookOf({ userId, appId: null, type, label, ...signingOf(own) }, now);
        const set = await switchIn(tx, { ...hook, url, seconds }, true, now);
        return { hook: set, newSecret: own.length === 0 ? set.secret : null };
      }),
    );
    events.emit('hooks.changed', { userId });
    return done;
  }

  /**
   * Changes the type or the address of one of the user's own webhooks. One that the server has switched off is tried
   * again. `not_found`; `conflict` for one of an app, and where there is one of this type and label.
   */
  async function change(userId: string, id: string, edit: { type?: string; url?: string }): Promise<Hook> {
    const changed = await storage.transaction('change webhook', async tx => {
      const hook = await ownIn(tx, userId, id);
      const { type, trigger } = typeOf(edit.type ?? hook.type);
      const isAudio = trigger === 'audio';
      const kept = isAudio && hook.seconds !== null ? `${hook.url},${hook.seconds}` : hook.url;
      const { url, seconds } = parseAddress(edit.url ?? kept, isAudio);
      requireUrl(checkUrl, url, ['body', 'url']);
      const others = (await groupIn(tx, userId, null)).filter(
        other => other.id !== id && other.type === type && other.label === hook.label,
      );
      if (others.some(other => other.url !== '')) throw taken(type);
      for (const other of others) await tx.hooks.remove(userId, other.id);
      if (type !== hook.type) await tx.deliveries.giveUp(id, clock.now());
      const isOn = hook.enabled || hook.offReason !== null;
      return switchIn(tx, { ...hook, type, url, seconds }, isOn, clock.now());
    });
    events.emit('hooks.changed', { userId });
    return changed;
  }

  /** The default address. */
  async function ownOf(userId: string, typeName: string): Promise<Hook | null> {
    const { type } = typeOf(typeName);
    return (await groupIn(storage, userId, null)).find(hook => isDefault(hook) && hook.type === type) ?? null;
  }

  /** Lists the user's own webhooks, and those of their apps, that have an address. */
  async function list(userId: string): Promise<Hook[]> {
    return (await storage.hooks.list(userId)).filter(({ url }) => url !== '');
  }

  /**
   * Finds a webhook by its id, or one of the user's own by its label or type where only one matches.
   * @throws AppError `not_found`; `conflict` where several match
   */
  async function find(userId: string, given: string): Promise<Hook> {
    const all = await list(userId);
    const type = typeNamed(webhooks(), given)?.type ?? given;
    const isMeant = (hook: Hook) => hook.appId === null && (hook.type === type || hook.label === given);
    const byId = all.filter(({ id }) => id === given);
    const found = byId.length > 0 ? byId : all.filter(isMeant);
    const [only] = found;
    if (found.length > 1)
      throw new AppError(
        'conflict',
        `There are several webhooks "${given}"; name one by its id: ${found.map(nameOf).join(', ')}`,
      );
    if (!only) throw new AppError('not_found', noneCalled(given, all));
    return only;
  }

  /** Removes a webhook and its pending deliveries. `not_found`; `conflict` for one of an app. */
  async function remove(userId: string, id: string): Promise<void> {
    await storage.transaction('remove webhook', async tx => {
      const hook = await ownIn(tx, userId, id);
      await tx.deliveries.giveUp(hook.id, clock.now());
      await tx.hooks.remove(userId, hook.id);
    });
    events.emit('hooks.changed', { userId });
  }

  /** `not_found`. */
  async function enable(userId: string, id: string, enabled: boolean): Promise<Hook> {
    const switched = await storage.transaction('switch webhook', async tx => {
      const hook = isId(id) ? await tx.hooks.get(userId, id) : null;
      if (!hook || hook.url === '') throw new AppError('not_found', 'Webhook not found');
      return switchIn(tx, hook, enabled, clock.now());
    });
    events.emit('hooks.changed', { userId: switched.appId === null ? userId : null });
    return switched;
  }

  /** Rotates the secret of the user's own webhooks. `conflict` where there are none. */
  async function rotate(userId: string): Promise<NewSecret> {
    return storage.transaction('rotate signing secret', tx => rotateIn(tx, userId, null, clock.now()));
  }

  return {
    set,
    change,
    /** `not_found`. */
    async get(userId: string, id: string): Promise<Hook> {
      const hook = isId(id) ? await storage.hooks.get(userId, id) : null;
      if (!hook || hook.url === '') throw new AppError('not_found', 'Webhook not found');
      return hook;
    },
    list,
    find,
    enable,
    remove,
    rotate,
    /** Returns an address in the form in which it was set; '' for none. */
    async address(userId: string, typeName: string): Promise<string> {
      const hook = await ownOf(userId, typeName);
      if (!hook) return '';
      return hook.seconds === null || hook.url === '' ? hook.url : `${hook.url},${hook.seconds}`;
    },
    /** The same for the user's webhook of this type. */
    async enableOwn(userId: string, typeName: string, enabled: boolean): Promise<void> {
      const hook = await ownOf(userId, typeName);
      if (hook && hook.url !== '') await enable(userId, hook.id, enabled);
      else if (enabled)
        throw new AppError('conflict', 'This webhook has no address: set one, which enables it');
    },
    /** Returns whether the default address is enabled, by every name of every type. */
    async status(userId: string): Promise<Record<string, boolean>> {
      const own = await groupIn(storage, userId, null);
      const enabled = new Set(own.filter(hook => isDefault(hook) && hook.enabled).map(hook => hook.type));
      return Object.fromEntries(
        webhooks().flatMap(({ type, aliases = [] }) =>
          [type, ...aliases].map(name => [name, enabled.has(type)] as const),
        ),
      );
    },
    /** Returns the signing secret of the user's own webhooks; null: there is none yet. */
    async signing(userId: string): Promise<Pick<Hook, 'secret' | 'oldSecretUntil'> | null> {
      return (await groupIn(storage, userId, null))[0] ?? null;
    },
  };
}

/** `not_found`; `conflict` for one of an app. */
async function ownIn(tx: Stores, userId: string, id: string): Promise<Hook> {
  const hook = isId(id) ? await tx.hooks.get(userId, id) : null;
  if (!hook) throw new AppError('not_found', 'Webhook not found');
  if (hook.appId === null) return hook;
  throw new AppError(
    'conflict',
    'This webhook belongs to an app, and is not changed or removed by itself; disable it, or change the triggers of the app',
  );
}

function taken(type: string): AppError {
  return new AppError(
    'conflict',
    `There is a webhook ${type} of this name already: give this one another name, or change that one`,
  );
}

function isDefault({ label }: Hook): boolean {
  return label === '';
}

function refuseTooMany(ofType: readonly Hook[]): void {
  const labelled = ofType.filter(hook => !isDefault(hook));
  if (labelled.length < MAX_LABELLED) return;
  throw new AppError(
    'conflict',
    `There are ${MAX_LABELLED} labelled addresses of this type already: remove one first`,
  );
}

function nameOf({ id, type, label }: Hook): string {
  return label === '' ? `${id} (${type})` : `${id} (${type}, ${label})`;
}

function noneCalled(given: string, all: readonly Hook[]): string {
  if (all.length === 0)
    return `There is no webhook "${given}", nor any other: earshot hook set <user> <type> <url>`;
  const shown = all.slice(0, MAX_SHOWN).map(nameOf).join(', ');
  const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : '';
  return `There is no webhook "${given}". There are: ${shown}${more}`;
}

/** Finds a type by its name or an alias. */
export function typeNamed<T extends Pick<WebhookType, 'type' | 'aliases'>>(
  types: readonly T[],
  name: string,
): T | undefined {
  return types.find(({ type, aliases = [] }) => type === name || aliases.includes(name));
}

/** `invalid_request`, with the field, where nothing may be sent to the address. */
export function requireUrl(checkUrl: CheckUrl, url: string, loc: string[]): void {
  try {
    if (UNPRINTABLE.test(url) || !url.isWellFormed())
      throw new AppError('forbidden', 'An address has no blanks and no control characters');
    checkUrl(url);
  } catch (error) {
    const { message } = toAppError(error);
    const issues = [{ loc, msg: message, type: 'url_forbidden' }];
    throw new AppError('invalid_request', message, { cause: error, issues });
  }
}

const UNPRINTABLE = /[\s\p{Cc}]/u;

/** Abbreviates a secret for lists: its beginning and its end. */
export function secretHint(secret: string): string {
  return `${secret.slice(0, 10)}...${secret.slice(-4)}`;
}

/**
 * Creates the hooks that an app should have, one for each of its trigger types, and removes all others. A new address
 * is enabled again. Resolves to their secret where they have one for the first time.
 */
export async function followAppIn(
  tx: Stores,
  types: ReturnType<HookTypes>,
  app: App,
  now: number,
): Promise<string | null> {
  const { userId, webhookUrl: url } = app;
  const wanted = url === null ? [] : app.triggersOn;
  const before = await groupIn(tx, userId, app.id);
  for (const hook of before)
    if (!wanted.includes(hook.type)) {
      await tx.deliveries.giveUp(hook.id, now);
      await tx.hooks.remove(userId, hook.id);
    }
  const signing = signingOf(before);
  for (const type of wanted) {
    const kept = before.find(hook => hook.type === type);
    const hook = kept ?? hookOf({ userId, appId: app.id, type, label: '', ...signing }, now);
    const seconds = typeNamed(types, type)?.trigger === 'audio' ? DEFAULT_SECONDS : hook.seconds;
    if (url !== null && kept?.url !== url) await switchIn(tx, { ...hook, url, seconds }, true, now);
  }
  return before.length === 0 && wanted.length > 0 ? signing.secret : null;
}

/**
 * Rotates the secret of all hooks of an app, or of all of the user's own; for a day both sign. `conflict` where there
 * are none.
 */
export async function rotateIn(
  tx: Stores,
  userId: string,
  appId: string | null,
  now: number,
): Promise<NewSecret> {
  const hooks = await groupIn(tx, userId, appId);
  if (hooks.length === 0) throw new AppError('conflict', 'There is no webhook yet: set one up first');
  const secret = newSigningSecret();
  const oldUntil = now + OVERLAP_MS;
  for (const hook of hooks)
    await tx.hooks.update(userId, hook.id, {
      secret,
      oldSecret: hook.secret,
      oldSecretUntil: oldUntil,
      updatedAt: Math.max(now, hook.updatedAt + 1),
    });
  return { secret, oldUntil };
}

/** Lists the webhooks that share a secret. */
async function groupIn(stores: Stores, userId: string, appId: string | null): Promise<Hook[]> {
  return (await stores.hooks.list(userId)).filter(hook => hook.appId === appId);
}

/** Stores a hook's new state. Pending deliveries of one that is switched off are not sent. */
async function switchIn(tx: Stores, hook: Hook, enabled: boolean, now: number): Promise<Hook> {
  const updatedAt = Math.max(now, hook.updatedAt + 1); // its deliverer waits for another time
  const switched = { ...hook, enabled, offReason: null, failingSince: null, updatedAt };
  await tx.hooks.put(switched);
  if (!enabled) await tx.deliveries.giveUp(hook.id, now);
  return switched;
}

/** Two simultaneous requests may both find no secret: the second one uses that of the first. */
async function unlessRaced<T>(work: () => Promise<T>): Promise<T> {
  return work().catch(error => {
    if (toAppError(error).code !== 'conflict') throw error;
    return work();
  });
}

function parseAddress(text: string, isAudio: boolean): { url: string; seconds: number | null } {
  const given = text.trim();
  if (!isAudio) return { url: given === ',' ? '' : given, seconds: null };
  const [, url = given, written = ''] = /^(.*),\s*(\d*)$/.exec(given) ?? [];
  const seconds = written === '' ? DEFAULT_SECONDS : Number(written);
  if (seconds >= 1 && seconds <= MAX_SECONDS) return { url: url.trim(), seconds };
  const msg = `The seconds after the address should be from 1 to ${MAX_SECONDS}`;
  throw new AppError('invalid_request', msg, {
    issues: [{ loc: ['body', 'url'], msg, type: 'value_error' }],
  });
}

type Signing = Pick<Hook, 'secret' | 'oldSecret' | 'oldSecretUntil'>;

function hookOf(about: Pick<Hook, 'userId' | 'appId' | 'type' | 'label'> & Signing, now: number): Hook {
  return {
    ...about,
    id: newId(now),
    url: '',
    seconds: null,
    enabled: false,
    offReason: null,
    failingSince: null,
    createdAt: now,
    updatedAt: 0, // until it is switched on
  };
}

/** Uses the secrets of the other hooks in its group. */
function signingOf([other]: readonly Hook[]): Signing {
  if (!other) return { secret: newSigningSecret(), oldSecret: null, oldSecretUntil: null };
  return { secret: other.secret, oldSecret: other.oldSecret, oldSecretUntil: other.oldSecretUntil };
}

/** Secret in the form of Standard Webhooks. */
function newSigningSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
