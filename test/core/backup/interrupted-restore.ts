/** Restores a backup, and kills itself before a change to the disk: before the one with this number. */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type { RestoreRequest } from '../../../core/backup/restore.ts';

const { killAt, ...request }: RestoreRequest & { killAt: number } = JSON.parse(process.argv[2] ?? '');
let changes = 0;
for (const name of ['rename', 'mkdir', 'rmdir', 'rm', 'copyFile'] as const) {
  const change = fs[name] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(fs, {
    async [name](...args: unknown[]) {
      changes += 1;
      if (changes === killAt) process.kill(process.pid, 'SIGKILL');
      return change(...args);
    },
  });
}
syncBuiltinESMExports();
const { restoreBackup } = await import('../../../core/backup/restore.ts');
await restoreBackup(request);
