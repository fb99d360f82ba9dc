import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { addressUrl, healthOf, isServing, proxyProblem } from './address.ts';
import type { Check, Patient } from './examination.ts';
import { codeOf, type Finding, findingsOf } from './finding.ts';

const { good, note, doubt, bad } = findingsOf('Server');

const CHECK_PROXY =
  'check publicUrl and the proxy there; it may be right where this network cannot reach its own public address';

export const portCheck: Check = {
  group: 'Server',
  what: 'port',
  limitMs: 8000,
  cure: 'find the program that uses it: ss -ltnp',
  async look(patient) {
    const { server } = patient;
    if (server === 'absent') return [note('server', 'it does not run'), await judgePort(patient)];
    if ('problem' in server)
      return [
        bad('server', server.problem, 'run this command as the account of the server, or restart the server'),
      ];
    const { url, version } = server;
    if (url === null)
      return [doubt('server', 'it is starting, or stopping', 'run the check again in a moment')];
    return [await judgeHealth(url, version, patient), ...(await judgePublicUrl(patient))];
  },
};

async function judgeHealth(url: string, version: string, patient: Patient): Promise<Finding> {
  const health = await healthOf(url, patient);
  const cure = 'look at its log, and start it again';
  if (health === null) return bad('server', `it runs, but does not answer on ${url}/healthz`, cure);
  const parts = health.parts.join(', ');
  if (health.status === 'failing') {
    const what = parts === '' ? 'is starting or stopping' : `cannot serve; not working: ${parts}`;
    return bad('server', `Earshot ${version} answers on ${url}, but ${what}`, cure);
  }
  const without = health.status === 'degraded' ? `, without ${parts} (see below)` : '';
  return good('server', `Earshot ${version} answers on ${url}${without}`);
}

/** Checks the public address, if it is configured. */
async function judgePublicUrl(patient: Patient): Promise<Finding[]> {
  const { publicUrl } = patient.loaded.config;
  if (publicUrl === undefined) return [];
  if (!(await isServing(publicUrl, patient)))
    return [doubt('public address', `no Earshot answers on ${publicUrl} from here`, CHECK_PROXY)];
  const problem = await proxyProblem(publicUrl);
  if (problem) return [bad('public address', problem.detail, problem.cure)];
  return [good('public address', `${publicUrl} reaches this server, also by WebSocket`)];
}

async function judgePort(patient: Patient): Promise<Finding> {
  const { host, port } = patient.loaded.config;
  if (port === 0) return note('port', 'any that is free (port: 0)');
  const code = await tryListening(host, port);
  if (code === null) return good('port', `${host}:${port} is free`);
  if (code === 'EADDRINUSE') return taken(patient, host, port);
  if (code === 'EACCES')
    return bad('port', `this account may not use port ${port}`, 'choose one above 1023: EARSHOT_PORT=8420');
  return bad(
    'port',
    `${host} is not an address of this machine (${code})`,
    'choose one: EARSHOT_HOST=127.0.0.1',
  );
}

async function taken(patient: Patient, host: string, port: number): Promise<Finding> {
  const cure = `stop it, or choose another: EARSHOT_PORT=${port === 65_535 ? port - 1 : port + 1}`;
  const other = await isServing(addressUrl(host, port), patient);
  const who = other ? 'another Earshot, on another data directory' : await holderOf(port, patient.proc);
  return bad('port', `${port} is taken by ${who}`, cure);
}

/** Tries to listen on the port; null if that works, else the system's error code. */
function tryListening(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise(resolve => {
    server.once('error', error => resolve(codeOf(error)));
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

const LISTENING = '0A';

/** Finds the program that listens on a port, if this account may see it. */
async function holderOf(port: number, proc: string): Promise<string> {
  const inodes = await inodesOf(port, proc);
  for (const pid of (await names(proc)).filter(name => /^\d+$/.test(name))) {
    for (const fd of await names(join(proc, pid, 'fd'))) {
      const target = await readlink(join(proc, pid, 'fd', fd)).catch(() => '');
      const [, inode] = /^socket:\[(\d+)\]$/.exec(target) ?? [];
      if (inode === undefined || !inodes.includes(inode)) continue;
      return `${(await readFile(join(proc, pid, 'comm'), 'utf8')).trim()} (process ${pid})`;
    }
  }
  return 'another program, of another account';
}

async function inodesOf(port: number, proc: string): Promise<string[]> {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const tables = ['net/tcp', 'net/tcp6'].map(name => readFile(join(proc, name), 'utf8').catch(() => ''));
  return (await Promise.all(tables)).flatMap(table =>
    table.split('\n').flatMap(line => {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      return inode !== undefined && state === LISTENING && local.endsWith(wanted) ? [inode] : [];
    }),
  );
}

function names(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
