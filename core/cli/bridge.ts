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
      'no Bluetooth: a simulated pendant plays this recording, or a bundled one; WAV, or any format of ffmpeg',
    )
    .option('--loop', 'play the file repeatedly')
    .option('--json', 'one JSON object per event')
    .addHelpText('after', '\nExample: earshot bridge --simulate')
    .action(async (options: BridgeOptions, command: Command) => {
      const isElsewhere = settingsHere(command).isSet('bridge.core'); // in that case it keeps audio in a directory of its own
      const settings = isElsewhere ? settingsHere(command) : await settingsOf(command);
      await runBridge(settings, options);
    });
  addBridgeTools(bridge);
}

type ControlArguments = [
  name: string | undefined,
  control: string | undefined,
  value: string | undefined,
  options: object,
  command: Command,
];

/** `bridge pair`, `bridge control`, `bridge board` and `bridge doctor`. */
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
    .command('control')
    .argument('[name]', 'name or address of a connected wearable; absent: all of them')
    .argument('[control]', 'the control to set or run; without it, all controls are listed')
    .argument('[value]', 'its value')
    .description(
      'list, set or run the controls of a connected wearable: light, microphone gain, vibration, photos',
    )
    .addHelpText('after', '\nExample: earshot bridge control Pendant led 20')
    .action(async (...[name, control, value, , command]: ControlArguments) => {
      const { config, file } = settingsHere(command);
      const args = [
        ...['control', '--data-dir', config.dataDir],
        ...(file === null ? [] : ['--config', file]),
        '--',
        ...[name, control, value].filter(part => part !== undefined),
      ];
      await runProcess(args, process.cwd());
    });
  bridge
    .command('board')
    .argument('<action>', 'add, list or forget')
    .argument('[name]', 'name of the board in lower case, such as desk')
    .description('manage boards on the local network, which need a token to stream to the bridge')
    .addHelpText('after', '\nExample: earshot bridge board add desk')
    .action(async (action: string, name: string | undefined, _: object, command: Command) => {
      const { config, file } = settingsHere(command);
      const settings = [...['--data-dir', config.dataDir], ...(file === null ? [] : ['--config', file])];
      await runProcess(['board', action, ...(name === undefined ? [] : [name]), ...settings], process.cwd());
    });
  bridge
    .command('doctor')
    .description(
      'check the Bluetooth adapter, bluetoothd, permissions, the library, and the connection to a server elsewhere',
    )
    .addHelpText('after', '\nExample: earshot bridge doctor')
    .action(async (_: object, command: Command) => {
      const { file } = settingsHere(command);
      await runProcess(['doctor', ...(file === null ? [] : ['--config', file])], process.cwd());
    });
}

/** `device`: tools for authors of drivers. */
export function addDevice(program: Command): void {
  const device = program.command('device').description('check drivers of wearables, and record traces');
  device
    .command('check')
    .argument('<file>', 'a driver: YAML, or a module')
    .description('validate and explain a driver, and test it with a recorded trace')
    .option('--trace <file>', 'a trace, recorded with `device record`')
    .addHelpText('after', '\nExample: earshot device check my-board.yaml --trace my-board.trace.jsonl')
    .action((file: string, { trace }: { trace?: string }) =>
      runTool(['check', resolve(file), ...(trace ? ['--trace', resolve(trace)] : [])]),
    );
  device
    .command('record')
    .argument('<file>', 'file for the trace, which contains what is said')
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

/** @param input `inherit`: the command asks a person, so it keeps the terminal */
async function runProcess(
  args: string[],
  cwd: string,
  input: 'ignore' | 'inherit' = 'ignore',
): Promise<void> {
  const child = spawn(process.execPath, [BRIDGE, ...args], {
    cwd,
    env: environment,
    stdio: [input, 'inherit', 'inherit', 'ipc'], // it ends when the channel closes, however this process ended
    detached: input === 'ignore', // otherwise a Ctrl-C in the terminal would reach it twice
  });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  const [code] = await once(child, 'exit');
  for (const signal of SIGNALS) process.off(signal, pass);
  if (code !== 0) throw new CommanderError(1, 'earshot.told', 'the bridge failed: see above');
}
