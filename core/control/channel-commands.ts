/** Commands for notification addresses: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { ChannelAddresses, ShownAddress } from '../domain/notifications/channel-addresses.ts';

const name = z.string().trim().min(1).max(100);

export const channelShapes = {
  'notify.channels': {
    args: z.object({}),
    result: z.array(
      z.object({
        channel: z.string(),
        title: z.string(),
        /** JSON schema of its addresses. */
        address: z.looseObject({}),
      }),
    ),
  },
  'notify.add': {
    args: z.object({
      user: name,
      channel: name,
      label: name.optional(),
      address: z.record(z.string(), z.unknown()),
    }),
    result: z.object({ id: z.string(), channel: z.string(), label: z.string() }),
  },
  'notify.list': {
    args: z.object({ user: name }),
    result: z.array(
      z.object({
        id: z.string(),
        channel: z.string(),
        label: z.string(),
        enabled: z.boolean(),
        /** The reason why the server switched it off. */
        offReason: z.string().nullable(),
        /** Its address, without secrets. */
        address: z.record(z.string(), z.unknown()),
        /** Names of its secrets. */
        secrets: z.array(z.string()),
      }),
    ),
  },
  'notify.enable': {
    args: z.object({ user: name, id: name, enabled: z.boolean() }),
    result: z.object({ id: z.string(), label: z.string() }),
  },
  'notify.remove': { args: z.object({ user: name, id: name }), result: z.object({ id: z.string() }) },
  /** Null: it was sent. */
  'notify.test': {
    args: z.object({ user: name, id: name }),
    result: z.object({ error: z.string().nullable() }),
  },
};
type Args<C extends keyof typeof channelShapes> = z.output<(typeof channelShapes)[C]['args']>;

export interface ChannelServices {
  users: Pick<Users, 'byName'>;
  channelAddresses: Pick<ChannelAddresses, 'channels' | 'add' | 'edit' | 'list' | 'remove' | 'test'>;
}

export function channelCommands({ users, channelAddresses }: ChannelServices) {
  return {
    async 'notify.channels'() {
      return (await channelAddresses.channels()).map(({ name, title, schema }) => ({
        channel: name,
        title,
        address: schema,
      }));
    },
    async 'notify.add'({ user, ...draft }: Args<'notify.add'>) {
      const { id, channel, label } = await channelAddresses.add((await users.byName(user)).id, draft);
      return { id, channel, label };
    },
    async 'notify.list'({ user }: Args<'notify.list'>) {
      return (await channelAddresses.list((await users.byName(user)).id)).map(line);
    },
    async 'notify.enable'({ user, id, enabled }: Args<'notify.enable'>) {
      const { label } = await channelAddresses.edit((await users.byName(user)).id, id, { enabled });
      return { id, label };
    },
    async 'notify.remove'({ user, id }: Args<'notify.remove'>) {
      await channelAddresses.remove((await users.byName(user)).id, id);
      return { id };
    },
    async 'notify.test'({ user, id }: Args<'notify.test'>) {
      return { error: await channelAddresses.test((await users.byName(user)).id, id) };
    },
  };
}

function line({ id, channel, label, enabled, offReason, address, secrets }: ShownAddress) {
  return { id, channel, label, enabled, offReason, address, secrets };
}
