import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { AppError } from '../runtime/errors.ts';
import { settingsOf } from './in-process.ts';

interface Options {
  port: number;
  host: string;
  tokenFile?: string;
  wyoming?: number;
  wyomingHost: string;
  connections: number;
  seconds: number;
  idle: number;
}

const LEAST_TOKEN_CHARACTERS = 16;
const TOKEN = /^[\x21-\x7e]+$/;

/** `recogniser`: serves this machine's recognisers to Earshot and Home Assistant on others. */
export function addRecogniser(program: Command): void {
  program
    .command('recogniser')
    .description(
      "serve this machine's recognisers to other machines until Ctrl-C: as custom-stt, and as Wyoming",
    )
    .option(
      '--port <port>',
      'TCP port of the service for custom-stt; 0 takes any free one',
      wholeNumber(0, 65_535),
      8421,
    )
    .option(
      '--host <address>',
      'address to listen on; beyond this machine it needs --token-file',
      '127.0.0.1',
    )
    .option('--token-file <file>', 'file with the token that clients of custom-stt must send')
    .option(
      '--wyoming <port>',
      'also serve Wyoming, for Home Assistant, on this TCP port',
      wholeNumber(0, 65_535),
    )
    .option(
      '--wyoming-host <address>',
      'address to serve Wyoming on; Wyoming has no authentication',
      '127.0.0.1',
    )
    .option(
      '--connections <n>',
      'maximum number of simultaneous connections of each service',
      wholeNumber(1, 1000),
      16,
    )
    .option('--seconds <n>', 'maximum length of the speech in one request', wholeNumber(1, 86_400), 3600)
    .option(
      '--idle <seconds>',
      'time after which clients that send nothing are disconnected',
      wholeNumber(1, 3600),
      90,
    )
    .addHelpText('after', '\nExample: earshot recogniser --host 0.0.0.0 --token-file recogniser.token')
    .action(async (options: Options, command: Command) => {
      const { port, host, wyoming, wyomingHost, connections, seconds, idle } = options;
      const loaded = await settingsOf(command, { orHere: true });
      const token = options.tokenFile === undefined ? null : await readToken(options.tokenFile);
      const [{ serveRecognisers }, { createLog }] = await Promise.all([
        import('../serve.ts'),
        import('../runtime/log.ts'),
      ]); // imported late: it loads much
      const isClean = await serveRecognisers(loaded, createLog(loaded.config.log), {
        host,
        port,
        token,
        wyoming: wyoming === undefined ? null : { host: wyomingHost, port: wyoming },
        limits: { connections, seconds, idleMs: idle * 1000 },
      });
      if (!isClean) throw new AppError('timeout', 'the recogniser did not stop in time and was cut off');
    });
}

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number, ${least} to ${most}.`);
  };
}

async function readToken(file: string): Promise<string> {
  const token = await readFile(file, 'utf8').catch(cause => {
    throw new AppError('config_error', `${file} cannot be read (${cause.code}): correct --token-file`, {
      cause,
    });
  });
  const trimmed = token.trim();
  if (trimmed.length >= LEAST_TOKEN_CHARACTERS && TOKEN.test(trimmed)) return trimmed;
  throw new AppError(
    'config_error',
    `${file} contains no token of ${LEAST_TOKEN_CHARACTERS} characters or more, without spaces; make one: openssl rand -hex 32 > ${file}`,
  );
}
