export interface Model {
  /** The plugin that takes it. */
  plugin: string;
  languages: string[];
  licence: string;
  about: string;
  files: Record<string, { name: string; url: string; size: number; sha256: string }>;
}

export function modelDirectory(dataDir: string, name: string, model: Model): string;
export function sizeOfModel(model: Model): number;
export function isComplete(model: Model, directory: string): Promise<boolean>;
export function fetchModel(options: {
  name: string;
  model: Model;
  directory: string;
  say(line: string): void;
  check?: boolean;
  limitMs?: number;
  lines?: boolean;
}): Promise<void>;
export function removeModel(model: Model, directory: string): Promise<number>;
export function megabytes(bytes: number): number;
