import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLog } from '../log.ts';
import type { Check, Patient } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';

const { good, note, doubt } = findingsOf('Bluetooth');

const WITHOUT = 'plug one in; or try without: npx earshot bridge --simulate';
const REINSTALL = 'npm ci, with the Node that runs the bridge, and without --ignore-scripts';
/** CAP_NET_ADMIN and CAP_NET_RAW, as bits of `CapEff`. */
const CAPABILITIES = (1n << 12n) | (1n << 13n);

/** Nothing of it is needed where the bridge runs on another machine, so nothing of it is bad. */
export const bluetoothCheck: Check = {
  group: 'Bluetooth',
  what: 'adapter',
  limitMs: 8000,
  cure: WITHOUT,
  async look(patient) {
    const adapters = (await list(join(patient.sys, 'class/bluetooth'))).filter(name => /^hci\d+$/.test(name));
    if (adapters.length === 0) return [doubt('adapter', 'there is none here', WITHOUT), await library()];
    const states = await Promise.all(adapters.map(name => judgeAdapter(name, patient)));
    return [...states, await permission(patient), await library()];
  },
};

async function judgeAdapter(name: string, { sys }: Patient): Promise<Finding> {
  const directory = join(sys, 'class/bluetooth', name);
  const switches = (await list(directory)).filter(entry => /^rfkill\d+$/.test(entry));
  for (const entry of switches) {
    const [soft, hard] = await Promise.all(['soft', 'hard'].map(kind => read(join(directory, entry, kind))));
    if (hard === '1') return doubt(name, 'it is switched off by a switch or key', 'switch it on there');
    if (soft === '1') return doubt(name, 'it is switched off', 'rfkill unblock bluetooth');
  }
  return good(name, 'there, and not switched off');
}

/** A raw socket is what noble opens. */
async function permission({ proc }: Patient): Promise<Finding> {
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
async function library(): Promise<Finding> {
  const { loadNobleOverHci } = await import('../../bridge/radio.ts');
  let name = '';
  const log = createLog(
    { level: 'info', format: 'json' },
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

function list(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
