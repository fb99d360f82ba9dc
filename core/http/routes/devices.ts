import { z } from 'zod';
import type { Device } from '../../contract/model.ts';
import { deviceJson } from '../../domain/devices/device-json.ts';
import type { BridgeReport, Devices } from '../../domain/devices/devices.ts';
import { instant, MAX_CODE_CHARS, name, optional, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

/** Maximum length of the id of a client device or a bridge. */
const MAX_ID_CHARS = 200;
const MAX_NAME_CHARS = 100;
const MAX_REASON_CHARS = 500;
/** Maximum number of wearables in one bridge's report. */
const MAX_REPORTED = 64;
const MAX_BUTTONS = 100;
const MAX_NOTES = 20;
const BUTTONS = ['single', 'double', 'triple', 'long', 'press', 'release'] as const;
const STATES = ['streaming', 'quiet', 'muted', 'disconnected'] as const;

const DeviceJson = z
  .object({
    id: z.string().describe('`client_device_id` of its live connections'),
    name: z.string().describe('Display name'),
    custom_name: z.string().nullable().describe('Name that its owner chose'),
    advertised_name: z.string().describe('Name that it advertises'),
    source: z.string(),
    driver: z.string().describe('Driver that the bridge uses; may be empty'),
    model: z.string().nullable(),
    firmware: z.string().nullable(),
    state: z.enum(STATES).describe('quiet: connected without sending; muted: its microphone is off'),
    reason: z.string().nullable().describe('Reason for this state'),
    connected: z.boolean(),
    codec: z.string().nullable(),
    battery: z.int().nullable().describe('Percent'),
    low_battery: z.boolean(),
    signal_dbm: z.int().nullable(),
    loss_percent: z.number().nullable().describe('Audio lost within connections since its bridge started'),
    storage_free_bytes: z.int().nullable(),
    notes: z.array(z.string()).describe('Unconfirmed assumptions about this kind of wearable'),
    bridge: z.object({ id: z.string(), name: z.string(), version: z.string().nullable() }),
    connected_at: z.iso.datetime().nullable(),
    last_seen_at: z.iso.datetime(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Device' });

const id = text({ max: MAX_ID_CHARS });
const label = name({ max: MAX_NAME_CHARS });
const code = text({ max: MAX_CODE_CHARS });
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

const Reported = z.object({
  id,
  name: label,
  state: z.enum(STATES),
  source: optional(code, 'unknown'),
  driver: optional(text({ max: MAX_NAME_CHARS, mayBeEmpty: true }), ''),
  model: optional(label, null),
  firmware: optional(label, null),
  reason: optional(text({ max: MAX_REASON_CHARS }), null),
  codec: optional(code, null),
  battery: optional(z.int().min(0).max(100), null),
  signal_dbm: optional(z.int().min(-200).max(50), null),
  storage_free_bytes: optional(count, null),
  frames: optional(count, 0),
  lost: optional(count, 0),
  notes: optional(z.array(text({ max: MAX_REASON_CHARS })).max(MAX_NOTES), []),
});

const Press = z.object({ id, button: z.enum(BUTTONS), at: instant() });

const EXAMPLE = {
  name: 'Kitchen',
  devices: [{ id: 'omi_0a1b2c3d4e5f', name: 'Omi', source: 'omi', state: 'streaming', battery: 80 }],
};

const Report = z
  .object({
    name: label.describe('Id of the bridge'),
    version: optional(code, null),
    devices: z
      .array(Reported)
      .max(MAX_REPORTED)
      .describe('All its wearables, connected or not; a missing one counts as disconnected'),
    buttons: optional(z.array(Press).max(MAX_BUTTONS), []).describe(
      'Button presses since the previous report, in order; repetitions are ignored',
    ),
  })
  .meta({ id: 'BridgeReport', override: { examples: [EXAMPLE] } });

const Edit = z
  .object({ name: label.nullable().describe('Null: the advertised name') })
  .meta({ id: 'DeviceEdit', override: { examples: [{ name: 'Pendant of Anna' }] } });

/** The wearables of an account, and the reports of bridges. */
export function deviceRoutes(devices: Devices): Route[] {
  const shared = { tag: 'Devices', query: z.object({}) } as const;
  const one = z.object({ device_id: z.string() });
  return [
    route({
      ...shared,
      method: 'get',
      id: 'listDevices',
      path: '/v1/devices',
      summary: 'List wearables, oldest first',
      scope: 'conversations:read',
      params: z.object({}),
      response: z.object({ devices: z.array(DeviceJson) }),
      handle: async ({ principal: { user } }) => ({ devices: (await devices.list(user.id)).map(deviceJson) }),
    }),
    route({
      ...shared,
      method: 'get',
      id: 'getDevice',
      path: '/v1/devices/{device_id}',
      summary: 'Get a wearable',
      scope: 'conversations:read',
      errors: ['not_found'],
      params: one,
      response: DeviceJson,
      handle: async ({ principal: { user }, params }) => json(await devices.get(user.id, params.device_id)),
    }),
    route({
      ...shared,
      method: 'patch',
      id: 'updateDevice',
      path: '/v1/devices/{device_id}',
      summary: 'Rename a wearable',
      credential: 'idToken',
      errors: ['not_found'],
      params: one,
      body: Edit,
      response: DeviceJson,
      handle: async ({ principal: { user }, params, body }) =>
        json(await devices.rename(user.id, params.device_id, body.name)),
    }),
    route({
      ...shared,
      method: 'delete',
      id: 'deleteDevice',
      path: '/v1/devices/{device_id}',
      summary: 'Delete a wearable; it returns when its bridge reports it again',
      credential: 'idToken',
      errors: ['not_found'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await devices.forget(user.id, params.device_id);
        return { success: true as const };
      },
    }),
    route({
      ...shared,
      method: 'put',
      id: 'reportDevices',
      path: '/v1/bridges/{bridge_id}',
      summary: 'Report the state of all wearables of a bridge: on every change, and each minute',
      scope: 'listen',
      errors: ['conflict'],
      params: z.object({
        bridge_id: z
          .string()
          .max(MAX_ID_CHARS)
          .meta({ examples: ['kitchen'] }),
      }),
      body: Report,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params, body }) {
        await devices.report(user.id, reportOf(params.bridge_id, body));
        return { success: true as const };
      },
    }),
  ];
}

function json(device: Device): z.input<typeof DeviceJson> {
  return deviceJson(device);
}

function reportOf(
  bridgeId: string,
  { name, version, devices, buttons }: z.output<typeof Report>,
): BridgeReport {
  return {
    bridge: { id: bridgeId, name, version },
    devices: devices.map(({ signal_dbm: rssi, storage_free_bytes: storageFreeBytes, ...device }) => ({
      ...device,
      rssi,
      storageFreeBytes,
    })),
    buttons,
  };
}
