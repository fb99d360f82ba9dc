/** One import of data from another product. */
export interface ForeignImport {
  id: string;
  userId: string;
  /** For people: `Omi`. */
  format: string;
  /** Name of the file, folder or server that it was read from. */
  name: string;
  /**
   * An import that is `undoing`, or `running` after a restart of the server, has to be undone. `failed`: what it had
   * stored was removed. `checked`: a dry run, which stored nothing.
   */
  state: 'running' | 'done' | 'failed' | 'undoing' | 'undone' | 'checked';
  /** Number of stored items by kind; of a dry run, of those that would be stored. */
  counts: Record<string, number>;
  startedAt: number;
  endedAt: number | null;
}

/** Item that an import stored. */
export interface ForeignItem {
  /** Id of the conversation, memory, task or person. */
  id: string;
  userId: string;
  importId: string;
  kind: 'conversation' | 'memory' | 'task' | 'person' | 'recording';
}
