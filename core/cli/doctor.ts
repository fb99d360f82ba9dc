import type { Command } from 'commander';
import { type DoctorMessage, type Finding, findingsOf } from '../doctor/finding.ts';
import { AppError } from '../errors.ts';
import { paperFor, render, summary } from './doctor-report.ts';

/** More than all its checks may take one after the other. */
const LIMIT_MS = 240_000;

/** `doctor`: everything that a home server can have wrong, and the way out. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look at everything that can be wrong, and tell the cure; changes no data')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot doctor')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const paper = paperFor(process.stdout);
      const write = (text: string) => process.stdout.write(`${text}\n`);
      const findings = await diagnose(command, found => json || write(render(found, paper)));
      const bad = findings.filter(({ level }) => level === 'bad').length;
      write(json ? JSON.stringify({ ok: bad === 0, findings }) : `\n${summary(findings, paper)}`);
      if (bad > 0) throw new AppError('config_error', `${bad} of ${findings.length} findings are bad`);
    });
}

async function diagnose(command: Command, tell: (findings: Finding[]) => void): Promise<Finding[]> {
  const { runGuarded } = await import('./guarded.ts');
  const { config, dataDir } = command.optsWithGlobals<{ config?: string; dataDir?: string }>();
  const findings: Finding[] = [];
  const add = (found: Finding[]) => {
    findings.push(...found);
    if (found.length > 0) tell(found);
  };
  const broken = await runGuarded({
    entry: 'doctor/main',
    request: { file: config, dataDir },
    limitMs: LIMIT_MS,
    onMessage: message => add((message as DoctorMessage & { type: 'findings' }).findings), // it sends nothing else
  });
  if (broken !== null) add([findingsOf('Doctor').bad('examination', broken, TRY_PLUGINS)]);
  return findings;
}

const TRY_PLUGINS = 'try the plugins that you added, one by one: npx earshot plugin check PATH';
