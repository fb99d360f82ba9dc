import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Command, CommanderError } from 'commander';
import { environment, type LoadedConfig } from '../../config/load.ts';
import { settingsHere, settingsOf } from './in-process.ts';

interface BridgeOptions {
  simulate?: string | true;
  loop?: boolean;
  json?: boolean;
}

const BRIDGE = fileURLToPath(new URL('../../bridge/bin.mjs', import.meta.url));
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `bridge`: wearables on one side, the server on the other, until it is told to stop. */
export function addBridge(program: Command): void {
  const bridge = program
    .command('bridge')
    .description('connect wearables over Bluetooth and stream their audio to the server until Ctrl-C')
    .option(
      '--simulate [file]',
      'no Bluetooth: a simulated pendant plays this recording, or one that comes along; WAV, or what ffmpeg reads',
    )
    .option('--loop', 'play the file repeatedly')
    .option('--json', 'one JSON object per event')
    .addHelpText('after', '\nExample: earshot bridge --simulate')
    .action(async (options: BridgeOptions, command: Command) => {
      const isElsewhere = settingsHere(command).isSet('bridge.core'); // then it keeps sound in a directory of its own
      const settings = isElsewhere ? settingsHere(command) : await settingsOf(command);
      await runBridge(settings, options);
    });
  addBridgeTools(bridge);
}

/** `bridge pair` and `bridge doctor`. */
function addBridgeTools(bridge: Command): void {
  bridge
    .command('pair')
    .description('pair a wearable in reach: give it a name and an owner')
    .option('--list', 'list paired wearables')
    .option('--forget <name>', 'remove this wearable')
    .option('--simulate', 'use the simulated pendant instead of a wearable')
    .addHelpText('after', '\nExample: earshot bridge pair')
    .action(async (_: object, command: Command) => {
      const { list, forget, simulate } = command.optsWithGlobals<{
        list?: boolean;
        forget?: string;
        simulate?: boolean | string;
      }>();
      const { config, file } = settingsHere(command);
      const args = [
        ...['pair', '--data-dir', config.dataDir],
        ...(file === null ? [] : ['--config', file]),
        ...(list ? ['--list'] : []),
        ...(forget === undefined ? [] : ['--forget', forget]),
        ...(simulate ? ['--simulate'] : []),
      ];
      await runProcess(args, process.cwd(), 'inherit');
    });
  bridge
    .command('doctor')
    .description('examine the Bluetooth adapter, the permission to use it and the library')
    .addHelpText('after', '\nExample: earshot bridge doctor')
    .action(() => runProcess(['doctor'], process.cwd()));
}

/** `device`: what the drivers of wearables are made and tried with. */
export function addDevice(program: Command): void {
  const device = program
    .command('device')
    .description('wearables: pair them, check their descriptions, record traces');
  device
    .command('check')
    .argument('<file>', 'a driver: YAML, or a module')
    .description('validate and explain a description, and play a recorded trace to it')
    .option('--trace <file>', 'the trace to play, as `device record` makes it')
    .addHelpText('after', '\nExample: earshot device check my-board.yaml --trace my-board.trace.jsonl')
    .action((file: string, { trace }: { trace?: string }) =>
      runTool(['check', resolve(file), ...(trace ? ['--trace', resolve(trace)] : [])]),
    );
  device
    .command('record')
    .argument('<file>', 'where the trace goes; what is said is in it')
    .description('record a trace of a wearable in reach')
    .option('--driver <file>', 'use only this driver')
    .option('--device <name>', 'name or address of the wearable; absent: the first that a driver knows')
    .option('--seconds <n>', 'seconds to record', '20')
    .option('--simulate', 'use the simulated pendant instead of a wearable')
    .addHelpText('after', '\nExample: earshot device record my-board.trace.jsonl --driver my-board.yaml')
    .action((file: string, options: RecordOptions, command: Command) => {
      const { driver, device: name, seconds, simulate } = options;
      const { file: config } = settingsHere(command);
      return runTool([
        'record',
        resolve(file),
        ...(driver ? ['--driver', resolve(driver)] : []),
        ...(name ? ['--device', name] : []),
        ...['--seconds', seconds],
        ...(simulate ? ['--simulate'] : []),
        ...(config === null ? [] : ['--config', config]),
      ]);
    });
}

interface RecordOptions {
  driver?: string;
  device?: string;
  seconds: string;
  simulate?: boolean;
}

const runTool = (args: string[]) => runProcess(['device', ...args], process.cwd());

/** Runs `earshot-bridge` with these settings until it ends. It prints its own errors. */
async function runBridge({ file, dir, config }: LoadedConfig, options: BridgeOptions): Promise<void> {
  const { simulate, loop, json } = options;
  const args = [
    ...['--data-dir', config.dataDir],
    ...(file === null ? [] : ['--config', file]),
    ...(simulate === undefined ? [] : ['--simulate']),
    ...(typeof simulate === 'string' ? [resolve(simulate)] : []),
    ...(loop ? ['--loop'] : []),
    ...(json ? ['--json'] : []),
  ];
  await runProcess(args, dir);
}

/** @param input `inherit`: it asks a person, so it stays with the terminal */
async function runProcess(
  args: string[],
  cwd: string,
  input: 'ignore' | 'inherit' = 'ignore',
): Promise<void> {
  const child = spawn(process.execPath, [BRIDGE, ...args], {
    cwd,
    env: environment,
    stdio: [input, 'inherit', 'inherit', 'ipc'], // the channel tells it that we are gone, whatever ended us
    detached: input === 'ignore', // a Ctrl-C in the terminal reaches it once, through us
  });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  const [code] = await once(child, 'exit');
  for (const signal of SIGNALS) process.off(signal, pass);
  if (code !== 0) throw new CommanderError(1, 'earshot.told', 'the bridge has said what is wrong');
}
