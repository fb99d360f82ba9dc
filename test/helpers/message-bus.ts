import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';

export const HOW_TO_GET_A_BUS = 'A message bus needs dbus-daemon: apt-get install dbus.';

export function hasMessageBus(): boolean {
  return spawnSync('dbus-daemon', ['--version'], { stdio: 'ignore' }).status === 0;
}

/**
 * Starts a separate message bus, a dbus-daemon that allows this account everything.
 * @returns its address
 */
export async function startMessageBus(t: ExecutionContext): Promise<{ address: string; stop(): void }> {
  const dir = await mkdtemp(join(tmpdir(), 'bus-'));
  const file = join(dir, 'bus.conf');
  await writeFile(
    file,
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN" "busconfig.dtd">
<busconfig><listen>unix:path=${dir}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/></policy></busconfig>
`,
  );
  const daemon = spawn('dbus-daemon', [`--config-file=${file}`, '--nofork', '--print-address=1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const stop = () => void daemon.kill();
  t.teardown(async () => {
    stop();
    await rm(dir, { recursive: true, force: true });
  });
  const [address] = await Promise.race([
    once(createInterface({ input: daemon.stdout }), 'line'),
    once(daemon, 'error').then(([error]) => {
      throw error;
    }),
  ]);
  return { address: String(address), stop };
}
