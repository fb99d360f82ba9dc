/** Makes one daily backup after the other until it is killed. */
import { pino } from 'pino';
import { type BackupSettings, createBackups } from '../../../core/backup/backups.ts';
import { openStorage } from '../../helpers/storage.ts';

const DAY_MS = 24 * 3_600_000;

const request: { dataDir: string; database: string; settings: BackupSettings; at: number } = JSON.parse(
  process.argv[2] ?? '',
);
const { dataDir, settings } = request;
const clock = { at: request.at, now: () => clock.at, sleep: async () => {} };
const { storage } = await openStorage(request.database);
const backups = createBackups({
  ...{ dataDir, configFile: null, settings, storage, clock, log: pino({ level: 'silent' }) },
});
for (;;) {
  await backups.nightly();
  process.send?.(clock.at);
  clock.at += DAY_MS;
}
