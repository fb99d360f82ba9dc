import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { onOneLine } from '../runtime/terminal.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';
import { table } from './table.ts';

/** `voice`: the account owner's voice profile, by which `is_user` is decided. */
export function addVoiceCommands(program: Command): void {
  const voice = program
    .command('voice')
    .description('voice profile: recordings by which the owner of an account is recognised')
    .addHelpText('after', '\nExample: earshot voice record ada me.wav');
  voice
    .command('show <user>')
    .description('show the state of the voice profile')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot voice show ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'voice.show', { user });
      const rows = answer.samples.map(({ id, seconds, isRecorded, isUsable }) => [
        ...[id, `${seconds.toFixed(1)} s`, isRecorded ? 'recorded' : 'from a conversation'],
        isUsable ? 'yes' : 'no',
      ]);
      const none = `The voice of ${user} is not known: earshot voice record ${user} <file>`;
      print(json, answer, rows.length === 0 ? none : table(['sample', 'speech', 'from', 'usable'], rows));
    });
  voice
    .command('record <user> <files...>')
    .description(
      'add recordings of the voice: at least 8 s of speech by that person alone, in any audio format',
    )
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot voice record ada me.wav')
    .action(async (user: string, files: string[], { json }: Output, command: Command) => {
      const paths = files.map(file => resolve(file));
      for (const path of paths) await requireReadable(path);
      const { config } = await settingsOf(command);
      const answer = await callControl(controlPath(config.dataDir), 'voice.record', { user, files: paths });
      if (answer === 'absent')
        throw new AppError('unavailable', 'This needs a running server: earshot serve');
      const seconds = answer.seconds.toFixed(1);
      print(json, answer, onOneLine(`The voice of ${user} is now known, from ${seconds} s of speech.`));
    });
  voice
    .command('remove <user>')
    .description('delete everything known about the voice, also from conversations')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot voice remove ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'voice.remove', { user });
      print(
        json,
        answer,
        answer.removed ? `The voice of ${user} is forgotten.` : `The voice of ${user} was not known.`,
      );
    });
}

async function requireReadable(path: string): Promise<void> {
  await access(path, constants.R_OK).catch(cause => {
    throw new AppError('not_found', `${path} cannot be read`, { cause });
  });
}
