import { environment } from './load.ts';

/** The commands that a message may name. */
export const COMMAND_NAMES = [
  ...['app', 'backup', 'bridge', 'calendar', 'demo', 'device', 'doctor', 'export', 'hook', 'import', 'key'],
  ...[
    'listening',
    'mcp',
    'models',
    'move',
    'notify',
    'pause',
    'plugin',
    'recogniser',
    'restore',
    'resume',
    'retention',
    'serve',
    'service',
    'setup',
    'status',
    'stream',
    'system',
  ],
  ...['token', 'user', 'vocabulary', 'voice'],
];

const COMMAND = /(?<![\w./@-])earshot (?=([a-z]+)\b)/g;

/**
 * Rewrites each command in a text as its reader has to type it. Messages say `earshot user add`; that is
 * replaced by how this process was called, which `core/cli/main.mjs` finds out: `npx earshot`, or a path.
 */
export function asCalled(text: string, calledAs = environment.EARSHOT_CALLED_AS ?? 'earshot'): string {
  return text.replaceAll(COMMAND, (found, name: string) =>
    COMMAND_NAMES.includes(name) ? `${calledAs} ` : found,
  );
}
