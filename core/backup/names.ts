import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Copy } from './place.ts';

/** How many backups stay: the newest of each of the latest days, weeks and months that have one. */
export interface Keep {
  daily: number;
  weekly: number;
  monthly: number;
}

const NAME = /^earshot-(\d{4})-(\d{2})-(\d{2})T(\d{2})(\d{2})(\d{2})Z\.tar\.zst(\.age)?$/;
/** Entries of a data directory that a restore within it creates; they are part of no backup. */
export const RESTORE_ENTRY = /^(restoring|restored|arriving|replaced)-/;
const CATALOGUE = new URL('../../config/models.json', import.meta.url);
const Catalogue = z.object({ models: z.record(z.string(), z.object({ plugin: z.string() })) });
const DAY_MS = 24 * 3_600_000;

/** `earshot-2026-11-22T033000Z.tar.zst`, with `.age` behind it where it is encrypted. */
export function nameOf(at: number, encrypted: boolean): string {
  const time = `${new Date(at).toISOString().slice(0, 19).replaceAll(':', '')}Z`;
  return `earshot-${time}.tar.zst${encrypted ? '.age' : ''}`;
}

export interface Found {
  file: string;
  /** Epoch ms. */
  createdAt: number;
  bytes: number;
  encrypted: boolean;
}

/** Lists the backups in a directory, newest first; other files are ignored. */
export async function listBackups(directory: string): Promise<Found[]> {
  const names = await readdir(directory).catch(() => []);
  const found = await Promise.all(
    names.flatMap(name => {
      const createdAt = timeOf(name);
      if (createdAt === null) return [];
      const file = join(directory, name);
      return stat(file).then(
        ({ size }) => [{ file, createdAt, bytes: size, encrypted: name.endsWith('.age') }],
        () => [], // deleted just now
      );
    }),
  );
  return found.flat().sort((a, b) => b.createdAt - a.createdAt);
}

/** Returns those of a list that are backups by their names, newest first. */
export function copiesOf(files: readonly Omit<Copy, 'createdAt'>[]): Copy[] {
  const copies = files.flatMap(file => {
    const createdAt = timeOf(file.name);
    return createdAt === null ? [] : [{ ...file, createdAt }];
  });
  return copies.sort((a, b) => b.createdAt - a.createdAt);
}

/** Lists folders of speech models in a data directory. They are large, can be downloaded again, and are in no backup. */
export async function modelFolders(): Promise<string[]> {
  const { models } = Catalogue.parse(JSON.parse(await readFile(CATALOGUE, 'utf8')));
  return Object.entries(models).map(([name, { plugin }]) => `plugins/${plugin}/${name}`);
}

function timeOf(name: string): number | null {
  const parts = NAME.exec(name);
  if (!parts) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? null : time;
}

/** Returns the backups that need not stay, of a list with the newest first. The newest always stays. */
export function superfluous<T extends { createdAt: number }>(newestFirst: readonly T[], keep: Keep): T[] {
  const kept = new Set<T>(newestFirst.slice(0, 1));
  const spans: [number, (at: number) => string | number][] = [
    [keep.daily, at => Math.floor(at / DAY_MS)],
    [keep.weekly, at => Math.floor((at / DAY_MS + 3) / 7)], // from Monday: 1970 began on a Thursday
    [keep.monthly, at => new Date(at).toISOString().slice(0, 7)],
  ];
  for (const [count, spanOf] of spans) {
    const seen = new Set<string | number>();
    for (const backup of newestFirst) {
      const span = spanOf(backup.createdAt);
      if (seen.has(span)) continue;
      if (seen.size === count) break;
      seen.add(span);
      kept.add(backup);
    }
  }
  return newestFirst.filter(backup => !kept.has(backup));
}
