import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '../../config/load.ts';
import type { CheckMessage, CheckRequest, Finding } from '../conformance/report.ts';

const ENTRY = fileURLToPath(new URL(`../conformance/main${extname(import.meta.filename)}`, import.meta.url));
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const MAX_LAST_WORDS = 500;

/**
 * Tries a plugin in a process, and a directory, of its own; both are gone afterwards, and what the plugin started in
 * them. Each finding is told when it is there.
 */
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
  const child = start({ ...request, scratch });
  const stop = () => endGroup(child);
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    const broken = await follow(child, limitMs, add);
    if (broken) add(broken);
    return findings;
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, stop);
    stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Its own group: whatever processes the plugin started go with it. */
function start(request: CheckRequest): ChildProcess {
  return spawn(process.execPath, [ENTRY, JSON.stringify(request)], {
    cwd: request.dir,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // nothing of it is left
  }
}

/** Resolves when all was told, or to what kept it from that. */
async function follow(
  child: ChildProcess,
  limitMs: number,
  add: (finding: Finding) => void,
): Promise<Finding | null> {
  const ended = Promise.withResolvers<null>();
  let now = { group: 'module', title: 'loads, and has the shape of a plugin' };
  let lastWords = '';
  child.on('message', (message: CheckMessage) => {
    if (message.type === 'begin') now = message;
    if (message.type === 'finding') add(message.finding);
    if (message.type === 'end') ended.resolve(null);
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => {
      lastWords = (lastWords + chunk).slice(-MAX_LAST_WORDS);
    });
  const blame = (what: string): Finding => {
    const said = lastWords.trim().replaceAll(/\s*\n\s*/g, ' ');
    const { group, title } = now;
    return { group, title, verdict: 'failed', detail: said === '' ? what : `${what}; it said: ${said}` };
  };
  const gone = once(child, 'exit').then(([code, signal]) => blame(deathOf(code, signal)));
  const late = Promise.withResolvers<Finding>();
  const timer = setTimeout(
    () =>
      late.resolve(
        blame(`nothing more came within ${limitMs / 1000} s: it holds the thread, or waits for ever`),
      ),
    limitMs,
  );
  try {
    return await Promise.race([ended.promise, gone, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function deathOf(code: number | null, signal: string | null): string {
  if (signal)
    return `the process died of ${signal}: native code that can crash belongs into a process of its own`;
  return `the process was ended with status ${code}: a plugin throws, and never calls process.exit`;
}
