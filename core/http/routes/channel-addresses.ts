import { z } from 'zod';
import type { ChannelAddresses, ShownAddress } from '../../domain/notifications/channel-addresses.ts';
import { name, optional, someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/notifications/addresses';
const ONE = `${LIST}/{address_id}` as const;
const MAX_LABEL_CHARS = 100;
const MAX_FIELDS = 100;
/** Maximum bytes of an address, which may be of any form. */
const MAX_BODY_BYTES = 32 * 1024;

const ChannelJson = z
  .object({
    channel: z.string(),
    title: z.string(),
    address: z.looseObject({}).describe('JSON schema of its addresses'),
    public_info: z.record(z.string(), z.string()).describe('Values that a client needs to create an address'),
  })
  .meta({ id: 'NotificationChannel' });

const AddressJson = z
  .object({
    id: z.string(),
    channel: z.string(),
    label: z.string(),
    address: z.record(z.string(), z.unknown()).describe('Without its secrets'),
    secrets: z.array(z.string()).describe('Names of the secret fields that are set'),
    enabled: z.boolean(),
    off_reason: z.string().nullable().describe('Reason for which the server disabled it'),
    failing_since: z.iso.datetime().nullable().describe('Time since which every delivery has failed'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'NotificationAddress' });

const fields = z
  .record(z.string().max(MAX_LABEL_CHARS), z.unknown())
  .meta({ maxProperties: MAX_FIELDS })
  .describe('Address in the form of its channel');
const label = name({ max: MAX_LABEL_CHARS });

const Draft = z
  .object({
    channel: text({ max: MAX_LABEL_CHARS }).describe('Name of a channel'),
    label: optional(label, undefined).describe('Absent: the name of the channel'),
    address: fields,
  })
  .meta({ id: 'NotificationAddressCreate', override: { examples: [{ channel: 'log', address: {} }] } });

const Edit = someOf({
  label: label.exactOptional(),
  address: fields
    .exactOptional()
    .describe('Replaces the fields that it contains; null removes a field; others stay'),
  enabled: z.boolean().exactOptional(),
}).meta({ id: 'NotificationAddressEdit', override: { examples: [{ label: 'Phone' }] } });

/** Addresses at which a user receives notifications. */
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
      summary: 'List notification channels',
      response: z.array(ChannelJson),
      handle: async () =>
        (await addresses.channels()).map(({ name, title, schema, publicInfo }) => ({
          channel: name,
          title,
          address: schema,
          public_info: { ...publicInfo },
        })),
    }),
    route({
      ...all,
      method: 'get',
      id: 'listNotificationAddresses',
      path: LIST,
      summary: 'List notification addresses, oldest first',
      response: z.array(AddressJson),
      handle: async ({ principal: { user } }) => (await addresses.list(user.id)).map(addressJson),
    }),
    route({
      ...all,
      method: 'post',
      id: 'createNotificationAddress',
      path: LIST,
      summary: 'Add a notification address; a duplicate returns the existing one',
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
      summary: 'Change, enable or disable a notification address',
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
      summary: 'Delete a notification address',
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
      summary: 'Send a test message and return its outcome; at most 20 an hour',
      response: z.object({
        sent: z.boolean(),
        error: z.string().nullable().describe('Error message; null: none'),
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
