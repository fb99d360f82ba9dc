import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Result } from '../control/commands.ts';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { addressOf, placeOf } from './address-fields.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';
import { readSecret } from './secret-input.ts';

/** Time that a running server is given to bring a calendar up to date. */
const SYNC_MS = 20_000;
const LOOK_MS = 250;

/** `calendar link`, `unlink`: a secret address to subscribe to. `connect`, `status`, `sync`, `disconnect`: a calendar elsewhere that is written to. */
export function addCalendarCommands(program: Command): void {
  const calendar = program
    .command('calendar')
    .description(
      'calendar: a secret link to the events and tasks of an account, or a calendar they are written to',
    )
    .addHelpText('after', '\nExample: earshot calendar link ada');
  addLink(calendar);
  addUnlink(calendar);
  addConnect(calendar);
  addStatus(calendar);
  addSync(calendar);
  addDisconnect(calendar);
}

function addLink(calendar: Command): void {
  calendar
    .command('link <user>')
    .description('create the secret link of an account; an earlier link is revoked')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot calendar link ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const made = await perform(await settingsOf(command), 'calendar.link', { user });
      const lines = [
        `Subscribe to: ${made.url ?? made.path} (whoever has it can read the events and tasks of ${user}; shown only once)`,
        ...(made.url === null
          ? ['Put the address of this server before it, or set publicUrl in the configuration.']
          : []),
      ];
      print(json, made, lines.join('\n'));
    });
}

function addUnlink(calendar: Command): void {
  calendar
    .command('unlink <user>')
    .description('revoke the secret link of an account')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot calendar unlink ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      await perform(await settingsOf(command), 'calendar.unlink', { user });
      print(json, { user }, `Revoked the calendar link of ${user}.`);
    });
}

function addConnect(calendar: Command): void {
  calendar
    .command('connect <user> [fields...]')
    .description('connect a calendar that tasks and events are written to; each field as name=text')
    .option('--service <plugin>', 'plugin that speaks its protocol', 'caldav')
    .option('--secret <field>', 'field that is typed hidden, or piped in')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample: earshot calendar connect ada url=https://cloud.example.com/remote.php/dav username=ada calendar=Earshot --secret password',
    )
    .action(async (user: string, fields: string[], options: ConnectOptions, command: Command) => {
      const { json, service, secret } = options;
      const settings = await settingsOf(command);
      const address = addressOf(fields);
      if (secret !== undefined) address[secret] = await readSecret(secret);
      const account = await perform(settings, 'calendar.connect', { user, service, address });
      print(
        json,
        account,
        `Connected the calendar "${account.name}". Its state: earshot calendar status ${user}`,
      );
    });
}
interface ConnectOptions extends Output {
  service: string;
  secret?: string;
}

function addStatus(calendar: Command): void {
  calendar
    .command('status <user>')
    .description('show the connected calendar of an account, and when it was last synchronised')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot calendar status ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const account = await perform(await settingsOf(command), 'calendar.account', { user });
      const none = `No calendar is connected: earshot calendar connect ${user} --help`;
      print(json, { account }, account === null ? none : stateOf(account));
    });
}

function stateOf({
  service,
  address,
  name,
  syncedAt,
  failure,
}: NonNullable<Result<'calendar.account'>>): string {
  const up = syncedAt === null ? 'not synchronised yet' : `last synchronised ${syncedAt}`;
  const place = placeOf({ address, secrets: [] }).join('  ');
  return [
    `${name}: ${up}`,
    `${service}  ${place}`,
    ...(failure === null ? [] : [`Last failure: ${failure}`]),
  ].join('\n');
}

function addSync(calendar: Command): void {
  calendar
    .command('sync <user>')
    .description('synchronise the calendar of an account now; needs a running server')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot calendar sync ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const { config } = await settingsOf(command);
      const path = controlPath(config.dataDir);
      const before = await callControl(path, 'calendar.account', { user });
      if (before === 'absent')
        throw new AppError(
          'unavailable',
          `no server runs on ${config.dataDir}; it synchronises calendars when it starts: earshot serve`,
        );
      await callControl(path, 'calendar.sync', { user });
      const account = await synced(path, user, before?.syncedAt ?? null);
      print(json, { account }, stateOf(account));
    });
}

/** Waits until the server has done it, or says why it cannot. */
async function synced(path: string, user: string, before: string | null) {
  for (let waitedMs = 0; waitedMs < SYNC_MS; waitedMs += LOOK_MS) {
    const account = await callControl(path, 'calendar.account', { user });
    if (account === 'absent' || account === null)
      throw new AppError('not_found', 'it is no longer connected');
    if (account.failure !== null) throw new AppError('unavailable', account.failure);
    if (account.syncedAt !== before) return account;
    await sleep(LOOK_MS);
  }
  throw new AppError(
    'timeout',
    `it takes longer than ${SYNC_MS / 1000} s; check later: earshot calendar status ${user}`,
  );
}

function addDisconnect(calendar: Command): void {
  calendar
    .command('disconnect <user>')
    .description('disconnect the calendar of an account; its entries stay there')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot calendar disconnect ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      await perform(await settingsOf(command), 'calendar.disconnect', { user });
      print(json, { user }, `Disconnected the calendar of ${user}. Its entries stay there.`);
    });
}
