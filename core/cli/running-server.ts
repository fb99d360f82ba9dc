import type { LoadedConfig } from '../../config/load.ts';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';

/** Options of commands that talk to a server over its interface. */
export interface ServerOptions {
  url?: string;
  key?: string;
  user?: string;
}

/** Returns address and credential: those of the options, else those that the server on this data directory gives. */
export async function findServer(
  { url, key, user }: ServerOptions,
  { config }: LoadedConfig,
): Promise<{ base: string; credential: string }> {
  if (url && key) return { base: url, credential: key };
  if (url) throw new AppError('invalid_request', '--url needs --key <key>, an API key of that server');
  const path = controlPath(config.dataDir);
  const status = await callControl(path, 'status', {});
  if (status === 'absent' || status.url === null) {
    throw new AppError('unavailable', `no server runs on ${config.dataDir}; start one with: earshot serve`);
  }
  if (key) return { base: status.url, credential: key };
  const answer = await callControl(path, 'token', { user: user ?? config.account });
  if (answer === 'absent') throw new AppError('unavailable', 'the server has just stopped');
  return { base: status.url, credential: answer.token };
}
