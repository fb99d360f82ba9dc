/** In which of the owner's own folders a conversation belongs. */
import type { Folder, Structured } from '../contract/model.ts';
import type { Embedder } from '../contract/plugin.ts';

/** Reference descriptions: a folder is chosen only if it is nearer than all of these. */
const OTHERS = [
  'Work: projects, meetings, colleagues and customers',
  'Personal: home, family, health, errands and plans',
  'Social: friends, parties, news and entertainment',
  'Small talk about nothing in particular',
];
/** Required margin, as a difference of cosines. */
const MARGIN = 0.02;
/** Maximum number of folders that are compared, in their order. */
const MAX_FOLDERS = 100;

/** Folders that have a description. */
export function describedFolders(folders: readonly Folder[]): Folder[] {
  return folders
    .filter(({ isSystem, description }) => !isSystem && description !== null)
    .slice(0, MAX_FOLDERS);
}

/**
 * Returns the folder that a plugin named or, where it was not asked, the one whose description is nearest in
 * meaning.
 * @param named null: the plugin chose none
 */
export async function folderOf(
  { title, overview }: Pick<Structured, 'title' | 'overview'>,
  named: string | null | undefined,
  folders: readonly Folder[],
  embedder: Embedder | null,
  signal: AbortSignal,
): Promise<Folder | null> {
  const own = describedFolders(folders);
  if (named !== undefined) return own.find(({ name }) => sameName(name, named)) ?? null;
  if (own.length === 0 || !embedder) return null;
  const descriptions = own.map(({ name, description }) => `${name}: ${description}`);
  const texts = [`${title} ${overview}`, ...descriptions, ...OTHERS];
  const [said, ...vectors] = await embedder.embed(texts, signal);
  if (!said) return null;
  const nearness = vectors.map(vector => dot(said, vector));
  const bar = Math.max(0, ...nearness.slice(own.length)) + MARGIN;
  const best = Math.max(...nearness.slice(0, own.length));
  return best >= bar ? (own[nearness.indexOf(best)] ?? null) : null;
}

function sameName(one: string, other: string | null): boolean {
  return one.toLowerCase() === other?.trim().toLowerCase();
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
