import type { Command } from 'commander';
import { settingsOf } from './house.ts';

interface BridgeOptions {
  simulate?: string | true;
  loop?: boolean;
  json?: boolean;
}

/** `bridge`: wearables on one side, the server on the other, until it is told to stop. */
export function addBridge(program: Command): void {
  program
    .command('bridge')
    .description('connect wearables over Bluetooth and carry what they hear to the server, until Ctrl-C')
    .option(
      '--simulate [file]',
      'no Bluetooth: a simulated pendant plays this WAV file, or one that comes along',
    )
    .option('--loop', 'it plays the file again and again')
    .option('--json', 'one JSON object per event')
    .addHelpText('after', '\nExample: earshot bridge --simulate')
    .action(async (options: BridgeOptions, command: Command) => {
      const { runBridge } = await import('../../bridge/main.ts'); // loads much that no other command needs
      await runBridge(settingsOf(command), options);
    });
}
