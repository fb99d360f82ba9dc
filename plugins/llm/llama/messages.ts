/** Messages between the plugin and the model's process, over the IPC channel of `child_process.fork`. */

export interface LoadOptions {
  /** Path of the GGUF file. */
  path: string;
  threads: number;
  /** Tokens of question and answer together. */
  contextTokens: number;
}

export interface Asked {
  system: string;
  user: string;
  /** JSON schema of the answer, made by `grammar.ts`. Null: any text. */
  schema: object | null;
  maxTokens: number;
}

export type ToChild =
  /** The first message. Answered by `ready` or `refused`. */
  | { type: 'load'; options: LoadOptions }
  /** One question at a time. Answered by pieces, then by `done` or `failed`. */
  | { type: 'ask'; asked: Asked }
  /** The answer is no longer needed. Answered by `done`. */
  | { type: 'cancel' };

export type FromChild =
  | { type: 'ready' }
  /** It cannot load, and trying again would not help. */
  | { type: 'refused'; message: string }
  | { type: 'piece'; text: string }
  | { type: 'done' }
  | { type: 'failed'; code: 'too_large' | 'upstream_error'; message: string };
