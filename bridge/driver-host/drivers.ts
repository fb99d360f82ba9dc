import { fileURLToPath } from 'node:url';
import type { Driver } from '../driver.ts';
import bee from '../drivers/bee.ts';
import frame from '../drivers/frame.ts';
import lanBoard from '../drivers/lan-board.ts';
import limitless from '../drivers/limitless.ts';
import omi from '../drivers/omi.ts';
import omiGlass from '../drivers/omi-glass.ts';
import plaud from '../drivers/plaud.ts';
import { loadDriver } from './driver-check.ts';

const MODULES: readonly Driver[] = [omi, omiGlass, bee, plaud, limitless, frame, lanBoard];
/** Drivers that are YAML files, in the form that anybody can write. */
const DESCRIBED = ['fieldy', 'friend', 'owl'];

/** Loads the drivers of the wearables that the bridge knows. */
export async function builtInDrivers(): Promise<Driver[]> {
  const described = DESCRIBED.map(name => {
    const file = `${name}.yaml`;
    return loadDriver(file, fileURLToPath(new URL(`../drivers/${file}`, import.meta.url)));
  });
  return [...MODULES, ...(await Promise.all(described))];
}
