import { randomBytes } from 'node:crypto';
import type { App, Clock, Hook } from '../../contract/model.ts';
import type { Storage, Stores, WebhookType } from '../../contract/plugin.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId, newId } from '../ids.ts';

/** Seconds between two pieces of audio. */
const DEFAULT_SECONDS = 5;
const MAX_SECONDS = 60;
const SECRET_BYTES = 32;
/** How long the secret of before signs as well. */
const OVERLAP_MS = 24 * 3600_000;
/** Beside the default address, of one user and type. */
const MAX_LABELLED = 9;
/** Webhooks that an error names. */
const MAX_SHOWN = 10;

/** Types of webhooks, of the plugins that work now. */
export type HookTypes = () => readonly Pick<WebhookType, 'type' | 'aliases' | 'trigger'>[];

/** Throws where nothing may be sent to this address, whoever is there. */
export type CheckUrl = (url: string) => void;

/** A new secret, which is shown this once. */
export interface NewSecret {
  secret: string;
  /** Until when the one of before signs as well (epoch ms). */
  oldUntil: number;
}

/** After an address was set. */
interface SetHook {
  /** Null: there is no address any more. */
  hook: Hook | null;
  /** Signs the user's webhooks, where this is the first one. */
  newSecret: string | null;
}

export type Hooks = ReturnType<typeof createHooks>;

/** Where webhooks go: each user's own, of each type the default address and labelled ones. The only writer of hooks, together with who delivers to them. */
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
  /** `not_found` names the types that there are. */
  function typeOf(name: string): ReturnType<HookTypes>[number] {
    const found = typeNamed(webhooks(), name);
    if (found) return found;
    const known = webhooks().map(({ type }) => type);
    throw new AppError('not_found', `"${name}" is not a type of webhook. There are: ${known.join(', ')}`);
  }

  /**
   * Sends what happens to this address from now on, and once more where the server had given up.
   * @param text an address; of audio with `,` and the seconds between two pieces; '' or `,` for none
   * @param label tells several addresses of a type apart; '' is the default one
   */
  async function set(userId: string, typeName: string, text: string, label = ''): Promise<SetHook> {
    const { type, trigger } = typeOf(typeName);
    const { url, seconds } = parseAddress(text, trigger === 'audio');
    if (url !== '') requireUrl(checkUrl, url, ['body', 'url']);
    const done = await unlessRaced(() =>
      storage.transaction('set webhook', async (tx): Promise<SetHook> => {
        const now = clock.now();
        const own = await groupIn(tx, userId, null);
        const ofType = own.filter(hook => hook.type === type);
        const before = ofType.find(hook => hook.label === label);
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

  /** The default address. */
  async function ownOf(userId: string, typeName: string): Promise<Hook | null> {
    const { type } = typeOf(typeName);
    return (await groupIn(storage, userId, null)).find(hook => isDefault(hook) && hook.type === type) ?? null;
  }

  /** The user's own, and those of their apps, that have an address. */
  async function list(userId: string): Promise<Hook[]> {
    return (await storage.hooks.list(userId)).filter(({ url }) => url !== '');
  }

  /**
   * By its id, or one of the user's own by its label or type, where only one has that.
   * @throws AppError `not_found`; `conflict` where several have it
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

  /** Sends nothing there any more; what waits for it is given up. `not_found`; `conflict` for one of an app. */
  async function remove(userId: string, id: string): Promise<void> {
    await storage.transaction('remove webhook', async tx => {
      const hook = isId(id) ? await tx.hooks.get(userId, id) : null;
      if (!hook) throw new AppError('not_found', 'Webhook not found');
      if (hook.appId !== null)
        throw new AppError(
          'conflict',
          'This webhook belongs to an app and cannot be removed by itself; disable it, or change the triggers of the app',
        );
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
    list,
    find,
    enable,
    remove,
    rotate,
    /** As it was set; '' for none. */
    async address(userId: string, typeName: string): Promise<string> {
      const hook = await ownOf(userId, typeName);
      if (!hook) return '';
      return hook.seconds === null || hook.url === '' ? hook.url : `${hook.url},${hook.seconds}`;
    },
    /** The user's own of this type, likewise. */
    async enableOwn(userId: string, typeName: string, enabled: boolean): Promise<void> {
      const hook = await ownOf(userId, typeName);
      if (hook && hook.url !== '') await enable(userId, hook.id, enabled);
      else if (enabled)
        throw new AppError('conflict', 'This webhook has no address: set one, which enables it');
    },
    /** Whether the default address is sent to, by every name of every type. */
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

/** By its name, or one of its others. */
export function typeNamed<T extends Pick<WebhookType, 'type' | 'aliases'>>(
  types: readonly T[],
  name: string,
): T | undefined {
  return types.find(({ type, aliases = [] }) => type === name || aliases.includes(name));
}

/** `invalid_request`, with its place, where nothing may be sent there. */
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
 * Gives an app the hooks that it should have, one for each type that it is triggered on, and no others. An address that
 * is new is tried again. Resolves to their secret where they have one for the first time.
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

/** Another secret for all hooks of an app, or all of the user's own; for a day both sign. `conflict` where there are none. */
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

/** Stores it as it is to be. What waits for one that is switched off is not sent any more. */
async function switchIn(tx: Stores, hook: Hook, enabled: boolean, now: number): Promise<Hook> {
  const updatedAt = Math.max(now, hook.updatedAt + 1); // who serves it looks for another instant
  const switched = { ...hook, enabled, offReason: null, failingSince: null, updatedAt };
  await tx.hooks.put(switched);
  if (!enabled) await tx.deliveries.giveUp(hook.id, now);
  return switched;
}

/** Two requests at once may both find that there is none yet: the second finds the first one's. */
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

/** As the others of its group do it. */
function signingOf([other]: readonly Hook[]): Signing {
  if (!other) return { secret: newSigningSecret(), oldSecret: null, oldSecretUntil: null };
  return { secret: other.secret, oldSecret: other.oldSecret, oldSecretUntil: other.oldSecretUntil };
}

/** As Standard Webhooks has them. */
function newSigningSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
