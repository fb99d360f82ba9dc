interface Needs {
  plugin: string;
  /** Bytes; of language models alone, as the cores. */
  memory?: number;
  cores?: number;
}

export function proposedModel(
  models: Record<string, Needs>,
  machine: { memoryBytes: number; cores: number },
): string | null;
export function stepsOf(name: string, earshot: string): string;
