import type { HandleRange, Noble, Table } from './noble.ts';

/** Devices that the library may know, before those that are not needed are forgotten. */
const MAX_DEVICES = 512;

/**
 * Forgets devices, of which the libraries keep every one that ever advertised, when they have become many.
 * @param keep their ids; all others are strangers, or will be seen again
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

/** The libraries add to what a device advertised before, whatever it advertises next. */
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

/** The services of a device are discovered anew at each connection, with other UUIDs if the device says so. */
export function forgetServices(noble: Noble): void {
  noble._bindings?.on('disconnect', (device: string) => {
    for (const table of [noble._services, noble._characteristics, noble._descriptors])
      if (table && device in table) Object.assign(table, { [device]: {} });
  });
}

/** The libraries know one service by each UUID, the last: where there are several it gets the handles of all. */
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
