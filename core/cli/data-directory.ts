import { accessSync, constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { LoadedConfig } from '../../config/load.ts';
import { controlPath, isServed } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';

/** Data directory of the systemd service that docs/systemd.md describes. */
export const SERVICE_DIRECTORY = '/var/lib/earshot';

/** Files that exist once a server was started: the database itself may be elsewhere, on Postgres. */
const TRACES = ['control.sock', 'earshot.db', 'audio', 'plugins/local'];

interface Place {
  loaded: LoadedConfig;
  /** Description for people where nobody has named it: `the systemd service's`. */
  why: string;
}

/**
 * The data directory of a command: the one that `--data-dir`, `EARSHOT_DATA_DIR` or the configuration names; else the
 * service's or the folder's own, in this order, one with a running server before one without. Nothing is created.
 * @param load reads the configuration, of the working directory or, with one, of that directory
 * @returns also a line that tells which it is, null where it was named
 * @throws {AppError} `not_found` where there is no data; `forbidden` where it belongs to another account
 */
export async function findData(
  load: (cwd?: string) => LoadedConfig,
  { service, orHere }: { service: string; orHere: boolean },
): Promise<{ loaded: LoadedConfig; told: string | null }> {
  const here = load();
  if (here.isSet('dataDir')) {
    if (!orHere) await requireData(here.config.dataDir);
    return { loaded: here, told: null };
  }
  const places: Place[] = [
    { loaded: at(service, here, load), why: "the systemd service's" },
    { loaded: here, why: "this folder's" },
  ];
  const found = await choose(places);
  if (found) {
    const { dataDir } = found.loaded.config;
    if (!orHere) await requireData(dataDir);
    return { loaded: found.loaded, told: `Data directory: ${dataDir} (${found.why})` };
  }
  if (orHere) return { loaded: here, told: null };
  throw await noData([here.config.dataDir, service]);
}

/** Uses the service's own configuration, unless another one applies. */
function at(dataDir: string, here: LoadedConfig, load: (cwd?: string) => LoadedConfig): LoadedConfig {
  const loaded = here.file === null && isReadable(dataDir) ? load(dataDir) : here;
  return { ...loaded, config: { ...loaded.config, dataDir } };
}

function isReadable(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function choose(places: readonly Place[]): Promise<Place | null> {
  const existing: Place[] = [];
  for (const place of places) {
    const { dataDir } = place.loaded.config;
    const state = await stateOf(dataDir);
    if (state === 'absent') continue;
    if (state === 'data' && (await isServed(controlPath(dataDir)))) return place;
    existing.push(place);
  }
  return existing[0] ?? null;
}

async function requireData(dataDir: string): Promise<void> {
  const state = await stateOf(dataDir);
  if (state === 'absent') throw await noData([dataDir]);
  if (state === 'data') return;
  const { uid } = await stat(dataDir);
  throw new AppError(
    'forbidden',
    `${dataDir} belongs to another account: run the command as that account, with sudo -u '#${uid}'`,
  );
}

async function stateOf(dataDir: string): Promise<'data' | 'foreign' | 'absent'> {
  const codes = await Promise.all(TRACES.map(name => codeOf(stat(`${dataDir}/${name}`))));
  if (codes.includes(null)) return 'data';
  return codes.includes('EACCES') ? 'foreign' : 'absent';
}

async function codeOf(looking: Promise<unknown>): Promise<string | null> {
  return looking.then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
  );
}

async function noData(directories: string[]): Promise<AppError> {
  const { refuseUnfinishedRestore } = await import('../backup/restore.ts'); // imported late: it loads much
  for (const directory of directories) await refuseUnfinishedRestore(directory);
  return new AppError(
    'not_found',
    `There is no data of Earshot in ${directories.join(' or ')}: earshot serve creates it, or name its directory with --data-dir`,
  );
}
