import type { Command } from 'commander';
import { asCalled } from '../../../config/called-as.ts';
import { ConfigError, environment, type LoadedConfig } from '../../../config/load.ts';
import { AppError } from '../../runtime/errors.ts';
import { onOneLine } from '../../runtime/terminal.ts';
import { JSON_OPTION, settingsOf } from '../in-process.ts';
import { writeBundle } from './bundle.ts';
import { type DoctorMessage, type Finding, findingsOf } from './finding.ts';
import { paperFor, render, summary } from './report.ts';

/** Longer than all checks may take one after the other. */
const LIMIT_MS = 240_000;

/** `doctor`: checks the whole installation, and suggests fixes. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check the whole installation and suggest fixes; changes no data')
    .addOption(JSON_OPTION)
    .option(
      '--bundle <file>',
      'also write a file for a bug report: findings and configuration, without secrets',
    )
    .addHelpText('after', '\nExample: earshot doctor --bundle report.txt')
    .action(async ({ json, bundle }: { json?: boolean; bundle?: string }, command: Command) => {
      const paper = paperFor(process.stdout);
      const write = (text: string) => process.stdout.write(`${text}\n`);
      const findings = await diagnose(command, found => json || write(asCalled(render(found, paper))));
      if (bundle !== undefined) {
        await writeBundle(bundle, { findings, loaded: await configurationOf(command) });
        process.stderr.write(`${bundle} is for a bug report. Read it before you send it.\n`);
      }
      const bad = findings.filter(({ level }) => level === 'bad').length;
      write(json ? JSON.stringify({ ok: bad === 0, findings }) : `\n${summary(findings, paper)}`);
      if (bad > 0) throw new AppError('config_error', `${bad} of ${findings.length} checks failed`);
    });
}

/** Loads the configuration; null: it is invalid. */
async function configurationOf(command: Command): Promise<LoadedConfig | null> {
  try {
    return await settingsOf(command, { orHere: true });
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

/** Names the configuration to check; its problems are reported with the other findings. */
async function placeOf(
  command: Command,
): Promise<{ file?: string | undefined; dataDir?: string | undefined }> {
  try {
    const { file, config } = await settingsOf(command, { orHere: true, showsDirectory: true });
    return { file: file ?? undefined, dataDir: config.dataDir };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return command.optsWithGlobals<{ dataDir?: string }>();
  }
}

async function diagnose(command: Command, tell: (findings: Finding[]) => void): Promise<Finding[]> {
  const { runGuarded } = await import('../../runtime/guarded.ts');
  const { config } = command.optsWithGlobals<{ config?: string }>();
  const { file, dataDir } = await placeOf(command);
  const findings: Finding[] = [];
  const add = (told: Finding[]) => {
    const found = onOneLine(told);
    findings.push(...found);
    if (found.length > 0) tell(found);
  };
  const broken = await runGuarded({
    entry: 'core/cli/doctor/doctor-main',
    request: { file: file ?? config, dataDir },
    environment,
    limitMs: LIMIT_MS,
    onMessage: message => add((message as DoctorMessage & { type: 'findings' }).findings), // it sends nothing else
  });
  if (broken !== null) add([findingsOf('Doctor').bad('examination', broken, TRY_PLUGINS)]);
  return findings;
}

const TRY_PLUGINS = 'try the plugins that you added, one by one: earshot plugin check PATH';
