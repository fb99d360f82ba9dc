/** Commands that the command line runs, in the server or in its own process: names, shapes and functions. */
import { z } from 'zod';
import type { Backups } from '../backup/backups.ts';
import { AppError } from '../runtime/errors.ts';
import { type AccountServices, accountCommands, accountShapes } from './account-commands.ts';
import { type AppServices, appCommands, appShapes } from './app-commands.ts';
import { type CalendarServices, calendarCommands, calendarShapes } from './calendar-commands.ts';
import { type ChannelServices, channelCommands, channelShapes } from './channel-commands.ts';
import { type HookServices, hookCommands, hookShapes } from './hook-commands.ts';
import { type KeyServices, keyCommands, keyShapes } from './key-commands.ts';
import { type PrivacyServices, privacyCommands, privacyShapes } from './privacy-commands.ts';
import { type RecordingServices, recordingCommands, recordingShapes } from './recording-commands.ts';
import { type TransferServices, transferCommands, transferShapes } from './transfer-commands.ts';
import { type VocabularyServices, vocabularyCommands, vocabularyShapes } from './vocabulary-commands.ts';
import { type VoiceServices, voiceCommands, voiceShapes } from './voice-commands.ts';

/** State of one part of the server, and the command that would repair it. */
const Readiness = z.object({
  /** The part's purpose, for people: `speech recognition`. */
  part: z.string(),
  /** The part's name: `pocketsphinx`. */
  name: z.string(),
  ok: z.boolean(),
  /** Whether nothing depends on it, because it was not configured or another part does its work. */
  optional: z.boolean(),
  detail: z.string(),
  /** The one command that makes it ready; null when it is, or when no command can. */
  cure: z.string().nullable(),
});
export type Readiness = z.infer<typeof Readiness>;

const Status = z.object({
  version: z.string(),
  /** Address of the server, `http://host:port`; null when none runs. */
  url: z.string().nullable(),
  dataDir: z.string(),
  configFile: z.string().nullable(),
  ready: z.array(Readiness),
  /** Names of the accounts, oldest first. */
  users: z.array(z.string()),
});
export type Status = z.infer<typeof Status>;

/** Name of the part that transcribes. */
export const RECOGNITION = 'speech recognition';
/** Name of the part that reports newer versions. */
export const UPDATES = 'updates';
/** A part of a plugin that has no name of its own. */
export const PLUGIN = 'plugin';

/** `createdAt` is epoch ms, `rows` the number in the database. */
const MadeBackup = z.object({
  file: z.string(),
  bytes: z.number(),
  createdAt: z.number(),
  encrypted: z.boolean(),
  files: z.number(),
  rows: z.number(),
  leftOut: z.array(z.string()),
});

/** Every command with its arguments and result. */
const shapes = {
  ...accountShapes,
  ...keyShapes,
  ...channelShapes,
  ...hookShapes,
  ...vocabularyShapes,
  ...voiceShapes,
  ...recordingShapes,
  ...appShapes,
  ...calendarShapes,
  ...transferShapes,
  ...privacyShapes,
  /** Starts a backup; `backup.progress` reports on it. */
  'backup.begin': {
    args: z.object({ to: z.string().min(1).max(4096).nullable() }),
    result: z.object({}),
  },
  'backup.progress': {
    args: z.object({}),
    result: z.object({ running: z.boolean(), backup: MadeBackup.nullable(), error: z.string().nullable() }),
  },
  'backup.state': {
    args: z.object({}),
    result: z.object({
      enabled: z.boolean(),
      directory: z.string(),
      newest: z
        .object({ file: z.string(), createdAt: z.number(), bytes: z.number(), encrypted: z.boolean() })
        .nullable(),
      failed: z.object({ at: z.number(), message: z.string() }).nullable(),
      rehearsed: z.object({ at: z.number(), file: z.string(), error: z.string().nullable() }).nullable(),
      copies: z.array(
        z.object({
          place: z.string(),
          name: z.string().nullable(),
          at: z.number().nullable(),
          error: z.string().nullable(),
          readAt: z.number().nullable(),
        }),
      ),
    }),
  },
  status: { args: z.object({}), result: Status },
};
export type CommandName = keyof typeof shapes;
export type Args<C extends CommandName> = z.output<(typeof shapes)[C]['args']>;
export type Result<C extends CommandName> = z.output<(typeof shapes)[C]['result']>;
export const COMMANDS: { [C in CommandName]: { args: z.ZodType<Args<C>>; result: z.ZodType<Result<C>> } } =
  shapes;

/**
 * The functions by command name. Reject with an AppError; `invalid_request` where the arguments do not match their
 * schema.
 */
export type Commands = { [C in CommandName]: (args: Args<C>) => Promise<Result<C>> };

/** The services that the commands use. */
interface Services
  extends AccountServices,
    AppServices,
    CalendarServices,
    ChannelServices,
    HookServices,
    KeyServices,
    PrivacyServices,
    TransferServices,
    VocabularyServices,
    VoiceServices,
    RecordingServices {
  apps: AppServices['apps'] & HookServices['apps'];
  hooks: AppServices['hooks'] & HookServices['hooks'];
  users: AccountServices['users'];
  backups: Pick<Backups, 'begin' | 'progress' | 'state'>;
  status(): Promise<Status>;
}

/** Creates the commands over these services. */
export function createCommands(services: Services): Commands {
  return checked({
    ...accountCommands(services),
    ...keyCommands(services),
    ...channelCommands(services),
    ...hookCommands(services),
    ...vocabularyCommands(services),
    ...voiceCommands(services),
    ...recordingCommands(services),
    ...appCommands(services),
    ...calendarCommands(services),
    ...transferCommands(services),
    ...privacyCommands(services),
    'backup.begin': async ({ to }) => {
      services.backups.begin(to);
      return {};
    },
    'backup.progress': async () => services.backups.progress(),
    'backup.state': () => services.backups.state(),
    status: () => services.status(),
  });
}

/** Wraps each command so that it checks its arguments first. */
function checked(commands: Commands): Commands {
  const entries = Object.entries(commands).map(([name, run]) => [
    name,
    async (args: unknown) => {
      const parsed = COMMANDS[name as CommandName].args.safeParse(args);
      if (!parsed.success) throw new AppError('invalid_request', explain(name, parsed.error));
      return (run as (args: unknown) => Promise<unknown>)(parsed.data); // which are this command's own
    },
  ]);
  return Object.fromEntries(entries);
}

function explain(command: string, error: z.ZodError): string {
  const issue = error.issues[0];
  return `${command}: ${issue?.path.join('.') || 'arguments'}: ${issue?.message ?? 'invalid'}`;
}
