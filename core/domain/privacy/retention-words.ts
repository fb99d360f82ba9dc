/** Retention rules as people write them: `conversations=365`, `conversations/Work=keep`. */
import type { Folder, RetainedData, RetentionRule } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';

const KINDS: readonly RetainedData[] = ['conversations', 'photos', 'audio', 'deliveries'];
const KEPT = 'keep';
export const MAX_DAYS = 36_500;

/** `invalid_request`, with the text and the form. */
export function ruleOf(text: string, folders: readonly Folder[]): RetentionRule {
  const [, kind = '', folder, age = ''] =
    /^\s*([a-z]+)(?:\/(.{1,200}))?=([a-z0-9]{1,10})\s*$/i.exec(text) ?? [];
  const data = KINDS.find(each => each === kind.toLowerCase());
  const days = age.toLowerCase() === KEPT ? null : Number(age);
  if (!data || (days !== null && !(Number.isInteger(days) && days >= 1 && days <= MAX_DAYS)))
    throw new AppError(
      'invalid_request',
      `${text}: should be ${KINDS.join(', ')}, perhaps / and a folder, then = and 1 to ${MAX_DAYS} days or ${KEPT}, such as conversations/Work=30`,
    );
  return { data, folderId: folder === undefined ? null : folderIdOf(folder, folders), days };
}

function folderIdOf(name: string, folders: readonly Folder[]): string {
  const found = folders.find(folder => folder.name.toLowerCase() === name.trim().toLowerCase());
  if (found) return found.id;
  const names = folders.map(folder => folder.name).join(', ');
  throw new AppError('invalid_request', `There is no folder ${name.trim()}. There are: ${names}`);
}

export function ruleWords({ data, folderId, days }: RetentionRule, folders: readonly Folder[]): string {
  const folder = folders.find(({ id }) => id === folderId)?.name ?? 'a folder that is gone';
  return `${data}${folderId === null ? '' : `/${folder}`}=${days ?? KEPT}`;
}
