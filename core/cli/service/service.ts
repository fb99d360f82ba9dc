import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Argument, type Command } from 'commander';
import { environment } from '../../../config/load.ts';
import { AppError } from '../../runtime/errors.ts';
import { SERVICE_DIRECTORY } from '../data-directory.ts';
import { JSON_OPTION, print, settingsHere } from '../in-process.ts';
import { MARK, type ServiceName, UNIT_NAMES, type UnitOptions, unitOf } from './unit.ts';

const run = promisify(execFile);

const ACCOUNT = 'earshot';
const BRIDGE_DIRECTORY = '/var/lib/earshot-bridge';
const MAIN = fileURLToPath(new URL('../main.mjs', import.meta.url));
/** In a package: the emitted files are below `build`. */
const PACKED_MAIN = fileURLToPath(new URL('../../../../core/cli/main.mjs', import.meta.url));
/** Directories that no service of the machine can read. */
const HOMES = ['/home/', '/root/', '/run/user/'];

interface Options {
  user?: boolean;
  json?: boolean;
}

interface InstallOptions extends Options {
  core?: string;
  keyFile?: string;
  print?: boolean;
  start: boolean;
}

/** `service install`, `service uninstall`, `service status`: the server or the bridge as a unit of systemd. */
export function addService(program: Command): void {
  const service = program
    .command('service')
    .description('run the server or the bridge as a systemd service')
    .addHelpText('after', '\nExample: earshot service install');
  addInstall(service);
  addUninstall(service);
  addStatus(service);
}

const which = () => new Argument('[service]', 'which one').choices(['core', 'bridge']).default('core');

function addInstall(service: Command): void {
  service
    .command('install')
    .addArgument(which())
    .description('write, enable and start the systemd unit')
    .option('--user', 'install it for your own account; needs no root')
    .option('--core <url>', 'bridge: address of the server, if it is not on this machine')
    .option('--key-file <file>', 'bridge: file with the API key for that server')
    .option('--print', 'print the unit and change nothing')
    .option('--no-start', 'enable it, but do not start it now')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
As root, this installs a system service, which runs as the account ${ACCOUNT} with the data directory
${SERVICE_DIRECTORY}, unless --data-dir names another. With --user, it installs a service of your own account.

Example: earshot service install --user`,
    )
    .action(async (name: ServiceName, options: InstallOptions, command: Command) => {
      const unit = planOf(name, options, command);
      const text = unitOf(unit);
      if (options.print) {
        process.stdout.write(options.json ? `${JSON.stringify({ unit: text })}\n` : text);
        return;
      }
      await refuseUnreadable(unit);
      const file = fileOf(name, unit.isUser);
      await refuseForeign(file);
      await requireSystemd(unit.isUser);
      if (!unit.isUser) await prepareAccount(unit.dataDir);
      else await mkdir(unit.dataDir, { recursive: true, mode: 0o700 });
      await put(file, text);
      await systemctl(unit.isUser, 'daemon-reload');
      await systemctl(unit.isUser, 'enable', UNIT_NAMES[name]);
      // Restart a running one, so that the new unit applies.
      if (options.start) await systemctl(unit.isUser, 'restart', UNIT_NAMES[name]);
      print(options.json, { file, dataDir: unit.dataDir }, installed(name, file, unit, options.start));
    });
}

function addUninstall(service: Command): void {
  service
    .command('uninstall')
    .addArgument(which())
    .description('stop the service and remove its unit; the data stays')
    .option('--user', 'the service of your own account')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot service uninstall')
    .action(async (name: ServiceName, { user = false, json }: Options) => {
      const file = fileOf(name, user);
      const before = await read(file);
      if (before === null) throw new AppError('not_found', `There is no ${file}${hintOther(user)}`);
      await refuseForeign(file);
      await requireSystemd(user);
      await systemctl(user, 'disable', '--now', UNIT_NAMES[name]);
      await rm(file);
      await systemctl(user, 'daemon-reload');
      const dataDir = dataDirOf(before);
      print(json, { file, dataDir }, `Removed ${file}. The data is still in ${dataDir}.`);
    });
}

function addStatus(service: Command): void {
  service
    .command('status')
    .addArgument(which())
    .description('show whether the service is installed and running')
    .option('--user', 'the service of your own account')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot service status')
    .action(async (name: ServiceName, { user = false, json }: Options) => {
      const file = fileOf(name, user);
      const text = await read(file);
      if (text === null)
        throw new AppError(
          'not_found',
          `There is no ${file}${hintOther(user)}; earshot service install creates it`,
        );
      await requireSystemd(user);
      const state = await stateOf(name, user);
      const words = [
        `${UNIT_NAMES[name]}: ${state.active} (${state.sub}), ${state.enabled}${state.restarts === 0 ? '' : `, restarted ${state.restarts} times`}`,
        `Unit: ${file}${text.startsWith(MARK) ? '' : ' (not written by earshot)'}`,
        `Data: ${dataDirOf(text)}`,
        `Log:  journalctl ${user ? '--user ' : ''}-u ${UNIT_NAMES[name]} -f`,
      ];
      print(json, { file, dataDir: dataDirOf(text), ...state }, words.join('\n'));
    });
}

// ── the unit ─────────────────────────────────────────────────────────────────────────────────────────

function planOf(service: ServiceName, options: InstallOptions, command: Command): UnitOptions {
  const isUser = options.user ?? false;
  const { core, keyFile } = options;
  if (service === 'core' && (core !== undefined || keyFile !== undefined))
    throw new AppError(
      'invalid_request',
      '--core and --key-file are for the bridge: earshot service install bridge',
    );
  if ((core === undefined) !== (keyFile === undefined))
    throw new AppError('invalid_request', '--core and --key-file belong together');
  if (/\p{Cc}/u.test(`${core}${keyFile}`))
    throw new AppError(
      'invalid_request',
      '--core and --key-file may hold no line break and no other control character',
    );
  const loaded = settingsHere(command);
  const { config } = command.optsWithGlobals<{ config?: string }>();
  const isElsewhere = core !== undefined && keyFile !== undefined;
  const own = isElsewhere ? BRIDGE_DIRECTORY : SERVICE_DIRECTORY;
  return {
    service,
    isUser,
    program: [process.execPath, ...process.execArgv, programFile()],
    dataDir: resolve(isUser || loaded.isSet('dataDir') ? loaded.config.dataDir : own),
    configFile: config === undefined ? null : resolve(config),
    bridge: isElsewhere ? { core, keyFile: resolve(keyFile) } : null,
    account: ACCOUNT,
  };
}

/** Name under which the command is installed, for messages. */
function programFile(): string {
  if (import.meta.filename.endsWith('.ts')) return MAIN;
  const command = resolve(PACKED_MAIN, '../../../../.bin/earshot');
  return existsSync(command) ? command : PACKED_MAIN;
}

function fileOf(service: ServiceName, isUser: boolean): string {
  const { XDG_CONFIG_HOME: ownDirectory = join(homedir(), '.config') } = environment;
  return join(isUser ? join(ownDirectory, 'systemd/user') : '/etc/systemd/system', UNIT_NAMES[service]);
}

/** Reads the directory from the unit, which may have been installed with another one. */
function dataDirOf(unit: string): string {
  return /^WorkingDirectory=(.*)$/m.exec(unit)?.[1]?.replaceAll('%%', '%') ?? 'the data directory';
}

// ── obstacles ────────────────────────────────────────────────────────────────────────────────────────

async function refuseUnreadable({ isUser, program, dataDir, configFile }: UnitOptions): Promise<void> {
  if (isUser) return;
  if (process.getuid?.() !== 0)
    throw new AppError(
      'forbidden',
      'Installing a system service needs root: use sudo, or --user for your own account',
    );
  const hidden = [
    ...program.slice(0, 1),
    ...program.slice(-1),
    dataDir,
    ...(configFile === null ? [] : [configFile]),
  ].find(path => HOMES.some(home => path.startsWith(home)));
  if (hidden !== undefined)
    throw new AppError(
      'invalid_request',
      `${hidden} is in a home directory, which the account ${ACCOUNT} cannot read: install Earshot below /opt (docs/systemd.md), or use --user`,
    );
}

async function refuseForeign(file: string): Promise<void> {
  const before = await read(file);
  if (before !== null && !before.startsWith(MARK))
    throw new AppError('conflict', `${file} was not written by earshot service install: move it away first`);
}

async function requireSystemd(isUser: boolean): Promise<void> {
  await run('systemctl', [...scopeOf(isUser), 'show', '--property=Version']).catch(cause => {
    const message = isUser
      ? 'systemd does not answer for your account; sign in directly, or run: sudo loginctl enable-linger $USER'
      : 'systemd does not run on this machine; start the server in another way: earshot serve';
    throw new AppError('unavailable', message, { cause });
  });
}

// ── actions ──────────────────────────────────────────────────────────────────────────────────────────────────

async function prepareAccount(dataDir: string): Promise<void> {
  const isThere = await run('id', ['-u', ACCOUNT]).then(
    () => true,
    () => false,
  );
  if (!isThere) await run('useradd', ['--system', '--user-group', '--shell', '/usr/sbin/nologin', ACCOUNT]);
  const isNew = (await stat(dataDir).catch(() => null)) === null;
  if (!isNew) return;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async flag => Number((await run('id', [flag, ACCOUNT])).stdout)),
  );
  if (uid !== undefined && gid !== undefined) await chown(dataDir, uid, gid);
}

async function put(file: string, text: string): Promise<void> {
  await mkdir(resolve(file, '..'), { recursive: true });
  await writeFile(`${file}.new`, text, { mode: 0o644 });
  await rename(`${file}.new`, file);
}

async function systemctl(isUser: boolean, ...args: string[]): Promise<string> {
  try {
    return (await run('systemctl', [...scopeOf(isUser), ...args])).stdout;
  } catch (cause) {
    const told = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    throw new AppError('upstream_error', `systemctl ${args.join(' ')} failed: ${told}`, { cause });
  }
}

async function stateOf(name: ServiceName, isUser: boolean) {
  const wanted = ['ActiveState', 'SubState', 'UnitFileState', 'NRestarts'];
  const text = await systemctl(isUser, 'show', UNIT_NAMES[name], `--property=${wanted.join(',')}`);
  const values = new Map(
    text.split('\n').map(line => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  return {
    active: values.get('ActiveState') ?? 'unknown',
    sub: values.get('SubState') ?? 'unknown',
    enabled: values.get('UnitFileState') ?? 'unknown',
    restarts: Number(values.get('NRestarts') ?? 0),
  };
}

const scopeOf = (isUser: boolean) => (isUser ? ['--user'] : []);
const hintOther = (isUser: boolean) =>
  isUser ? '; leave --user out for the system service' : '; --user is for the service of your own account';

async function read(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

function installed(
  service: ServiceName,
  file: string,
  { isUser, dataDir }: UnitOptions,
  isStarted: boolean,
): string {
  const scope = isUser ? ' --user' : '';
  const lines = [
    `${isStarted ? 'Installed and started' : 'Installed'} ${UNIT_NAMES[service]} (${file}), data in ${dataDir}.`,
    `Its log:   journalctl${scope} -u ${UNIT_NAMES[service]} -f`,
    `Its state: earshot service status${service === 'core' ? '' : ` ${service}`}${scope}`,
    ...(isUser
      ? ['It runs while you are signed in. To run it from boot on: sudo loginctl enable-linger $USER']
      : []),
  ];
  return lines.join('\n');
}
