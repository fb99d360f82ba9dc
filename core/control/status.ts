import { shellWord } from '../runtime/terminal.ts';
import type { Readiness, Status } from './commands.ts';

/** The state of the server for people: where it answers, how to sign in, what works, and how to repair the rest. */
export function renderStatus(status: Status): string {
  const account = status.users[0];
  const blocks = [
    [headline(status)],
    status.url ? status.ready.flatMap(renderPart) : [], // nothing is loaded while it does not run
    account ? signIn(account) : ['No account yet:    earshot user add <name>'],
    [
      `Data:              ${status.dataDir}`,
      `Configuration:     ${status.configFile ?? 'none, all defaults'}`,
    ],
  ];
  return `${blocks
    .filter(block => block.length > 0)
    .map(block => block.join('\n'))
    .join('\n\n')}\n`;
}

function headline({ version, url }: Status): string {
  return url
    ? `Earshot ${version} is listening on ${url}`
    : `Earshot ${version} is not running; earshot serve starts it`;
}

function renderPart(readiness: Readiness): string[] {
  const { part, ok, optional, cure } = readiness;
  const sign = ok ? '✓' : optional ? '·' : '✗';
  const line = `${sign} ${part}: ${describePart(readiness)}`;
  return !ok && cure ? [line, `    to make it ready: ${cure}`] : [line];
}

/** Joins name and detail. Many details already begin with the name, and `none` is no name. */
export function describePart({ name, detail }: Pick<Readiness, 'name' | 'detail'>): string {
  if (name === 'none') return detail;
  return detail.toLowerCase().startsWith(name.toLowerCase()) ? detail : `${name}: ${detail}`;
}

function signIn(account: string): string[] {
  const name = shellWord(account);
  return [
    `Sign in:           earshot token ${name}`,
    `Key for a device:  earshot key ${name} --scopes listen`,
  ];
}
