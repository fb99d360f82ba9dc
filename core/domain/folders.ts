/** Where conversations are filed: each step inside a transaction of its caller. */
import type { Folder } from '../model.ts';
import type { Stores } from '../plugin.ts';
import type { Category } from './categories.ts';
import { newId } from './ids.ts';

/** The folders that every user gets with the first conversation that is filed, in their order. */
const SYSTEM_FOLDERS = [
  { name: 'Work', icon: '💼', color: '#3B82F6' },
  { name: 'Personal', icon: '👤', color: '#10B981' },
  { name: 'Social', icon: '👥', color: '#8B5CF6' },
] as const;

type SystemFolder = (typeof SYSTEM_FOLDERS)[number]['name'];

/** What is not named here is personal. */
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

/** The id of the folder for this category; the system folders are made where they are missing. */
export async function folderFor(
  tx: Stores,
  userId: string,
  category: string,
  now: number,
): Promise<string | null> {
  const name = FOLDER_OF[category as Category] ?? 'Personal'; // a category that is not known is personal too
  const id = await systemFolder(tx, userId, name);
  if (id !== null) return id;
  await tx.folders.insertMissing(SYSTEM_FOLDERS.map((folder, order) => make(userId, folder, order, now)));
  return systemFolder(tx, userId, name);
}

async function systemFolder(tx: Stores, userId: string, name: SystemFolder): Promise<string | null> {
  const folders = await tx.folders.list(userId);
  return folders.find(folder => folder.isSystem && folder.name === name)?.id ?? null;
}

function make(
  userId: string,
  folder: Pick<Folder, 'name' | 'icon' | 'color'>,
  order: number,
  now: number,
): Folder {
  return {
    ...folder,
    id: newId(now),
    userId,
    description: null,
    order,
    isDefault: false,
    isSystem: true,
    createdAt: now,
    updatedAt: now,
  };
}
