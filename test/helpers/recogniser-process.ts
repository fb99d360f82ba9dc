/** `earshot recogniser` as a process of its own, with pocketsphinx. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { startEarshot } from './cli.ts';
import { eventually } from './eventually.ts';

/** For NODE_OPTIONS of a server that is to wait as long as a busy machine needs. */
export const PATIENT = `--import=${join(import.meta.dirname, '../fixtures/plugins/patient-process.ts')}`;
export const TOKEN = 'a-token-that-nobody-guesses';
type Test = Pick<ExecutionContext, 'teardown'>;

/** A configuration, and a file with the token. */
export async function recogniserDirectory(t: Test, config: Record<string, unknown> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-recogniser-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'earshot.yaml');
  const all = { stt: ['pocketsphinx'], dataDir: join(dir, 'data'), log: { format: 'json' }, ...config };
  await writeFile(file, stringify(all));
  const tokenFile = join(dir, 'token');
  await writeFile(tokenFile, `${TOKEN}\n`);
  return { file, tokenFile };
}

/** The command, listening on free ports. */
export async function startRecogniser(
  t: Test,
  { token = false, args = [] }: { token?: boolean; args?: string[] } = {},
) {
  const { file, tokenFile } = await recogniserDirectory(t);
  const given = ['--config', file, 'recogniser', '--port', '0', '--wyoming', '0'];
  const child = startEarshot([...given, ...(token ? ['--token-file', tokenFile] : []), ...args], {
    NODE_OPTIONS: PATIENT,
  });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let said = '';
  child.stderr?.on('data', chunk => {
    said += chunk;
  });
  const port = (scheme: string) => Number(new RegExp(`${scheme}://127\\.0\\.0\\.1:(\\d+)`).exec(said)?.[1]);
  const failed = exited.then(() => Promise.reject(new Error(`it ended: ${said}`)));
  failed.catch(() => undefined);
  await Promise.race([eventually(() => port('tcp')), failed]);
  return {
    ...{ child, exited, port: port('ws'), wyomingPort: port('tcp') },
    url: `ws://127.0.0.1:${port('ws')}`,
    said: () => said,
  };
}
