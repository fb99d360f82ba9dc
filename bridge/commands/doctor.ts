/**
 * Checks the bridge's requirements: the Bluetooth adapter of this machine, the permission to use it, the library, and
 * Bluetooth proxies on the network.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../clock.ts';
import type { RadioState } from '../radio.ts';
import { examineProxy } from '../radios/esphome/examination.ts';
import { asProxyError } from '../radios/esphome/proxy-error.ts';
import { loadNobleOverHci } from '../radios/noble/library.ts';
import { readDataLength } from './data-length.ts';

/** A finding, in the form of the server's own doctor. */
export interface Diagnosis {
  what: string;
  level: 'good' | 'note' | 'doubt' | 'bad';
  detail: string;
  /** Advice; null if nothing is wrong. */
  cure: string | null;
}

const WITHOUT = 'wearables need one, earshot bridge --simulate does not';
const REINSTALL = 'npm ci, with the Node that runs the bridge, and without --ignore-scripts';
const CORE_MS = 5000;
/** CAP_NET_ADMIN and CAP_NET_RAW, as bits of `CapEff`. */
const CAPABILITIES = (1n << 12n) | (1n << 13n);

/**
 * @param system where the system describes itself
 * @param radios ways to reach wearables, as configured
 * @param hasDataLength asks an adapter, by its number
 */
export async function examineBluetooth(
  system = { sys: '/sys', proc: '/proc' },
  radios: readonly string[] = ['noble'],
  hasDataLength: (deviceId: number) => Promise<boolean> = readDataLength,
): Promise<Diagnosis[]> {
  const directory = join(system.sys, 'class/bluetooth');
  const adapters = (await list(directory)).filter(name => /^hci\d+$/.test(name));
  if (adapters.length === 0) return [note('adapter', `there is none here; ${WITHOUT}`), judgeLibrary()];
  const states = await Promise.all(adapters.map(name => judgeAdapter(name, join(directory, name))));
  const usesNoble = radios.some(name => name.startsWith('noble'));
  const isOn = (_: string, index: number) => states[index]?.level === 'good';
  const lengths = adapters.filter(isOn).map(name => judgeDataLength(name, hasDataLength));
  return [
    ...states,
    ...(await Promise.all(lengths)),
    await judgeDaemon(system.proc, radios),
    ...(usesNoble ? [await judgePermission(system.proc)] : []),
    judgeLibrary(),
  ];
}

/**
 * Checks that the server answers, and accepts the key.
 * @param key null: core creates one for a bridge on the same machine
 */
export async function examineCore(core: string, key: string | null): Promise<Diagnosis[]> {
  const url = new URL(core.replace(/^ws/, 'http'));
  const at = (path: string) => new URL(`${url.pathname.replace(/\/$/, '')}${path}`, url);
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(at(path), { headers, signal: AbortSignal.timeout(CORE_MS) });
    await response.body?.cancel();
    return response.status;
  };
  try {
    await ask('/healthz');
  } catch (error) {
    const reason =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return [
      doubt(
        'core',
        `${core} does not answer (${reason}); audio waits on disk`,
        'start the server, make it reachable (host), or correct bridge.core',
      ),
    ];
  }
  const answers = good('core', `answers on ${core}`);
  if (key === null) return [answers];
  // A key that may only listen gets 403 here, which shows that it is valid.
  const status = await ask('/v1/dev/user/conversations?limit=1', { authorization: `Bearer ${key}` });
  if (status !== 401) return [answers, good('key', 'core accepts it')];
  return [
    answers,
    doubt('key', 'core does not accept it', 'earshot key owner --scopes listen, on the server'),
  ];
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
  return good(name, 'present and switched on');
}

/** Some pendants send audio in packets that an adapter of Bluetooth 4.0 or 4.1 does not take. */
async function judgeDataLength(
  name: string,
  ask: (deviceId: number) => Promise<boolean>,
): Promise<Diagnosis> {
  const what = 'data length';
  try {
    if (await ask(Number(name.slice('hci'.length)))) return good(what, `${name} supports long packets`);
    return doubt(
      what,
      `${name} has no data length extension (Bluetooth 4.0 or 4.1); some pendants never send audio to it`,
      'use an adapter with Bluetooth 4.2 or newer',
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return note(what, `whether ${name} supports long packets is unknown: ${reason}`);
  }
}

const PROXY_AWAY = 'check that the board is on and in this network, and host and port in bridge.esphome';
const PROXY_CURES: Readonly<Partial<Record<RadioState['name'], string>>> = {
  unauthorized: 'compare key in bridge.esphome with api: encryption: key: in the YAML of the board',
  unsupported:
    'set bluetooth_proxy: active: true in the YAML of the board, and install it with a new ESPHome',
};

/** Connects to each Bluetooth proxy, and tells what it can do. */
export async function examineProxies(
  { radios, esphome }: Pick<Config['bridge'], 'radios' | 'esphome'>,
  clock: Clock,
): Promise<Diagnosis[]> {
  if (!radios.includes('esphome')) return [];
  if (esphome.length === 0)
    return [
      doubt('proxy', 'bridge.radios lists esphome, but bridge.esphome is empty', 'set the host of one'),
    ];
  return Promise.all(
    esphome.map(async proxy => {
      const what = `proxy ${proxy.host}`;
      try {
        const { info, slots } = await examineProxy(proxy, clock);
        const room = slots ? `, ${slots.free} of ${slots.limit} connections free` : '';
        const secrecy = info.isEncrypted ? 'encrypted' : 'not encrypted';
        const detail = `${info.name}, ESPHome ${info.version}, ${secrecy}${room}`;
        if (slots?.free === 0)
          return doubt(what, detail, 'disconnect a device from it, or set up another board as a proxy');
        return info.isEncrypted
          ? good(what, detail)
          : {
              ...note(what, detail),
              cure: 'set api: encryption: in its YAML, and its key in bridge.esphome',
            };
      } catch (error) {
        const { state, message } = asProxyError(error);
        return doubt(what, message, PROXY_CURES[state] ?? PROXY_AWAY);
      }
    }),
  );
}

/** bluetoothd may use the adapter at the same time as the bridge. */
async function judgeDaemon(proc: string, radios: readonly string[]): Promise<Diagnosis> {
  const processes = (await list(proc)).filter(entry => /^\d+$/.test(entry));
  const names = await Promise.all(processes.map(entry => read(join(proc, entry, 'comm'))));
  const runs = names.includes('bluetoothd');
  if (radios.some(name => name.startsWith('bluez')))
    return runs
      ? good('bluetoothd', 'runs')
      : doubt('bluetoothd', 'does not run, and bridge.radios lists bluez', 'sudo systemctl start bluetooth');
  return runs
    ? note(
        'bluetoothd',
        'runs, and uses the adapter as well; if connections fail, list bluez in bridge.radios instead of noble, or stop bluetoothd',
      )
    : good('bluetoothd', 'does not run, so the adapter is free');
}

/** The library opens a raw socket. */
async function judgePermission(proc: string): Promise<Diagnosis> {
  const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec(await read(join(proc, 'self/status'))) ?? [];
  if (effective === undefined) return note('permission', 'this cannot be determined here');
  if ((BigInt(`0x${effective}`) & CAPABILITIES) === CAPABILITIES)
    return good('permission', 'this account may use raw sockets');
  return doubt(
    'permission',
    'this account may not use the adapter',
    `sudo setcap cap_net_raw,cap_net_admin+eip ${process.execPath}`,
  );
}

/** Loads the library as the bridge does, without opening the adapter. */
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

/** The bridge may run on another machine, where this one needs none of it: no finding is `bad`. */
function doubt(what: string, detail: string, cure: string): Diagnosis {
  return { what, level: 'doubt', detail, cure };
}

function list(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
