import type { Control, DeviceLink, Driver, DriverLog, DriverMemory } from '../driver.ts';
import { LinkLostError } from '../guard.ts';

/** A setting or action that a connected wearable offers. */
export interface OfferedControl {
  name: string;
  title: string;
  kind: Control['kind'];
  /** Allowed values in words: `0 to 100`, or `on, off`. */
  values: string;
  /** The value that was set here; null: never set. */
  value: string | null;
}

/** The controls of one connection. */
export interface Controls {
  list(): Promise<OfferedControl[]>;
  /**
   * Writes a value to the device; a setting is kept for later connections.
   * @throws Error with the allowed values
   */
  use(name: string, value: string): Promise<void>;
  /** Writes the stored settings. Never rejects. */
  restore(): Promise<void>;
}

const keyOf = ({ name }: Control) => `control ${name}`;

export function createControls({
  driver,
  link,
  memory,
  log,
}: {
  driver: Driver;
  link: DeviceLink;
  memory: DriverMemory;
  log: DriverLog;
}): Controls {
  let offered: Promise<Control[]> | null = null;

  async function find(): Promise<Control[]> {
    const found: Control[] = [];
    for (const control of driver.controls ?? []) if (await isOffered(control)) found.push(control);
    return found;
  }

  async function isOffered({ feature, ...ref }: Control): Promise<boolean> {
    const properties = await link.properties(ref);
    if (!properties.has('write') && !properties.has('writeWithoutResponse')) return false;
    const mask = feature && (await link.read(feature, { optional: true }));
    if (!feature || !mask) return true;
    return ((mask[feature.bit >> 3] ?? 0) & (1 << (feature.bit & 7))) !== 0;
  }

  /** Read once: a device's features do not change within a connection. */
  const controls = () => {
    offered ??= find();
    return offered;
  };

  const kept = (control: Control): string | null => {
    const value = memory.get(keyOf(control));
    return typeof value === 'string' ? value : null;
  };

  async function restore(): Promise<void> {
    const settings = (driver.controls ?? []).filter(({ kind }) => kind === 'setting');
    for (const control of settings) {
      const value = kept(control);
      if (value === null || !(await controls()).includes(control)) continue;
      try {
        await link.write(control, Uint8Array.of(byteOf(control, value)));
      } catch (error) {
        if (error instanceof LinkLostError) return;
        // A device that refuses it would end the connection, and every later one.
        log.warn(
          { err: error, setting: control.name },
          'the wearable does not accept a setting, which is discarded',
        );
        await memory.set(keyOf(control), null);
      }
    }
  }

  return {
    async list() {
      return (await controls()).map(control => ({
        name: control.name,
        title: control.title,
        kind: control.kind,
        values: valuesOf(control),
        value: control.kind === 'setting' ? kept(control) : null,
      }));
    },
    async use(name, value) {
      const all = await controls();
      const control = all.find(one => one.name === name);
      if (!control) throw new Error(notOffered(name, all));
      await link.write(control, Uint8Array.of(byteOf(control, value)));
      if (control.kind === 'setting') await memory.set(keyOf(control), value);
    },
    restore: () => restore().catch(error => log.debug({ err: error }, 'settings were not written')),
  };
}

function notOffered(name: string, all: readonly Control[]): string {
  const names = all.map(each => each.name).join(', ');
  return names
    ? `the wearable has no control ${JSON.stringify(name)}; it has ${names}`
    : 'the wearable has no controls';
}

/** @throws Error with the allowed values */
function byteOf(control: Control, value: string): number {
  const { values } = control;
  const wrong = () =>
    new Error(`${control.name} takes ${valuesOf(control)}, not ${JSON.stringify(value.slice(0, 50))}`);
  if (!isRange(values)) {
    const byte = Object.hasOwn(values, value) ? values[value] : undefined;
    if (byte === undefined) throw wrong();
    return byte;
  }
  const number = /^\d{1,3}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= values.min && number <= values.max)) throw wrong();
  return number;
}

function isRange(values: Control['values']): values is { min: number; max: number } {
  return 'min' in values && 'max' in values;
}

function valuesOf({ values }: Control): string {
  return isRange(values) ? `${values.min} to ${values.max}` : Object.keys(values).join(', ');
}
