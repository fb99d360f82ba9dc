/** Which owners' vectors are in memory: those of the last searches, as many as fit. */
import type { Block, CodeMemory } from './codes.ts';
import { createRanking, type Ranking } from './ranking.ts';
import { bytesOf, type Row, type VectorsFile } from './vectors-file.ts';

interface Shelf {
  dimensions: number;
  blocks: Block[];
  /** The last row that is here; rows behind it may be in the file. */
  lastRow: number;
  /** Nothing is behind it. */
  isWhole: boolean;
  /** Rows that were taken away. */
  gaps: number;
}

/** A shelf with so many gaps is read anew at its next search. */
const MAX_GAPS = 10_000;

export function createShelves(file: VectorsFile, memory: CodeMemory) {
  /** The one that was searched last comes last. */
  const shelves = new Map<number, Shelf>();

  function shelfOf(owner: number, dimensions: number): Shelf {
    const shelf = shelves.get(owner) ?? { dimensions, blocks: [], lastRow: 0, isWhole: false, gaps: 0 };
    shelves.delete(owner);
    shelves.set(owner, shelf);
    return shelf;
  }

  function read(owner: number, shelf: Shelf): void {
    while (!shelf.isWhole) {
      const block = takeFor(owner, shelf);
      if (block === null) return;
      shelf.blocks.push(block);
      shelf.lastRow = fill(block, owner, shelf, shelf.lastRow);
      shelf.isWhole = block.room() > 0;
    }
  }

  /** Answers the last row that went in. */
  function fill(block: Block, owner: number, { dimensions }: Shelf, after: number): number {
    const rows = file.rows(owner, dimensions, after, block.room());
    for (const row of rows) block.add(row);
    return rows.at(-1)?.row ?? after;
  }

  /** Where there is no room, the file alone has it from here on. */
  function append(owner: number, shelf: Shelf, item: Row): void {
    if (!shelf.isWhole) return;
    const last = shelf.blocks.at(-1);
    const block = last !== undefined && last.room() > 0 ? last : takeFor(owner, shelf);
    shelf.isWhole = block !== null;
    if (block === null) return;
    if (block !== last) shelf.blocks.push(block);
    block.add(item);
    shelf.lastRow = item.row;
  }

  /** Makes room at the cost of whoever was not searched for longest; null when there is nobody else. */
  function takeFor(owner: number, { dimensions }: Shelf): Block | null {
    for (;;) {
      const block = memory.take(dimensions);
      if (block !== null) return block;
      const other = shelves.keys().find(key => key !== owner);
      if (other === undefined) return null;
      forget(other);
    }
  }

  function forget(owner: number): void {
    for (const block of shelves.get(owner)?.blocks ?? []) memory.give(block);
    shelves.delete(owner);
  }

  /** What does not fit into memory is read from the file each time. */
  function rankRest(owner: number, shelf: Shelf, ranking: Ranking): void {
    let after = shelf.lastRow;
    for (;;) {
      const block = memory.spare(shelf.dimensions);
      after = fill(block, owner, shelf, after);
      block.rank(ranking);
      if (block.room() > 0) return;
    }
  }

  return {
    /** Rows that are near the direction, by what a byte for each number tells; in no order. */
    near(owner: number, direction: Float32Array, count: number): number[] {
      const shelf = shelfOf(owner, direction.length);
      read(owner, shelf);
      memory.ask(bytesOf(direction));
      const ranking = createRanking(count);
      for (const block of shelf.blocks) block.rank(ranking);
      if (!shelf.isWhole) rankRest(owner, shelf, ranking);
      return ranking.rows();
    },
    written(owner: number, item: Row): void {
      const shelf = shelves.get(owner);
      if (shelf === undefined) return;
      if (item.row > shelf.lastRow) append(owner, shelf, item);
      else for (const block of shelf.blocks) block.change(item.row, item.vector);
    },
    removed(owner: number, row: number): void {
      const shelf = shelves.get(owner);
      if (shelf === undefined) return;
      for (const block of shelf.blocks) block.change(row, null);
      if (++shelf.gaps > MAX_GAPS) forget(owner);
    },
    clear(): void {
      for (const owner of [...shelves.keys()]) forget(owner);
    },
  };
}
