import { type Command, InvalidArgumentError, Option } from 'commander';
import { print, settingsOf } from '../in-process.ts';
import type { ServerOptions } from '../running-server.ts';
import type { SentCodec } from './recording.ts';

export interface StreamOptions extends ServerOptions {
  codec: SentCodec;
  speed: number;
  language: string;
  conversationTimeout: number;
  finish?: boolean;
  json?: boolean;
}

const CODECS: SentCodec[] = ['pcm16', 'pcm8', 'opus', 'opus_fs320', 'lc3', 'lc3_fs1030'];

/** `stream`: sends a recording to the server as a device would. */
export function addStream(program: Command): void {
  program
    .command('stream <file>')
    .description(
      'stream a recording (WAV; with ffmpeg also MP3, M4A, Ogg, FLAC and others) to the server as a device would, and print the transcript',
    )
    .option('--speed <n>', 'speed of sending; 1 is real time', positive, 1)
    .addOption(
      new Option('--codec <codec>', 'codec in which it is sent')
        .choices(CODECS)
        .argParser(codec)
        .default('pcm16'),
    )
    .option('--language <code>', 'language spoken, or multi', 'en')
    .option('--conversation-timeout <s>', 'seconds of silence that end the conversation', timeout, 5)
    .option('--finish', 'end the conversation with the file, without waiting for silence')
    .option('--user <name>', 'account that the conversation belongs to (default: the configured one)')
    .option('--key <key>', 'an API key with scope listen, instead of --user')
    .option('--url <url>', 'a server elsewhere, ws://host:port; needs --key')
    .option('--json', 'answer as one JSON object, at the end')
    .addHelpText('after', '\nExample: earshot stream recording.wav --speed 4 --finish')
    .action(async (file: string, options: StreamOptions, command: Command) => {
      const { stream, summary } = await import('./sender.ts'); // loads codecs and more
      const outcome = await stream(
        file,
        options,
        await settingsOf(command, { orHere: options.url !== undefined }),
      );
      print(options.json, outcome, summary(outcome));
    });
}

function positive(text: string): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new InvalidArgumentError('It must be a number above 0.');
}

function codec(text: string): SentCodec {
  const known = CODECS.find(name => name === text);
  if (known) return known;
  const reason = text === 'aac' ? 'There is no encoder for AAC here. ' : '';
  throw new InvalidArgumentError(`${reason}Allowed choices are ${CODECS.join(', ')}.`);
}

function timeout(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 2 && seconds <= 14400) return seconds;
  throw new InvalidArgumentError('It must be a whole number of seconds, 2 to 14400.');
}
