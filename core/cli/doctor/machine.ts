import { access } from 'node:fs/promises';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { sizeOf } from '../../runtime/terminal.ts';
import type { Check, Patient } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';

const NEEDED_NODE = 24;
const JUMP_MS = 200;
const WATCH_MS = 500;
/** Plausible range of the clock: after this version was made, and not in a distant future. */
const BEGINNING = Date.UTC(2026, 0);
const END = Date.UTC(2100, 0);

const { good, note, doubt, bad } = findingsOf('Machine');
const SET_CLOCK = 'set it, and keep it synchronised: sudo timedatectl set-ntp true';

export const machineCheck: Check = {
  group: 'Machine',
  what: 'machine',
  limitMs: 2000,
  cure: 'check it with: node --version',
  look: async () => [judgeNode(process.version), resources()],
};

export function judgeNode(version: string): Finding {
  const isNew = Number.parseInt(version.slice(1), 10) >= NEEDED_NODE;
  if (isNew) return good('Node', version);
  return bad('Node', `${version}; ${NEEDED_NODE} is needed`, 'start Earshot with: npm start');
}

function resources(): Finding {
  const [load = 0] = loadavg();
  const memory = `${sizeOf(freemem())} of ${sizeOf(totalmem())} memory free`;
  return note('resources', `${availableParallelism()} processors, load ${load.toFixed(1)}; ${memory}`);
}

export const clockCheck: Check = {
  group: 'Machine',
  what: 'clock',
  limitMs: 3000,
  cure: SET_CLOCK,
  look: async patient => [judgeTime(patient.clock.now()), await synchronised(patient), await jumps(patient)],
};

export function judgeTime(now: number): Finding {
  const shown = new Date(now).toISOString();
  if (now >= BEGINNING && now < END) return good('clock', shown);
  return bad('clock', `${shown}: conversations would be filed under a wrong day`, SET_CLOCK);
}

/** Looks for the file with which systemd reports a synchronised clock; other systems have none. */
async function synchronised({ run }: Patient): Promise<Finding> {
  if (await isThere(join(run, 'systemd/timesync/synchronized'))) return good('time server', 'synchronised');
  if (await isThere(join(run, 'systemd/timesync')))
    return doubt('time server', 'systemd-timesyncd has not reached one yet', SET_CLOCK);
  return note('time server', 'cannot determine whether the clock follows one');
}

/** Compares the wall clock with the monotonic clock. */
async function jumps({ clock }: Patient): Promise<Finding> {
  const before = { wall: clock.now(), steady: performance.now() };
  await clock.sleep(WATCH_MS);
  const jumpMs = Math.round(clock.now() - before.wall - (performance.now() - before.steady));
  if (Math.abs(jumpMs) < JUMP_MS) return good('steadiness', `no jump within ${WATCH_MS} ms`);
  return doubt('steadiness', `the clock jumped by ${jumpMs} ms just now`, SET_CLOCK);
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
