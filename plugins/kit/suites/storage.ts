import type { Storage } from '../../../core/contract/plugin.ts';
import { accountChecks } from './storage/accounts.ts';
import { actionItemChecks } from './storage/action-items.ts';
import { appChecks } from './storage/apps.ts';
import { calendarChecks } from './storage/calendar.ts';
import { chatChecks } from './storage/chat.ts';
import { clipChecks } from './storage/clips.ts';
import { deliveryChecks } from './storage/deliveries.ts';
import { deviceChecks } from './storage/devices.ts';
import { folderChecks } from './storage/folders.ts';
import { foreignImportChecks } from './storage/foreign-imports.ts';
import { goalChecks } from './storage/goals.ts';
import { jobChecks } from './storage/jobs.ts';
import { keyChecks } from './storage/keys.ts';
import { markChecks } from './storage/marks.ts';
import { memoryChecks } from './storage/memories.ts';
import { notificationChecks } from './storage/notifications.ts';
import { ownershipChecks } from './storage/ownership.ts';
import { passageChecks } from './storage/passages.ts';
import { photoChecks } from './storage/photos.ts';
import { placeChecks } from './storage/places.ts';
import { privacyChecks } from './storage/privacy.ts';
import { recordingChecks } from './storage/recordings.ts';
import { speechChecks } from './storage/speech.ts';
import { storeChecks } from './storage/stores.ts';
import { summaryChecks } from './storage/summaries.ts';
import { tableChecks } from './storage/tables.ts';
import { transactionChecks } from './storage/transactions.ts';

/** A migrated, empty storage under test. */
export interface StorageSubject {
  storage: Storage;
  /** The same database, opened again as another process would. Closed with the first one. */
  another(): Promise<Storage>;
  close(): Promise<void>;
}

/** One requirement, stated by its title. `run` rejects if the storage does not meet it. */
export interface StorageCheck {
  title: string;
  run(subject: StorageSubject): Promise<void>;
}

export const storageChecks: readonly StorageCheck[] = [
  ...accountChecks,
  ...storeChecks,
  ...folderChecks,
  ...placeChecks,
  ...keyChecks,
  ...actionItemChecks,
  ...memoryChecks,
  ...goalChecks,
  ...summaryChecks,
  ...calendarChecks,
  ...deviceChecks,
  ...photoChecks,
  ...markChecks,
  ...clipChecks,
  ...recordingChecks,
  ...speechChecks,
  ...privacyChecks,
  ...passageChecks,
  ...chatChecks,
  ...foreignImportChecks,
  ...appChecks,
  ...deliveryChecks,
  ...notificationChecks,
  ...ownershipChecks,
  ...transactionChecks,
  ...jobChecks,
  ...tableChecks,
];
