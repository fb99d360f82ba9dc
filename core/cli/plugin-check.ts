import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Finding, Verdict } from '../../plugins/kit/suites/report.ts';
import { AppError } from '../runtime/errors.ts';
import { forTerminal } from '../runtime/terminal.ts';
import { JSON_OPTION } from './in-process.ts';

interface CheckOptions {
  options?: string;
  address?: string;
  language: string;
  speech: string[];
  text: string[];
  limit: number;
  json?: boolean;
}

/** `plugin check`: checks a plugin, for its author. */
export function addPluginCheck(plugin: Command): void {
  plugin
    .command('check <path>')
    .description('check a plugin, given as a file or an npm package, against its contract')
    .option('--options <file>', "YAML file with the plugin's options")
    .option(
      '--address <file>',
      'YAML file with an address, for a channel (about 30 notifications are sent to it) or a calendar (about 15 entries are made)',
    )
    .option('--language <code>', 'a language that the plugin supports', 'en')
    .option(
      '--speech <file>',
      'a recording in that language, instead of the bundled one; may be repeated',
      add,
      [],
    )
    .option('--text <text>', 'the words spoken in it', add, [])
    .option('--limit <s>', 'time limit in seconds', seconds, 300)
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot plugin check ./acme-stt.mjs --options acme.yaml')
    .action(async (path: string, options: CheckOptions) => {
      const findings = await check(path, options);
      const failed = findings.filter(({ verdict }) => verdict === 'failed').length;
      if (options.json) process.stdout.write(`${JSON.stringify({ ok: failed === 0, findings })}\n`);
      if (failed === 0 && !options.json) process.stdout.write(`${path}: ${summary(findings)}\n`);
      if (failed === 0) return;
      throw new AppError('invalid_input', `${path}: ${failed} of ${countOf(findings)} checks failed`);
    });
}

async function check(path: string, { options, address, language, speech, text, limit, json }: CheckOptions) {
  if (speech.length !== text.length) throw new AppError('invalid_request', 'each --speech needs a --text');
  const { tryPlugin } = await import('./plugin-trial.ts');
  return tryPlugin(
    {
      plugin: /^[./]/.test(path) ? resolve(path) : path,
      dir: process.cwd(),
      options: options === undefined ? null : resolve(options),
      address: address === undefined ? null : resolve(address),
      language,
      speech: speech.map((file, index) => ({ file: resolve(file), text: text[index] ?? '' })),
    },
    {
      limitMs: limit * 1000,
      onFinding: finding => json || process.stdout.write(`${forTerminal(render(finding))}\n`),
    },
  );
}

function summary(findings: readonly Finding[]): string {
  const doubtful = findings.filter(({ verdict }) => verdict === 'warning').length;
  const passed = `${findings.length - doubtful} checks passed`;
  return doubtful === 0 ? passed : `${passed}, ${doubtful} with a warning (!)`;
}

/** Counts also those that were not run. */
function countOf(findings: readonly Finding[]): number {
  return findings.reduce((sum, { skipped = 1 }) => sum + skipped, 0);
}

const SIGNS: Record<Verdict, string> = { ok: '✓', warning: '!', failed: '✗', skipped: '–' };

function render({ group, title, verdict, detail }: Finding): string {
  return `${SIGNS[verdict]} ${group}: ${title}${detail === '' ? '' : `\n    ${detail.replaceAll('\n', '\n    ')}`}`;
}

function add(value: string, before: string[]): string[] {
  return [...before, value];
}

function seconds(text: string): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new InvalidArgumentError('It must be a number of seconds above 0.');
}
