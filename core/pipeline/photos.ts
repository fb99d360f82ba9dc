import type { Photo, Structured } from '../contract/model.ts';
import { NO_STRUCTURE } from '../domain/conversations/lifecycle.ts';
import { wholeText } from '../domain/search/whole-text.ts';

const MAX_TITLE_CHARS = 80;
const MAX_OVERVIEW_CHARS = 10_000;

/**
 * Makes the structure of a conversation without speech from its photos; null: none of them shows anything.
 */
export function ofPhotos(
  photos: readonly Photo[],
): { structured: Structured; memories: []; progress: [] } | null {
  const kept = photos.filter(({ discarded }) => !discarded);
  if (kept.length === 0) return null;
  const seen = kept.flatMap(({ description }) => description ?? []);
  const title = wholeText(
    seen[0] ?? (kept.length === 1 ? 'Photo' : `${kept.length} photos`),
    MAX_TITLE_CHARS,
  );
  const overview = wholeText(seen.join(' '), MAX_OVERVIEW_CHARS);
  return { structured: { ...NO_STRUCTURE, title, overview }, memories: [], progress: [] };
}
