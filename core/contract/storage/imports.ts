import type { ForeignImport, ForeignItem } from '../model.ts';

/** Imports from other products, and the items that each of them stored. */
export interface ForeignImportStore {
  insert(run: ForeignImport): Promise<void>;
  get(userId: string, id: string): Promise<ForeignImport | null>;
  /** Newest first. */
  list(userId: string, limit: number): Promise<ForeignImport[]>;
  /** Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<ForeignImport, 'state' | 'counts' | 'endedAt'>>,
  ): Promise<boolean>;
  /** Assigns items of an earlier import to this one. Rejects with `not_found` if the import does not exist. */
  note(items: ForeignItem[]): Promise<void>;
  /** Tells whether an import has stored this item and was not undone. */
  has(userId: string, id: string): Promise<boolean>;
  /** Ordered by id. */
  items(userId: string, importId: string, limit: number): Promise<ForeignItem[]>;
  /** Missing ids are no error. At most 1000. */
  forget(userId: string, ids: string[]): Promise<void>;
}
