import type { Bus, Signal } from './bus.ts';
import { DBUS } from './bus.ts';

export type Properties = Record<string, unknown>;
/** Interfaces of one object by name, without the prefix `org.bluez.`, and their properties. */
type Interfaces = Map<string, Properties>;

/** A change of an object; `properties` holds only the changed ones. `gone`: the interface was removed. */
export interface Change {
  path: string;
  interface: string;
  properties: Properties;
  gone: boolean;
}

/** Up-to-date copy of the objects that bluetoothd publishes on the bus. */
export interface Objects {
  get(path: string, name: string): Properties | undefined;
  /** All objects that have this interface. */
  having(name: string): { path: string; properties: Properties }[];
  onChange(listener: (change: Change) => void): () => void;
  /** Reads all objects again. @throws BusError if bluetoothd does not run */
  load(limitMs: number): Promise<void>;
  /** Removes all objects, because bluetoothd has exited. */
  clear(): void;
  receive(signal: Signal): void;
}

const PREFIX = 'org.bluez.';
const PROPERTIES = `${DBUS}.Properties`;
const MANAGER = `${DBUS}.ObjectManager`;
/** Objects beyond this number are ignored. bluetoothd removes unknown devices after some minutes. */
const MAX_OBJECTS = 8192;

export function createObjects(bus: Bus): Objects {
  const objects = new Map<string, Interfaces>();
  const listeners = new Set<(change: Change) => void>();

  function tell(change: Change): void {
    for (const listener of [...listeners]) listener(change);
  }

  function add(path: string, interfaces: Record<string, Properties>): void {
    if (!objects.has(path) && objects.size >= MAX_OBJECTS) return;
    const own: Interfaces = objects.get(path) ?? new Map();
    objects.set(path, own);
    for (const [name, properties] of Object.entries(interfaces)) {
      if (!name.startsWith(PREFIX)) continue;
      const short = name.slice(PREFIX.length);
      own.set(short, properties);
      tell({ path, interface: short, properties, gone: false });
    }
  }

  function remove(path: string, names: string[]): void {
    const own = objects.get(path);
    for (const name of names) {
      const short = name.slice(PREFIX.length);
      if (own?.delete(short)) tell({ path, interface: short, properties: {}, gone: true });
    }
    if (own?.size === 0) objects.delete(path);
  }

  function change(path: string, name: string, properties: Properties, invalidated: string[]): void {
    const short = name.slice(PREFIX.length);
    const known = objects.get(path)?.get(short);
    if (!known) return;
    Object.assign(known, properties);
    for (const each of invalidated) delete known[each];
    tell({ path, interface: short, properties, gone: false });
  }

  return {
    get: (path, name) => objects.get(path)?.get(name),
    having: name =>
      [...objects].flatMap(([path, interfaces]) => {
        const properties = interfaces.get(name);
        return properties ? [{ path, properties }] : [];
      }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async load(limitMs) {
      const [all] = await bus.call({
        path: '/',
        interface: MANAGER,
        member: 'GetManagedObjects',
        limitMs,
      });
      objects.clear();
      for (const [path, interfaces] of Object.entries(
        (all ?? {}) as Record<string, Record<string, Properties>>,
      ))
        add(path, interfaces);
    },
    clear() {
      const all = [...objects];
      objects.clear();
      for (const [path, interfaces] of all)
        for (const name of [...interfaces.keys()])
          tell({ path, interface: name, properties: {}, gone: true });
    },
    receive({ path, interface: name, member, body }) {
      const [first, second, third] = body;
      if (name === MANAGER && member === 'InterfacesAdded')
        add(String(first), (second ?? {}) as Record<string, Properties>);
      else if (name === MANAGER && member === 'InterfacesRemoved')
        remove(String(first), (second ?? []) as string[]);
      else if (name === PROPERTIES && member === 'PropertiesChanged')
        change(path, String(first), (second ?? {}) as Properties, (third ?? []) as string[]);
    },
  };
}
