/** Notices to operators about the server itself. */
import type { Clock, User } from '../contract/model.ts';
import type { Storage, Stores } from '../contract/plugin.ts';
import type { Notifications } from '../domain/notifications/notifications.ts';

/** Minimum time between two notices about the same problem. */
const AGAIN_MS = 24 * 3_600_000;
/** Factor by which free space has to exceed the limit before the next notice, so that small changes cause no further ones. */
const RECOVERED = 1.25;

const WRONG = 'Something is wrong with the server that you run';

interface Options {
  storage: Storage;
  notifications: Pick<Notifications, 'tellIn'>;
  clock: Pick<Clock, 'now'>;
  dataDir: string;
  /** Free bytes on the disk of the data directory. */
  freeBytes(directory: string): Promise<number>;
  /** Operators are notified if less is free; 0: never. */
  noticeBytes: number;
  /** If less is free, no audio is accepted. */
  minBytes: number;
}

export function createServerNotices({ storage, notifications, clock, dataDir, ...disk }: Options) {
  const { freeBytes, noticeBytes, minBytes } = disk;

  /** Notifies operators at most once a day, until `clear`. */
  async function tell(event: string, title: string, text: string, rule = WRONG): Promise<void> {
    await storage.transaction('tell operators', async tx => {
      const now = clock.now();
      const { count } = await tx.attempts.add(keyOf(event), 1, now, now + AGAIN_MS);
      if (count > 1) return;
      for (const { id } of await operatorsIn(tx))
        await notifications.tellIn(tx, id, { appId: null, event, rule, title, text });
    });
  }

  async function clear(event: string): Promise<void> {
    if (!(await storage.attempts.get(keyOf(event), clock.now()))) return;
    await storage.transaction('problem is over', tx => tx.attempts.remove(keyOf(event)));
  }

  return {
    /** Checks the free space, and notifies operators when it becomes low, and when no audio is accepted any more. */
    async checkDisk(): Promise<void> {
      if (noticeBytes === 0) return;
      const free = await freeBytes(dataDir);
      if (free < minBytes)
        await tell(
          'disk_full',
          'The disk of Earshot is full',
          `${mb(free)} are free on the disk of ${dataDir}. No audio is taken until ${mb(minBytes)} are free: bridges keep what they hear as long as they can.`,
        );
      else if (free < noticeBytes)
        await tell(
          'disk_low',
          'The disk of Earshot is almost full',
          `${mb(free)} are free on the disk of ${dataDir}. Below ${mb(minBytes)} no audio is taken. Make room, or move backups to another disk (backup.directory).`,
        );
      if (free > minBytes * RECOVERED) await clear('disk_full');
      if (free > noticeBytes * RECOVERED) await clear('disk_low');
    },
    /** Its caller tells each version once. */
    async update({ version, security, note }: { version: string; security: boolean; note: string }) {
      const title = security
        ? `Update Earshot to ${version}: it closes a security hole`
        : `Earshot ${version} is out`;
      await tell(`update_${version}`, title, note, 'There is a newer version of the server that you run');
    },
    /** @param message null: the last one was made, and copied */
    async backup(message: string | null): Promise<void> {
      if (message === null) return clear('backup_failed');
      await tell(
        'backup_failed',
        'The backup of Earshot failed',
        `${message}. Older backups are kept; the next attempt is made within a day.`,
      );
    },
  };
}

function keyOf(event: string): string {
  return `server notice ${event}`;
}

/** Accounts with the role operator; without any, the first account. */
async function operatorsIn(tx: Stores): Promise<User[]> {
  const users = (await tx.users.list()).filter(({ disabledAt }) => disabledAt === null);
  const operators = users.filter(({ role }) => role === 'operator');
  const [first] = users.sort((a, b) => a.createdAt - b.createdAt);
  if (operators.length > 0 || !first) return operators;
  return [first];
}

function mb(bytes: number): string {
  return `${Math.floor(bytes / 1e6)} MB`;
}
