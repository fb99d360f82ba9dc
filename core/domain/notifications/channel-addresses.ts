import type { ChannelAddress, Clock } from '../../contract/model.ts';
import type { NotificationChannel, NotificationMessage, Storage, Stores } from '../../contract/plugin.ts';
import { withinLimit } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import type { Log } from '../../runtime/log.ts';
import { addressSchema, allowedAddress, parseAddress, refuseUnknown, secretFieldsOf } from '../addresses.ts';
import type { CheckUrl } from '../apps/hooks.ts';
import { isId, newId } from '../ids.ts';
import { limitTests } from '../test-limit.ts';

/** A channel that is available now. */
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
  /** Fields to change; null removes a field, and missing ones, such as secrets, stay. */
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
const MAX_LABEL_CHARS = 100;
const TEST_LIMIT_MS = 15_000;

export type ChannelAddresses = ReturnType<typeof createChannelAddresses>;

/** Addresses at which users receive notifications; the only writer. Secrets are stored and never returned. */
export function createChannelAddresses({
  storage,
  clock,
  events,
  log,
  checkUrl,
  outlets,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  log: Log;
  checkUrl: CheckUrl;
  /** Lists the channels that are available now. */
  outlets(): LoadedChannel[];
}) {
  async function channels() {
    return outlets().map(({ name, title, channel }) => ({
      name,
      title,
      schema: addressSchema(channel),
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

  function show({ address, userId: _, ...row }: ChannelAddress): ShownAddress {
    const channel = outlets().find(each => each.name === row.channel)?.channel;
    const secret = channel ? secretFieldsOf(channel) : new Set(Object.keys(address)); // nobody knows which
    const visible = Object.entries(address).filter(([field]) => !secret.has(field));
    const secrets = Object.keys(address).filter(field => secret.has(field));
    return { ...row, address: Object.fromEntries(visible), secrets };
  }

  /** An address that exists already is not added again: browsers subscribe at each visit. */
  async function add(userId: string, { channel: name, label, address }: AddressDraft): Promise<ShownAddress> {
    const parsed = allowedAddress(channelOf(name).channel, address, checkUrl);
    const now = clock.now();
    const added = await storage.transaction('add channel address', async tx => {
      const all = await tx.channelAddresses.list(userId);
      const known = all.find(each => each.channel === name && isSame(each.address, parsed));
      if (known) return switchOnIn(tx, known);
      if (all.length >= MAX_ADDRESSES)
        throw new AppError('conflict', `There are ${MAX_ADDRESSES} addresses already: delete one first`);
      const made: ChannelAddress = {
        id: newId(now),
        userId,
        channel: name,
        label: labelOf(label ?? name),
        address: parsed,
        enabled: true,
        offReason: null,
        failingSince: null,
        createdAt: now,
      };
      await tx.channelAddresses.insert(made);
      return made;
    });
    events.emit('addresses.changed');
    return show(added);
  }

  async function edit(userId: string, id: string, changes: AddressEdit): Promise<ShownAddress> {
    const { label, address, enabled } = changes;
    const changed = await storage.transaction('edit channel address', async tx => {
      const before = await find(tx, userId, id);
      if (address) refuseUnknown(channelOf(before.channel).channel, address); // also one that is to go
      const merged =
        address &&
        allowedAddress(
          channelOf(before.channel).channel,
          withoutNull({ ...before.address, ...address }),
          checkUrl,
        );
      const patch = {
        ...(label === undefined ? {} : { label: labelOf(label) }),
        ...(merged ? { address: merged } : {}),
        ...(enabled === undefined ? {} : { enabled, offReason: null, failingSince: null }),
      };
      await tx.channelAddresses.update(userId, id, patch);
      return { ...before, ...patch };
    });
    events.emit('addresses.changed');
    return show(changed);
  }

  /**
   * Sends one message at once, whatever the user's settings. Resolves to the error, or null. `rate_limited` after too
   * many, because the address may be somebody else's.
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
      events.emit('addresses.changed');
    },
  };
}

/** Whether the address is a single browser or phone, and not a service that can be read elsewhere too. */
export function isDevice({ channel }: Pick<ChannelAddress, 'channel'>): boolean {
  return channel === 'web-push';
}

/** Removes all devices from push notifications. Resolves to the removed ones. */
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
