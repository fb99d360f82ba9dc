import { Command, CommanderError } from 'commander';
import { asCalled } from '../../config/called-as.ts';
import { ConfigError } from '../../config/load.ts';
import { onOneLine } from '../runtime/terminal.ts';
import { version } from '../runtime/version.ts';
import { addAccountCommands } from './accounts/accounts.ts';
import { addAppCommands } from './apps.ts';
import { addBackup } from './backup.ts';
import { addBridge, addDevice } from './bridge.ts';
import { addCalendarCommands } from './calendar.ts';
import { addDemo } from './demo/demo.ts';
import { addDoctor } from './doctor/doctor.ts';
import { addHookCommands } from './hooks.ts';
import { addImportAudio } from './import-audio.ts';
import { addMcp } from './mcp.ts';
import { addModels } from './models.ts';
import { addMove } from './move.ts';
import { addNotify } from './notify.ts';
import { addPauseCommands } from './pause.ts';
import { addPlugin } from './plugin.ts';
import { addRecogniser } from './recogniser.ts';
import { addRestore } from './restore.ts';
import { addRetention } from './retention.ts';
import { addServe } from './serve.ts';
import { addService } from './service/service.ts';
import { addSetup } from './setup.ts';
import { addStatus } from './status.ts';
import { addStream } from './stream/stream.ts';
import { addSystem } from './system.ts';
import { addTransfer } from './transfer.ts';
import { addVocabularyCommands } from './vocabulary.ts';
import { addVoiceCommands } from './voice.ts';

const EXIT = { done: 0, failure: 1, usage: 2 };

/**
 * Runs the command line `argv` and resolves to the exit status. An error is one line on standard error.
 * @param argv without the executable and the script
 */
export async function run(argv: string[]): Promise<number> {
  const program = createProgram();
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return judgeUsage(error);
    complain(messageOf(error));
    return EXIT.failure;
  }
}

/** Defines the commands with their help, as `run` parses them. */
export function createProgram(): Command {
  const program = new Command('earshot')
    .description('A self-hosted platform for AI wearables.')
    .version(version)
    .option('--config <file>', 'configuration file (default: earshot.yaml, if it exists)')
    .option('--data-dir <dir>', 'directory of the database, keys and models')
    .configureOutput({
      writeOut: text => process.stdout.write(asCalled(text)),
      outputError: text => complain(text.replace(/^error: /, '')),
      writeErr() {}, // Commander would print the whole help where a command is missing
    })
    .exitOverride()
    .addHelpText('after', '\nExample: earshot serve');
  addServe(program);
  addService(program);
  addSetup(program);
  addRecogniser(program);
  addBridge(program);
  addDevice(program);
  addDemo(program);
  addStream(program);
  addMcp(program);
  addAccountCommands(program);
  addNotify(program);
  addHookCommands(program);
  addVocabularyCommands(program);
  addVoiceCommands(program);
  addPauseCommands(program);
  addRetention(program);
  addAppCommands(program);
  addCalendarCommands(program);
  addStatus(program);
  addModels(program);
  addDoctor(program);
  addPlugin(program);
  addBackup(program);
  addRestore(program);
  addMove(program);
  addTransfer(program);
  addImportAudio(program);
  addSystem(program);
  return program;
}

/** Maps an error of Commander to the exit status. Its message is printed already, except for a missing command. */
function judgeUsage({ code, exitCode }: CommanderError): number {
  if (exitCode === 0) return EXIT.done;
  if (code === 'earshot.told') return EXIT.failure;
  if (code === 'commander.help') complain('a command is missing; --help lists them');
  return EXIT.usage;
}

function complain(text: string): void {
  process.stderr.write(`error: ${asCalled(oneLine(text))}\n`);
}

function messageOf(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('; ');
  return error instanceof Error ? error.message : String(error);
}

function oneLine(text: string): string {
  const line = text
    .split('\n')
    .map(part => part.trim())
    .filter(part => part !== '')
    .join(' ');
  return onOneLine(line);
}
