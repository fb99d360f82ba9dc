import type { Clock, Device, DeviceButton, DeviceHappening, DeviceState } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { tellOfDevicesIn } from '../apps/deliveries.ts';
import type { Notifications } from '../notifications/notifications.ts';
import { deviceName, happeningJson } from './device-json.ts';

/** State of a wearable as a bridge reports it; null: unknown. */
export interface ReportedDevice {
  id: string;
  name: string;
  source: string;
  driver: string;
  model: string | null;
  firmware: string | null;
  state: DeviceState;
  reason: string | null;
  codec: string | null;
  battery: number | null;
  rssi: number | null;
  storageFreeBytes: number | null;
  frames: number;
  lost: number;
  notes: string[];
}

/** All wearables of one bridge, and the presses of their buttons since the last report. */
export interface BridgeReport {
  bridge: { id: string; name: string; version: string | null };
  devices: ReportedDevice[];
  /** In order. */
  buttons: { id: string; button: DeviceButton; at: number }[];
}

/** Maximum devices per account. */
const MAX_DEVICES = 100;
/** Percentages at which a battery becomes low, and at which it counts as charged again. */
const LOW = 15;
const CHARGED = 25;
/** A bridge reports each minute; one that has been silent for this long counts as gone. */
const SILENT_MS = 180_000;
const SWEPT_AT_ONCE = 500;
/** Events that notifications and webhooks receive. `changed` and `removed` only concern displays. */
const TOLD: ReadonlySet<DeviceHappening['kind']> = new Set([
  'connected',
  'disconnected',
  'battery_low',
  'button',
]);

interface Happened {
  device: Device;
  happening: DeviceHappening;
}

export type Devices = ReturnType<typeof createDevices>;

/** The wearables of each account: the reports of bridges, and the names that owners give. The only writer. */
export function createDevices({
  storage,
  clock,
  events,
  notifications,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  notifications: Pick<Notifications, 'tellIn'>;
}) {
  /** Stores what happened, and emits events after the commit. */
  async function change(userId: string, what: string, work: (tx: Stores) => Promise<Happened[]>) {
    const happened = await storage.transaction(what, async tx => {
      const all = await work(tx);
      await tellIn(tx, userId, all);
      return all;
    });
    for (const { device, happening } of happened)
      events.emit('device.happened', { userId, device, happening });
  }

  async function tellIn(tx: Stores, userId: string, all: Happened[]): Promise<void> {
    const told = all.filter(({ happening }) => TOLD.has(happening.kind));
    const happenings = told.map(({ device, happening }) => ({
      deviceId: device.id,
      kind: happening.kind,
      wire: happeningJson(device, happening),
    }));
    await tellOfDevicesIn(tx, userId, happenings, clock.now());
    for (const { device, happening } of told) {
      if (happening.kind !== 'battery_low') continue;
      const { id, battery } = device;
      await notifications.tellIn(tx, userId, {
        appId: null,
        event: 'device_battery_low',
        rule: `The battery of a wearable is at ${LOW} % or less`,
        title: `${deviceName(device)} needs charging`,
        text: `Its battery is at ${battery} %.`,
        data: { device_id: id, battery },
      });
    }
  }

  /** Stores a bridge's report. A device of this bridge that is missing from it is disconnected. */
  async function report(userId: string, { bridge, devices, buttons }: BridgeReport): Promise<void> {
    const now = clock.now();
    await change(userId, 'report devices', async tx => {
      const known = new Map((await tx.devices.list(userId)).map(device => [device.id, device]));
      const told = new Map(devices.map(device => [device.id, device]));
      const happened: Happened[] = [];
      for (const reported of told.values()) {
        const before = known.get(reported.id) ?? null;
        if (!isNews(before, reported, bridge.id, now)) continue;
        if (!before && known.size >= MAX_DEVICES) throw tooMany();
        const pressed = buttons.filter(({ id, at }) => id === reported.id && at > (before?.buttonAt ?? 0));
        const after = merged({ userId, before, reported, bridge, now, buttonAt: pressed.at(-1)?.at });
        known.set(after.id, after);
        await tx.devices.put(after);
        const kinds = kindsOf(before, after).map(kind => ({ kind, at: now, button: null }));
        const presses = pressed.map(({ button, at }) => ({ kind: 'button' as const, at, button }));
        for (const happening of [...kinds, ...presses]) happened.push({ device: after, happening });
      }
      for (const device of known.values())
        if (device.bridgeId === bridge.id && !told.has(device.id))
          happened.push(...(await goneIn(tx, device, 'its bridge tells of it no more')));
      return happened;
    });
  }

  /** Nothing where it was not connected anyway. */
  async function goneIn(tx: Stores, device: Device, reason: string): Promise<Happened[]> {
    if (device.state === 'disconnected') return [];
    const gone: Device = { ...device, state: 'disconnected', reason, rssi: null, connectedAt: null };
    await tx.devices.put(gone);
    return [{ device: gone, happening: { kind: 'disconnected', at: clock.now(), button: null } }];
  }

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<Device> {
    return deviceIn(storage, userId, id);
  }

  return {
    report,
    get,
    /** Oldest first. */
    list: (userId: string): Promise<Device[]> => storage.devices.list(userId),

    /** Renames a device; null: its advertised name. `not_found`. */
    async rename(userId: string, id: string, name: string | null): Promise<Device> {
      await change(userId, 'rename device', async tx => {
        const device = { ...(await deviceIn(tx, userId, id)), name };
        await tx.devices.put(device);
        return [{ device, happening: { kind: 'changed', at: clock.now(), button: null } }];
      });
      return get(userId, id);
    },

    /** Deletes a device. It returns as soon as a bridge reports it again. `not_found`. */
    forget: (userId: string, id: string): Promise<void> =>
      change(userId, 'forget device', async tx => {
        const device = await deviceIn(tx, userId, id);
        await tx.devices.remove(userId, id);
        return [{ device, happening: { kind: 'removed', at: clock.now(), button: null } }];
      }),

    /** Called each minute: disconnects the devices of silent bridges. */
    async sweep(): Promise<void> {
      const before = clock.now() - SILENT_MS;
      for (const { userId, id } of await storage.devices.silent(before, SWEPT_AT_ONCE))
        await change(userId, 'sweep device', async tx => {
          const device = await tx.devices.get(userId, id);
          if (!device || device.reportedAt >= before) return [];
          return goneIn(tx, device, 'its bridge says nothing');
        });
    },
  };
}

/** Whether a report counts. A disconnection counts only from the bridge that had the device. */
function isNews(before: Device | null, { state }: ReportedDevice, bridgeId: string, now: number): boolean {
  if (state !== 'disconnected') return true;
  if (!before) return false;
  const isElsewhere = before.bridgeId !== bridgeId && before.reportedAt >= now - SILENT_MS;
  return !(isElsewhere && before.state !== 'disconnected');
}

function merged({
  userId,
  before,
  reported,
  bridge,
  now,
  buttonAt,
}: {
  userId: string;
  before: Device | null;
  reported: ReportedDevice;
  bridge: BridgeReport['bridge'];
  now: number;
  buttonAt: number | undefined;
}): Device {
  const { name: advertisedName, ...rest } = reported;
  const isConnected = reported.state !== 'disconnected';
  const battery = reported.battery ?? before?.battery ?? null;
  return {
    ...rest,
    userId,
    name: before?.name ?? null,
    advertisedName,
    model: reported.model ?? before?.model ?? null,
    firmware: reported.firmware ?? before?.firmware ?? null,
    codec: reported.codec ?? before?.codec ?? null,
    storageFreeBytes: reported.storageFreeBytes ?? before?.storageFreeBytes ?? null,
    battery,
    lowBattery: battery !== null && battery <= (before?.lowBattery ? CHARGED - 1 : LOW),
    rssi: isConnected ? reported.rssi : null,
    bridgeId: bridge.id,
    bridgeName: bridge.name,
    bridgeVersion: bridge.version,
    connectedAt: isConnected ? (before?.connectedAt ?? now) : null,
    lastSeenAt: isConnected ? now : (before?.lastSeenAt ?? now),
    reportedAt: now,
    buttonAt: buttonAt ?? before?.buttonAt ?? null,
    createdAt: before?.createdAt ?? now,
  };
}

function kindsOf(before: Device | null, after: Device): DeviceHappening['kind'][] {
  const was = before !== null && before.state !== 'disconnected';
  const is = after.state !== 'disconnected';
  const kinds: DeviceHappening['kind'][] = [];
  if (is && !was) kinds.push('connected');
  if (was && !is) kinds.push('disconnected');
  if (after.lowBattery && !before?.lowBattery) kinds.push('battery_low');
  return kinds.length === 0 && before && shown(before) !== shown(after) ? ['changed'] : kinds;
}

/** Selects the fields whose changes are reported. */
function shown({
  state,
  reason,
  model,
  firmware,
  codec,
  battery,
  storageFreeBytes,
  ...rest
}: Device): string {
  const { advertisedName, source, driver, bridgeId, bridgeName } = rest;
  return JSON.stringify({
    state,
    reason,
    model,
    firmware,
    codec,
    battery,
    storageFreeBytes,
    advertisedName,
    source,
    driver,
    bridgeId,
    bridgeName,
  });
}

async function deviceIn(tx: Pick<Stores, 'devices'>, userId: string, id: string): Promise<Device> {
  const found = await tx.devices.get(userId, id);
  if (!found) throw new AppError('not_found', 'Device not found');
  return found;
}

function tooMany(): AppError {
  return new AppError('conflict', `At most ${MAX_DEVICES} devices: forget one that is not used`);
}
