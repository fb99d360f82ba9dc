import { join } from 'node:path';
import { coreProcess } from '../../helpers/core-process.ts';
import type { Bench } from '../benchmark.ts';
import { launcherOf, nextMessage, type Place, startProgram } from '../processes.ts';

/** A server under load. */
export interface Subject {
  url: string;
  key: string;
  pid: number;
}

export const PROMPT = join(import.meta.dirname, '../../fixtures/plugins/prompt-stt.ts');

const ANSWERS_AT_ONCE = { stt: ['prompt'], plugins: { prompt: { use: PROMPT } } };

interface Start {
  place?: Place;
  /** Its recognisers. */
  config?: Record<string, unknown>;
  /** Additional environment variables. */
  env?: Record<string, string>;
}

/** The whole core, by default with a recogniser that answers at once. */
export async function startCore(
  bench: Bench,
  { place = 'subject', config = ANSWERS_AT_ONCE, env = {} }: Start = {},
): Promise<Subject> {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const launcher = settings.length > 0 ? ['env', ...settings] : [];
  const { url, key, process } = await coreProcess(
    bench,
    { ...config, listen: { maxConnectionsPerUser: 1000 } },
    () => [...launcherOf(place), ...launcher],
  );
  return { url, key, pid: process().pid ?? 0 };
}

/** Only sockets and decoders; with `detector`, every window of audio is evaluated too. */
export async function startBare(bench: Bench, detector: boolean): Promise<Subject> {
  const args = detector ? ['detector'] : [];
  const child = startProgram(bench, 'subject', new URL('./bare-main.ts', import.meta.url), args);
  const { port } = await nextMessage<{ event: 'listening'; port: number }>(child, 'listening');
  return { url: `http://127.0.0.1:${port}`, key: 'none', pid: child.pid ?? 0 };
}
