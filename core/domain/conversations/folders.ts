/** Folders of conversations. Functions that end in `In`, and `folderFor`, run in the caller's transaction. */

import type { Clock, Folder } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isId, newId } from '../ids.ts';
import type { Category } from './categories.ts';

const MAX_FOLDERS_PER_USER = 200;

export type FolderDraft = Pick<Folder, 'name' | 'description' | 'color' | 'icon'>;

export type Folders = ReturnType<typeof createFolders>;

/** Folders that users create. System folders keep their name, and cannot be deleted. */
export function createFolders({ storage, clock }: { storage: Storage; clock: Clock }) {
  /** Creates a folder at the end of the order. `conflict` where there are too many. */
  async function create(userId: string, draft: FolderDraft): Promise<Folder> {
    const now = clock.now();
    return storage.transaction('create folder', async tx => {
      const others = await tx.folders.list(userId);
      if (others.length >= MAX_FOLDERS_PER_USER)
        throw new AppError('conflict', `At most ${MAX_FOLDERS_PER_USER} folders: delete one first`);
      const order = 1 + Math.max(-1, ...others.map(folder => folder.order));
      const folder = { ...make(userId, draft, order, now), isSystem: false };
      await tx.folders.insertMissing([folder]);
      return folder;
    });
  }

  /** `not_found`, or `invalid_request` where a system folder would be renamed. */
  async function edit(userId: string, id: string, changes: Partial<FolderDraft>): Promise<Folder> {
    const now = clock.now();
    return storage.transaction('edit folder', async tx => {
      const before = await folderIn(tx, userId, id);
      if (before.isSystem && changes.name !== undefined && changes.name !== before.name) throw keepsItsName();
      const updatedAt = Math.max(now, before.updatedAt + 1);
      await tx.folders.update(userId, id, { ...changes, updatedAt });
      return { ...before, ...changes, updatedAt };
    });
  }

  /** Deletes a folder; its conversations move to the folder Personal. `not_found`, `conflict` for a system folder. */
  async function remove(userId: string, id: string): Promise<void> {
    const now = clock.now();
    await storage.transaction('delete folder', async tx => {
      const { isSystem, name } = await folderIn(tx, userId, id);
      if (isSystem)
        throw new AppError('conflict', `${name} is a folder of the system, and cannot be deleted`);
      await tx.conversations.refile(userId, id, await folderFor(tx, userId, 'personal', now));
      await tx.folders.remove(userId, id);
    });
  }

  return { create, edit, remove };
}

/** `not_found`. */
export async function folderIn(tx: Stores, userId: string, id: string): Promise<Folder> {
  const found = isId(id) ? await tx.folders.get(userId, id) : null;
  if (!found) throw new AppError('not_found', 'Folder not found');
  return found;
}

function keepsItsName(): AppError {
  const issue = { loc: ['body', 'name'], msg: 'A folder of the system keeps its name', type: 'value_error' };
  return new AppError('invalid_request', issue.msg, { issues: [issue] });
}

/** System folders, which every user gets with the first conversation that is filed, in order. */
const SYSTEM_FOLDERS = [
  { name: 'Work', icon: '💼', color: '#3B82F6' },
  { name: 'Personal', icon: '👤', color: '#10B981' },
  { name: 'Social', icon: '👥', color: '#8B5CF6' },
] as const;

type SystemFolder = (typeof SYSTEM_FOLDERS)[number]['name'];

/** Folder by category; all other categories belong to Personal. */
const FOLDER_OF: Partial<Record<Category, SystemFolder>> = {
  work: 'Work',
  business: 'Work',
  entrepreneurship: 'Work',
  technology: 'Work',
  finance: 'Work',
  economics: 'Work',
  legal: 'Work',
  education: 'Work',
  science: 'Work',
  architecture: 'Work',
  design: 'Work',
  social: 'Social',
  entertainment: 'Social',
  music: 'Social',
  politics: 'Social',
  news: 'Social',
  weather: 'Social',
  environment: 'Social',
  real: 'Social',
};

/** Returns the id of the folder for a category; missing system folders are created. */
export async function folderFor(
  tx: Stores,
  userId: string,
  category: string,
  now: number,
): Promise<string | null> {
  const name = FOLDER_OF[category as Category] ?? 'Personal'; // an unknown category belongs there too
  const id = await systemFolder(tx, userId, name);
  if (id !== null) return id;
  const missing = SYSTEM_FOLDERS.map((folder, order) =>
    make(userId, { ...folder, description: null }, order, now),
  );
  await tx.folders.insertMissing(missing);
  return systemFolder(tx, userId, name);
}

async function systemFolder(tx: Stores, userId: string, name: SystemFolder): Promise<string | null> {
  const folders = await tx.folders.list(userId);
  return folders.find(folder => folder.isSystem && folder.name === name)?.id ?? null;
}

function make(userId: string, draft: FolderDraft, order: number, now: number): Folder {
  return {
    ...draft,
    id: newId(now),
    userId,
    order,
    isDefault: false,
    isSystem: true,
    createdAt: now,
    updatedAt: now,
  };
}
