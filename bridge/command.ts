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

Carries what wearables hear over Bluetooth to an Earshot server, until Ctrl-C.

  --core <url>       where the server is, as ws://192.168.1.5:8420
  --key-file <file>  holds the API key that the server has made:
                     earshot key owner --scopes listen --name kitchen
  --data-dir <dir>   where sound waits until the server has it on its disk
                     (default: ./data)
  --config <file>    configuration file (default: earshot.yaml, where there is one)
  --simulate [file]  no Bluetooth: a simulated pendant plays this recording, or one
                     that comes along; WAV, or what ffmpeg reads
  --loop             it plays the file again and again
  --json             one JSON object per event
  --version          the version of the bridge
  --help             this

device check says whether the description of a wearable is valid and what it means, and
plays a trace to it; device record makes such a trace of a wearable in reach.

pair looks for wearables in reach and lets you choose: what each is called, and whose
it is. From then on the bridge carries the chosen ones alone.

control lists what the wearables that a running bridge carries let you set or do, and
does it: earshot-bridge control Pendant led 20

board makes the token with which a board of the local network streams to this bridge.

doctor examines the Bluetooth adapter, bluetoothd, the permission to use the adapter
and the library, and, with --core, the server and its key; it says what to do.

The file and the environment may say it all as well: bridge.core, bridge.keyFile and
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
 * @throws Error with a message of one line
 */
export async function run(argv: string[]): Promise<void> {
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
  if (!(await runDevice(argv, systemClock)))
    throw new Error('the device is not as its driver describes it, see above');
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
