/** Examines what the bridge needs of this machine: the Bluetooth adapter, the permission to use it, and the library. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadNobleOverHci } from './library.ts';

/** One thing that was looked at, in the shape of the server's own doctor. */
export interface Diagnosis {
  what: string;
  level: 'good' | 'note' | 'doubt' | 'bad';
  detail: string;
  /** Advice; null if nothing is wrong. */
  cure: string | null;
}

const WITHOUT = 'wearables need one, earshot bridge --simulate does not';
const REINSTALL = 'npm ci, with the Node that runs the bridge, and without --ignore-scripts';
/** CAP_NET_ADMIN and CAP_NET_RAW, as bits of `CapEff`. */
const CAPABILITIES = (1n << 12n) | (1n << 13n);

/** @param system where the system describes itself */
export async function examineBluetooth(system = { sys: '/sys', proc: '/proc' }): Promise<Diagnosis[]> {
  const directory = join(system.sys, 'class/bluetooth');
  const adapters = (await list(directory)).filter(name => /^hci\d+$/.test(name));
  if (adapters.length === 0) return [note('adapter', `there is none here; ${WITHOUT}`), judgeLibrary()];
  const states = await Promise.all(adapters.map(name => judgeAdapter(name, join(directory, name))));
  return [...states, await judgePermission(system.proc), judgeLibrary()];
}

/** One line for each finding, and one for what to do about it. */
export function renderDiagnoses(diagnoses: readonly Diagnosis[]): string {
  const signs = { good: '✓', note: '·', doubt: '!', bad: '✗' } as const;
  return diagnoses
    .flatMap(({ level, what, detail, cure }) => [
      `${signs[level]} ${what}: ${detail}\n`,
      ...(cure === null ? [] : [`  → ${cure}\n`]),
    ])
    .join('');
}

async function judgeAdapter(name: string, directory: string): Promise<Diagnosis> {
  const switches = (await list(directory)).filter(entry => /^rfkill\d+$/.test(entry));
  for (const entry of switches) {
    const [soft, hard] = await Promise.all(['soft', 'hard'].map(kind => read(join(directory, entry, kind))));
    if (hard === '1') return doubt(name, 'it is switched off by a switch or key', 'switch it on there');
    if (soft === '1') return doubt(name, 'it is switched off', 'rfkill unblock bluetooth');
  }
  return good(name, 'there, and not switched off');
}

/** The library opens a raw socket. */
async function judgePermission(proc: string): Promise<Diagnosis> {
  const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec(await read(join(proc, 'self/status'))) ?? [];
  if (effective === undefined) return note('permission', 'it cannot be told from here');
  if ((BigInt(`0x${effective}`) & CAPABILITIES) === CAPABILITIES)
    return good('permission', 'this account may use raw sockets');
  return doubt(
    'permission',
    'this account may not use the adapter',
    `sudo setcap cap_net_raw,cap_net_admin+eip ${process.execPath}`,
  );
}

/** Loads the library as the bridge does, and does not open the adapter. */
function judgeLibrary(): Diagnosis {
  let name = '';
  const log = pino(
    { level: 'info' },
    {
      write(line) {
        name = JSON.parse(line).library ?? name;
      },
    },
  );
  try {
    loadNobleOverHci(log);
    return good('library', `${name} loads`);
  } catch (error) {
    return doubt('library', error instanceof Error ? error.message : String(error), REINSTALL);
  }
}

function good(what: string, detail: string): Diagnosis {
  return { what, level: 'good', detail, cure: null };
}

function note(what: string, detail: string): Diagnosis {
  return { what, level: 'note', detail, cure: null };
}

/** Nothing here is needed where the bridge runs on another machine, so nothing is `bad`. */
function doubt(what: string, detail: string, cure: string): Diagnosis {
  return { what, level: 'doubt', detail, cure };
}

function list(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
