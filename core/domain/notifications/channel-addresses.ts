import { z } from 'zod';
import { nearest } from '../../../config/nearest.ts';
import type { ChannelAddress, Clock } from '../../contract/model.ts';
import type { NotificationChannel, NotificationMessage, Storage, Stores } from '../../contract/plugin.ts';
import { withinLimit } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { type CheckUrl, requireUrl } from '../apps/hooks.ts';
import { isId, newId } from '../ids.ts';
import { limitTests } from '../test-limit.ts';

/** An outlet that works now. */
export interface LoadedChannel {
  /** Name of the plugin. */
  name: string;
  title: string;
  channel: NotificationChannel;
}

export interface AddressDraft {
  channel: string;
  /** Absent: the channel's name. */
  label?: string | undefined;
  address: Record<string, unknown>;
}

export interface AddressEdit {
  label?: string | undefined;
  /** Fields that take the place of those that it has; null takes one away, what is left out stays, as secrets must. */
  address?: Record<string, unknown> | undefined;
  enabled?: boolean | undefined;
}

/** An address as it may be shown. */
export interface ShownAddress extends Omit<ChannelAddress, 'address' | 'userId'> {
  /** Without its secrets. */
  address: Record<string, unknown>;
  /** The names of the secrets that it has. */
  secrets: string[];
}

/** Error of a test message; null: it was sent. */
export type TestOutcome = string | null;

const MAX_ADDRESSES = 20;
const MAX_ADDRESS_CHARS = 4000;
/** Mistakes of an address that are named. */
const MAX_ISSUES = 20;
const MAX_LABEL_CHARS = 100;
/** Unknown fields up to this length are compared with those that are known. */
const MAX_FIELD_CHARS = 100;
const TEST_LIMIT_MS = 15_000;

export type ChannelAddresses = ReturnType<typeof createChannelAddresses>;

/** Where users are told of notifications, and the only writer of that. Secrets go in and do not come out. */
export function createChannelAddresses({
  storage,
  clock,
  log,
  checkUrl,
  outlets,
}: {
  storage: Storage;
  clock: Clock;
  log: Log;
  checkUrl: CheckUrl;
  /** Lists the channels that work now. */
  outlets(): LoadedChannel[];
}) {
  async function channels() {
    return outlets().map(({ name, title, channel }) => ({
      name,
      title,
      schema: jsonSchemaOf(channel),
      publicInfo: channel.publicInfo?.() ?? {},
    }));
  }

  function channelOf(name: string): LoadedChannel {
    const found = outlets().find(each => each.name === name);
    if (found) return found;
    const names = outlets().map(each => each.name);
    throw invalid(
      ['channel'],
      names.length > 0
        ? `should be one of: ${names.join(', ')}, and not ${JSON.stringify(name)}`
        : 'cannot be chosen: no channel is loaded',
    );
  }

  /** Parsed; `invalid_request` also where nothing may be sent there. */
  function allowedAddress(channel: NotificationChannel, given: Record<string, unknown>) {
    const parsed = parseAddress(channel, given);
    for (const field of fieldsOf(channel, ({ format }) => format === 'uri'))
      if (typeof parsed[field] === 'string') requireUrl(checkUrl, parsed[field], ['body', 'address', field]);
    return parsed;
  }

  function show({ address, userId: _, ...row }: ChannelAddress): ShownAddress {
    const channel = outlets().find(each => each.name === row.channel)?.channel;
    const secret = channel
      ? fieldsOf(channel, schema => schema.secret === true)
      : new Set(Object.keys(address)); // nobody knows which
    const visible = Object.entries(address).filter(([field]) => !secret.has(field));
    const secrets = Object.keys(address).filter(field => secret.has(field));
    return { ...row, address: Object.fromEntries(visible), secrets };
  }

  /** The same address once more is the one that is there: a browser subscribes at each visit. */
  async function add(userId: string, { channel: name, label, address }: AddressDraft): Promise<ShownAddress> {
    const parsed = allowedAddress(channelOf(name).channel, address);
    const now = clock.now();
    const added = await storage.transaction('add channel address', async tx => {
      const all = await tx.channelAddresses.list(userId);
      const known = all.find(each => each.channel === name && isSame(each.address, parsed));
      if (known) return switchOnIn(tx, known);
      if (all.length >= MAX_ADDRESSES)
        throw new AppError('conflict', `There are ${MAX_ADDRESSES} addresses already: delete one first`);
      const made: ChannelAddress = {
        ...{ id: newId(now), userId, channel: name, label: labelOf(label ?? name), address: parsed },
        ...{ enabled: true, offReason: null, failingSince: null, createdAt: now },
      };
      await tx.channelAddresses.insert(made);
      return made;
    });
    return show(added);
  }

  async function edit(userId: string, id: string, changes: AddressEdit): Promise<ShownAddress> {
    const { label, address, enabled } = changes;
    const changed = await storage.transaction('edit channel address', async tx => {
      const before = await find(tx, userId, id);
      if (address) refuseUnknown(channelOf(before.channel).channel, address); // also one that is to go
      const merged =
        address &&
        allowedAddress(channelOf(before.channel).channel, withoutNull({ ...before.address, ...address }));
      const patch = {
        ...(label === undefined ? {} : { label: labelOf(label) }),
        ...(merged ? { address: merged } : {}),
        ...(enabled === undefined ? {} : { enabled, offReason: null, failingSince: null }),
      };
      await tx.channelAddresses.update(userId, id, patch);
      return { ...before, ...patch };
    });
    return show(changed);
  }

  /**
   * Sends one message at once, whatever the user's settings. Resolves to what went wrong, or null. `rate_limited`
   * where there were too many: the address may be somebody else's.
   */
  async function test(userId: string, id: string): Promise<TestOutcome> {
    const row = await find(storage, userId, id);
    await limitTests({ storage, clock }, 'notification', userId);
    const limit = { clock, limitMs: TEST_LIMIT_MS, what: 'answer of the channel' };
    try {
      const { channel } = channelOf(row.channel);
      const address = parseAddress(channel, row.address);
      await withinLimit(limit, new AbortController().signal, signal =>
        channel.send(address, testMessage(clock.now()), signal),
      );
      return null;
    } catch (error) {
      const { code, expose, message } = toAppError(error);
      log.info({ channel: row.channel, address: id, code }, 'a test notification was not sent');
      return expose ? message : 'The channel failed';
    }
  }

  return {
    channels,
    add,
    edit,
    test,
    list: async (userId: string): Promise<ShownAddress[]> =>
      (await storage.channelAddresses.list(userId)).map(show),
    /** `not_found`. */
    async remove(userId: string, id: string): Promise<void> {
      const removed = isId(id) && (await storage.channelAddresses.remove(userId, id));
      if (!removed) throw notFound();
    },
  };
}

/** Whether the address is a browser or a phone itself, and not a service that somebody reads elsewhere, too. */
export function isDevice({ channel }: Pick<ChannelAddress, 'channel'>): boolean {
  return channel === 'web-push';
}

/** Notifications are pushed to no device any more. Resolves to those that were. */
export async function removeDevicesIn(tx: Stores, userId: string): Promise<ChannelAddress[]> {
  const devices = (await tx.channelAddresses.list(userId)).filter(isDevice);
  for (const { id } of devices) await tx.channelAddresses.remove(userId, id);
  return devices;
}

async function switchOnIn(tx: Stores, known: ChannelAddress): Promise<ChannelAddress> {
  const patch = { enabled: true, offReason: null, failingSince: null };
  await tx.channelAddresses.update(known.userId, known.id, patch);
  return { ...known, ...patch };
}

async function find(stores: Stores, userId: string, id: string): Promise<ChannelAddress> {
  const found = isId(id) ? await stores.channelAddresses.get(userId, id) : null;
  if (!found) throw notFound();
  return found;
}

function notFound(): AppError {
  return new AppError('not_found', 'Address not found');
}

/** `invalid_request` names every field that the channel wants otherwise, or does not know. */
function parseAddress(channel: NotificationChannel, given: Record<string, unknown>): Record<string, unknown> {
  refuseUnknown(channel, given);
  const result = channel.address(z).safeParse(given);
  if (!result.success) {
    const issues = result.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
      loc: ['body', 'address', ...path.map(step => (typeof step === 'number' ? step : String(step)))],
      msg: message,
      type: 'value_error',
    }));
    const told = issues.map(({ loc, msg }) => `${loc.slice(2).join('.') || 'address'}: ${msg}`);
    throw new AppError('invalid_request', told.join('; '), { issues });
  }
  const parsed = Object.entries(result.data).filter(([, value]) => value !== undefined);
  if (JSON.stringify(result.data).length > MAX_ADDRESS_CHARS)
    throw invalid(['address'], `should have at most ${MAX_ADDRESS_CHARS} characters`);
  return Object.fromEntries(parsed);
}

/** A schema of a plugin may drop what it does not know, and what was meant would go unseen: `servre` for `server`. */
function refuseUnknown(channel: NotificationChannel, given: Record<string, unknown>): void {
  const { properties = {}, additionalProperties } = jsonSchemaOf(channel);
  if (additionalProperties) return; // it takes any
  const known = Object.keys(properties);
  const unknown = Object.keys(given).filter(field => !known.includes(field));
  if (unknown.length === 0) return;
  const issues = unknown.slice(0, MAX_ISSUES).map(field => ({
    loc: ['body', 'address', field],
    msg: `is not a field of this channel; ${meantBy(field, known)}`,
    type: 'extra_forbidden',
  }));
  throw new AppError('invalid_request', issues.map(({ loc, msg }) => `${loc[2]} ${msg}`).join('; '), {
    issues,
  });
}

function meantBy(field: string, known: readonly string[]): string {
  const meant = field.length > MAX_FIELD_CHARS ? null : nearest(field, known);
  if (meant !== null) return `did you mean ${meant}?`;
  return known.length === 0 ? 'it has none' : `there are: ${known.join(', ')}`;
}

function labelOf(text: string): string {
  const label = text.trim();
  if (label === '' || [...label].length > MAX_LABEL_CHARS || /\p{Cc}/u.test(label))
    throw invalid(
      ['label'],
      `should have 1 to ${MAX_LABEL_CHARS} characters, none of them a control character`,
    );
  return label;
}

function invalid(way: string[], what: string): AppError {
  const issues = [{ loc: ['body', ...way], msg: `${way.join('.')} ${what}`, type: 'value_error' }];
  return new AppError('invalid_request', `${way.join('.')} ${what}`, { issues });
}

function jsonSchemaOf(channel: NotificationChannel) {
  const { $schema: _, ...schema } = z.toJSONSchema(channel.address(z), {
    io: 'input',
    unrepresentable: 'any',
  });
  return schema;
}

/** The names of those of its fields whose JSON schema fits. */
function fieldsOf(
  channel: NotificationChannel,
  fits: (schema: z.core.JSONSchema.JSONSchema) => boolean,
): Set<string> {
  const { properties } = jsonSchemaOf(channel);
  const found = Object.entries(properties ?? {}).filter(
    ([, schema]) => typeof schema === 'object' && fits(schema),
  );
  return new Set(found.map(([field]) => field));
}

function withoutNull(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function isSame(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  const sorted = (address: Record<string, unknown>) =>
    JSON.stringify(Object.entries(address).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(one) === sorted(other);
}

function testMessage(now: number): NotificationMessage {
  return {
    id: newId(now),
    title: 'Earshot',
    text: 'This is a test: notifications reach you here.',
    at: now,
    app: 'Earshot',
    event: 'test',
    rule: 'You asked for it',
    urgency: 'normal',
    muteUrl: null,
    data: {},
  };
}
