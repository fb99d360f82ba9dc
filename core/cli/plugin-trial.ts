import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '../../config/load.ts';
import type { CheckMessage, CheckRequest, Finding } from '../../plugins/kit/suites/report.ts';
import { runGuarded } from '../runtime/guarded.ts';

/** Tries a plugin in a temporary directory. Each finding is reported as soon as it is known. */
export async function tryPlugin(
  request: Omit<CheckRequest, 'scratch'>,
  { limitMs, onFinding }: { limitMs: number; onFinding(finding: Finding): void },
): Promise<Finding[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'earshot-plugin-'));
  const findings: Finding[] = [];
  const add = (finding: Finding) => {
    findings.push(finding);
    onFinding(finding);
  };
  let now = { group: 'module', title: 'loads, and has the shape of a plugin' };
  try {
    const broken = await runGuarded({
      entry: 'plugins/kit/check/main',
      request: { ...request, scratch },
      environment,
      limitMs,
      onMessage(sent) {
        const message = sent as CheckMessage; // only Earshot's own process sends messages
        if (message.type === 'begin') now = message;
        if (message.type === 'finding') add(message.finding);
      },
    });
    if (broken !== null) add({ group: now.group, title: now.title, verdict: 'failed', detail: broken });
    return findings;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
