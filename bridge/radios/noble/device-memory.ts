import type { HandleRange, Noble, Table } from './noble.ts';

/** Number of devices in the library's list above which those not needed are removed. */
const MAX_DEVICES = 512;

/**
 * Trims the libraries' list of devices, which otherwise grows with every device that ever advertised.
 * @param keep ids of devices that must stay; any other one is added again at its next advertisement
 */
export function forgetStrangers(noble: Noble, keep: () => ReadonlySet<string>): void {
  const bindings = noble._bindings;
  shortenLists(bindings?._gap?._discoveries);
  const seen = bindings?._gap?._discoveries ?? noble._peripherals;
  if (!seen || sizeOf(seen) <= MAX_DEVICES) return;
  const kept = keep();
  const tables = [
    noble._peripherals,
    noble._services,
    noble._characteristics,
    noble._descriptors,
    noble._discoveredPeripherals,
    noble._discoveredPeripheralUUids,
    bindings?._gap?._discoveries,
    bindings?._addresses,
    bindings?._addresseTypes,
    bindings?._connectable,
    bindings?.scannable,
  ];
  for (const table of tables) if (table) retain(table, kept);
}

/** UUIDs and data that one device may advertise: more than fit an advertisement. */
const MAX_ADVERTISED = 64;

/** The libraries never drop what a device advertised earlier, so these lists would grow without a limit. */
function shortenLists(discoveries: Table = {}): void {
  for (const found of Object.values(discoveries)) {
    const { advertisement } = found as { advertisement?: Record<string, unknown> };
    for (const list of Object.values(advertisement ?? {}))
      if (Array.isArray(list) && list.length > MAX_ADVERTISED) list.length = 0;
  }
}

function sizeOf(table: Table): number {
  return table instanceof Map || table instanceof Set ? table.size : Object.keys(table).length;
}

function retain(table: Table, kept: ReadonlySet<string>): void {
  const isKept = (key: string) => kept.has(key) || kept.has(key.replaceAll(':', ''));
  if (table instanceof Map || table instanceof Set) {
    for (const key of table.keys()) if (!isKept(key)) table.delete(key);
  } else {
    for (const key of Object.keys(table)) if (!isKept(key)) delete table[key];
  }
}

/** Clears the services of earlier connections: a device may present others after a firmware update. */
export function forgetServices(noble: Noble): void {
  noble._bindings?.on('disconnect', (device: string) => {
    for (const table of [noble._services, noble._characteristics, noble._descriptors])
      if (table && device in table) Object.assign(table, { [device]: {} });
  });
}

/** The libraries keep only the last of several services with the same UUID: this gives it the handle range of all. */
export function joinServices(noble: Noble): void {
  const bindings = noble._bindings;
  bindings?.on('servicesDiscovered', (device: string, services: HandleRange[]) => {
    const known = bindings._gatts?.[device]?._services;
    if (!known) return;
    for (const { uuid, startHandle } of services) {
      const last = known[uuid];
      if (last) last.startHandle = Math.min(last.startHandle, startHandle);
    }
  });
}
