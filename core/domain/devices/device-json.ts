import type { Device, DeviceHappening } from '../../contract/model.ts';

/** Returns the name that its owner chose, else the advertised one. */
export function deviceName({ name, advertisedName }: Pick<Device, 'name' | 'advertisedName'>): string {
  return name ?? advertisedName;
}

/** A wearable as every interface shows it. */
export function deviceJson(device: Device) {
  return {
    id: device.id,
    name: deviceName(device),
    custom_name: device.name,
    advertised_name: device.advertisedName,
    source: device.source,
    driver: device.driver,
    model: device.model,
    firmware: device.firmware,
    state: device.state,
    reason: device.reason,
    connected: device.state !== 'disconnected',
    codec: device.codec,
    battery: device.battery,
    low_battery: device.lowBattery,
    signal_dbm: device.rssi,
    loss_percent: lossOf(device),
    storage_free_bytes: device.storageFreeBytes,
    notes: device.notes,
    bridge: { id: device.bridgeId, name: device.bridgeName, version: device.bridgeVersion },
    connected_at: device.connectedAt === null ? null : iso(device.connectedAt),
    last_seen_at: iso(device.lastSeenAt),
    created_at: iso(device.createdAt),
  };
}

/** Converts an event of a wearable to the form that every interface uses. */
export function happeningJson(device: Device, { kind, at, button }: DeviceHappening) {
  return { event: kind, at: iso(at), button, device: deviceJson(device) };
}

/** With one decimal; null: nothing has come yet. */
function lossOf({ frames, lost }: Device): number | null {
  const all = frames + lost;
  return all === 0 ? null : Math.round((1000 * lost) / all) / 10;
}

const iso = (at: number) => new Date(at).toISOString();
