/** Units of systemd: text alone. */
export type ServiceName = 'core' | 'bridge';

/** First line of each generated unit: a file without it belongs to somebody else. */
export const MARK = '# Written by Earshot (service install): changes belong into a drop-in, systemctl edit.';

export const UNIT_NAMES: Readonly<Record<ServiceName, string>> = {
  core: 'earshot.service',
  bridge: 'earshot-bridge.service',
};

export interface UnitOptions {
  service: ServiceName;
  /** Whether the unit belongs to one user's systemd, and not to the machine's. */
  isUser: boolean;
  /** Node with its options, and the script. */
  program: readonly string[];
  /** Absolute. */
  dataDir: string;
  /** Absolute; null: `earshot.yaml` in the data directory, where there is one. */
  configFile: string | null;
  /** Server of a bridge, and its key; null: the server on the same data directory makes one. */
  bridge: { core: string; keyFile: string } | null;
  /** Account that it runs as; not of a user's unit. */
  account: string;
}

/** Where systemd makes directories of the machine's units. */
const STATE_ROOT = '/var/lib/';

/**
 * Renders the unit. The process may use its data directory and the network alone; a bridge may use Bluetooth without
 * being root. V8 compiles at run time, so memory may be made executable.
 */
export function unitOf(options: UnitOptions): string {
  const { service, isUser } = options;
  const sections = [
    [MARK],
    ['[Unit]', `Description=${service === 'core' ? 'Earshot' : 'Bridge of Earshot'}`, ...orderOf(options)],
    ['[Service]', 'Type=exec', ...startOf(options), ...hardeningOf(service, isUser)],
    ['[Install]', `WantedBy=${isUser ? 'default' : 'multi-user'}.target`],
  ];
  return `${sections.map(lines => lines.join('\n')).join('\n\n')}\n`;
}

function orderOf({ service, isUser, bridge }: UnitOptions): string[] {
  const always = ['# Restarted however often it ends', 'StartLimitIntervalSec=0'];
  if (isUser)
    return service === 'bridge' && bridge === null ? [`After=${UNIT_NAMES.core}`, ...always] : always;
  const after = ['network-online.target'];
  if (service === 'bridge') after.push('bluetooth.service', ...(bridge === null ? [UNIT_NAMES.core] : []));
  return ['Wants=network-online.target', `After=${after.join(' ')}`, ...always];
}

function startOf(options: UnitOptions): string[] {
  const { service, isUser, dataDir, account, bridge } = options;
  const cache = isUser ? '%C/earshot' : '/var/cache/earshot';
  return [
    ...(isUser ? [] : [`User=${account}`, `Group=${account}`]),
    ...directoryOf(dataDir, isUser),
    'CacheDirectory=earshot',
    `WorkingDirectory=${escaped(dataDir)}`,
    `Environment=NODE_COMPILE_CACHE=${cache}`,
    ...(bridge && !isUser ? [`LoadCredential=key:${escaped(bridge.keyFile)}`] : []),
    `ExecStart=${commandOf(options)}`,
    'KillMode=mixed',
    'TimeoutStopSec=20',
    'Restart=on-failure',
    'RestartSec=5',
    ...(service === 'bridge' && !isUser ? BLUETOOTH : []),
  ];
}

function directoryOf(dataDir: string, isUser: boolean): string[] {
  const name = dataDir.slice(STATE_ROOT.length);
  const isState = !isUser && dataDir.startsWith(STATE_ROOT) && /^[\w-]+$/.test(name);
  if (isState) return [`StateDirectory=${name}`, 'StateDirectoryMode=0700'];
  return isUser ? [] : [`ReadWritePaths=${quoted(dataDir)}`];
}

function commandOf({ service, isUser, program, dataDir, configFile, bridge }: UnitOptions): string {
  const words = [
    ...program,
    ...(service === 'core' ? ['serve'] : ['bridge']),
    ...['--data-dir', dataDir],
    ...(configFile === null ? [] : ['--config', configFile]),
  ].map(quoted);
  if (bridge === null) return words.join(' ');
  const core = quoted(`EARSHOT_BRIDGE__CORE=${bridge.core}`);
  const keyFile = isUser
    ? quoted(`EARSHOT_BRIDGE__KEY_FILE=${bridge.keyFile}`)
    : `EARSHOT_BRIDGE__KEY_FILE=\${CREDENTIALS_DIRECTORY}/key`;
  return `/usr/bin/env ${core} ${keyFile} ${words.join(' ')}`;
}

/** Bluetooth without being root. */
const BLUETOOTH = ['AmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN'];

/** Restrictions that an unprivileged systemd can set as well. */
const FOR_ALL = [
  'NoNewPrivileges=yes',
  'UMask=0077',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallErrorNumber=EPERM',
  'SystemCallFilter=@system-service',
];

const FOR_MACHINES = [
  'DevicePolicy=closed',
  'PrivateDevices=yes',
  'PrivateTmp=yes',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHome=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectProc=invisible',
  'ProtectSystem=strict',
  'RemoveIPC=yes',
  'RestrictNamespaces=yes',
];

function hardeningOf(service: ServiceName, isUser: boolean): string[] {
  const families = `RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK${service === 'bridge' ? ' AF_BLUETOOTH' : ''}`;
  if (isUser) return [...FOR_ALL, families];
  const capabilities =
    service === 'bridge'
      ? ['CapabilityBoundingSet=CAP_NET_RAW CAP_NET_ADMIN']
      : ['CapabilityBoundingSet=', 'PrivateUsers=yes'];
  return [...FOR_ALL, families, ...FOR_MACHINES, ...capabilities];
}

/** `%` begins a specifier. */
function escaped(text: string): string {
  return text.replaceAll('%', '%%');
}

/** One word of `ExecStart`: also without a variable. */
function quoted(word: string): string {
  if (/^[\w./:=@,+-]+$/.test(word)) return word;
  const text = escaped(word).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$');
  return `"${text}"`;
}
