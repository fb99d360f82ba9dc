import { parseArgs } from 'node:util';
import { asCalled } from '../config/called-as.ts';
import { environment, loadConfig } from '../config/load.ts';
import { runBridge, systemClock } from './main.ts';
import { versionOf } from './version.ts';

const HELP = `Usage: earshot-bridge [options]
       earshot-bridge doctor [--json]
       earshot-bridge pair [--list] [--forget NAME] [--simulate]
       earshot-bridge control [NAME [CONTROL VALUE]]
       earshot-bridge board add NAME | list | forget NAME
       earshot-bridge device check FILE [--trace FILE]
       earshot-bridge device record FILE [--driver FILE] [--device NAME] [--seconds N]

Streams the audio of wearables over Bluetooth to an Earshot server, until Ctrl-C.

  --core <url>       address of the server, such as ws://192.168.1.5:8420
  --key-file <file>  file with an API key; to create one on the server:
                     earshot key owner --scopes listen --name kitchen
  --data-dir <dir>   directory for audio that the server has not stored yet
                     (default: ./data)
  --config <file>    configuration file (default: earshot.yaml, if it exists)
  --simulate [file]  no Bluetooth: a simulated pendant plays this recording, or a
                     bundled one; WAV, or any format of ffmpeg
  --loop             play the file repeatedly
  --json             one JSON object per event
  --version          print the version of the bridge
  --help             print this help

device check validates and explains the driver of a wearable, and tests it with a
recorded trace; device record records a trace of a wearable in reach.

pair finds wearables in reach, and lets you choose one and give it a name and an owner.
From then on, the bridge connects only to the paired ones.

control lists, sets and runs the controls of the wearables that a running bridge is
connected to: earshot-bridge control Pendant led 20

board manages boards on the local network, which need a token to stream to this bridge.

doctor checks the Bluetooth adapter, bluetoothd, the permission to use the adapter, and
the library; with --core also the server and the key. It suggests what to do.

Configuration and environment have the same settings: bridge.core, bridge.keyFile and
dataDir; EARSHOT_BRIDGE__CORE, EARSHOT_BRIDGE__KEY_FILE and EARSHOT_DATA_DIR.
`;

const OPTIONS = {
  core: { type: 'string' },
  'key-file': { type: 'string' },
  'data-dir': { type: 'string' },
  config: { type: 'string' },
  simulate: { type: 'boolean' },
  loop: { type: 'boolean' },
  json: { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/**
 * Runs the `earshot-bridge` command line `argv`, until a signal.
 * @throws Error with a message for people
 */
export async function run(argv: string[]): Promise<void> {
  try {
    await obey(argv);
  } catch (error) {
    throw new Error(asCalled(error instanceof Error ? error.message : String(error)), { cause: error });
  }
}

async function obey(argv: string[]): Promise<void> {
  if (argv[0] === 'device') return device(argv.slice(1));
  if (argv[0] === 'pair')
    return (await import('./commands/pair-command.ts')).runPair(argv.slice(1), systemClock);
  if (argv[0] === 'control') return (await import('./commands/control-command.ts')).runControl(argv.slice(1));
  if (argv[0] === 'board') return (await import('./commands/board-command.ts')).runBoard(argv.slice(1));
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  if (positionals[0] === 'doctor' && !values.simulate) return runDoctor(values.json === true, values);
  const [file, ...more] = positionals; // the audio that --simulate plays
  if (more.length > 0 || (file && !values.simulate))
    throw new Error(`unexpected: ${positionals.join(' ')}; --help lists the options`);
  if (values.help) process.stdout.write(HELP);
  else if (values.version) process.stdout.write(`${versionOf()}\n`);
  else await runBridge(load(values), { ...values, simulate: values.simulate && (file ?? true) });
}

async function device(argv: string[]): Promise<void> {
  const { runDevice } = await import('./commands/device-command.ts');
  if (!(await runDevice(argv, systemClock))) throw new Error('the driver failed its checks: see above');
}

async function runDoctor(json: boolean, values: Parameters<typeof load>[0]): Promise<void> {
  const { examineBluetooth, examineCore, examineProxies, renderDiagnoses } = await import(
    './commands/doctor.ts'
  );
  const { bridge } = load(values).config;
  const examined = await Promise.all([
    examineBluetooth(undefined, bridge.radios),
    examineProxies(bridge, systemClock),
    bridge.core === undefined ? [] : examineCore(bridge.core, bridge.key ?? null),
  ]);
  const findings = examined.flat();
  process.stdout.write(json ? `${JSON.stringify({ findings })}\n` : asCalled(renderDiagnoses(findings)));
}

function load(values: { [name in keyof typeof OPTIONS]?: string | boolean }) {
  const { core, config, 'key-file': keyFile, 'data-dir': dataDir } = values as Record<string, string>;
  return loadConfig({
    env: { ...environment, ...(keyFile ? { EARSHOT_BRIDGE__KEY_FILE: keyFile } : {}) },
    file: config,
    overrides: { dataDir, bridge: core ? { core } : {} },
  });
}
