import { z } from 'zod';
import type { ChannelAddresses, ShownAddress } from '../../domain/notifications/channel-addresses.ts';
import { name, optional, someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/notifications/addresses';
const ONE = `${LIST}/{address_id}` as const;
const MAX_LABEL_CHARS = 100;
const MAX_FIELDS = 100;
/** Room for an address, which may be of any form. */
const MAX_BODY_BYTES = 32 * 1024;

const ChannelJson = z
  .object({
    channel: z.string(),
    title: z.string(),
    address: z.looseObject({}).describe('What an address of it is, as a JSON schema'),
    public_info: z.record(z.string(), z.string()).describe('What a program needs to make one'),
  })
  .meta({ id: 'NotificationChannel' });

const AddressJson = z
  .object({
    id: z.string(),
    channel: z.string(),
    label: z.string(),
    address: z.record(z.string(), z.unknown()).describe('Without its secrets'),
    secrets: z.array(z.string()).describe('The names of those that it has'),
    enabled: z.boolean(),
    off_reason: z.string().nullable().describe('Why the server switched it off'),
    failing_since: z.iso.datetime().nullable().describe('Since when nothing got through'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'NotificationAddress' });

const fields = z
  .record(z.string().max(MAX_LABEL_CHARS), z.unknown())
  .meta({ maxProperties: MAX_FIELDS })
  .describe('As its channel wants it');
const label = name({ max: MAX_LABEL_CHARS });

const Draft = z
  .object({
    channel: text({ max: MAX_LABEL_CHARS }).describe('The name of a channel'),
    label: optional(label, undefined).describe('Absent: the name of the channel'),
    address: fields,
  })
  .meta({ id: 'NotificationAddressCreate', override: { examples: [{ channel: 'log', address: {} }] } });

const Edit = someOf({
  label: label.exactOptional(),
  address: fields
    .exactOptional()
    .describe('Takes the place of the fields that it names, null takes one away; the others stay'),
  enabled: z.boolean().exactOptional(),
}).meta({ id: 'NotificationAddressEdit', override: { examples: [{ label: 'Phone' }] } });

/** Where a user is told of notifications. */
export function channelAddressRoutes(addresses: ChannelAddresses): Route[] {
  const common = { tag: 'Notifications', credential: 'idToken', query: z.object({}) } as const;
  const all = { ...common, params: z.object({}) };
  const one = { ...common, params: z.object({ address_id: z.string() }), errors: ['not_found' as const] };
  return [
    route({
      ...all,
      method: 'get',
      id: 'listNotificationChannels',
      path: '/v1/notifications/channels',
      summary: 'List the channels that notifications can go to',
      response: z.array(ChannelJson),
      handle: async () =>
        (await addresses.channels()).map(({ name, title, schema, publicInfo }) => ({
          ...{ channel: name, title, address: schema, public_info: { ...publicInfo } },
        })),
    }),
    route({
      ...all,
      method: 'get',
      id: 'listNotificationAddresses',
      path: LIST,
      summary: 'List where notifications go, oldest first',
      response: z.array(AddressJson),
      handle: async ({ principal: { user } }) => (await addresses.list(user.id)).map(addressJson),
    }),
    route({
      ...all,
      method: 'post',
      id: 'createNotificationAddress',
      path: LIST,
      summary: 'Have notifications sent there, too; the same address again is the one that is there',
      errors: ['conflict'],
      body: Draft,
      maxBodyBytes: MAX_BODY_BYTES,
      response: AddressJson,
      handle: async ({ principal: { user }, body }) => addressJson(await addresses.add(user.id, body)),
    }),
    route({
      ...one,
      method: 'patch',
      id: 'updateNotificationAddress',
      path: ONE,
      summary: 'Change an address, or switch it on or off',
      body: Edit,
      maxBodyBytes: MAX_BODY_BYTES,
      response: AddressJson,
      handle: async ({ principal: { user }, params, body }) =>
        addressJson(await addresses.edit(user.id, params.address_id, body)),
    }),
    route({
      ...one,
      method: 'delete',
      id: 'deleteNotificationAddress',
      path: ONE,
      summary: 'Send nothing there any more',
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await addresses.remove(user.id, params.address_id);
        return { success: true as const };
      },
    }),
    route({
      ...one,
      method: 'post',
      id: 'testNotificationAddress',
      path: `${ONE}/test`,
      summary: 'Send one message there, now, and tell what became of it; at most 20 in an hour',
      response: z.object({
        sent: z.boolean(),
        error: z.string().nullable().describe('What went wrong; null: nothing'),
      }),
      async handle({ principal: { user }, params }) {
        const error = await addresses.test(user.id, params.address_id);
        return { sent: error === null, error };
      },
    }),
  ];
}

function addressJson({
  offReason,
  failingSince,
  createdAt,
  ...address
}: ShownAddress): z.input<typeof AddressJson> {
  return {
    ...address,
    off_reason: offReason,
    failing_since: failingSince === null ? null : new Date(failingSince).toISOString(),
    created_at: new Date(createdAt).toISOString(),
  };
}
