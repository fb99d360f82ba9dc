import { type Command, InvalidArgumentError } from 'commander';
import { settingsHere } from '../in-process.ts';

export interface DemoOptions {
  audio?: string;
  limit: number;
  exit?: boolean;
  json?: boolean;
}

/** `demo`: the whole way from a simulated wearable to a finished conversation, on a server of its own. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('run a demonstration, from a simulated wearable to a finished conversation')
    .option(
      '--audio <file>',
      'recording to play: WAV, or with ffmpeg installed any format (default: a bundled recording)',
    )
    .option('--exit', 'end after the first finished conversation')
    .option('--limit <s>', 'time limit in seconds, beyond the length of the recording', seconds, 90)
    .option('--json', 'one JSON object per event; the last one is the whole conversation')
    .addHelpText('after', '\nExample: earshot demo --exit')
    .action(async (options: DemoOptions, command: Command) => {
      const { demo } = await import('./playback.ts'); // loads codecs and more
      await demo(options, settingsHere(command));
    });
}

function seconds(text: string): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new InvalidArgumentError('It must be a number of seconds above 0.');
}
