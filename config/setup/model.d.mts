export interface Model {
  /** The plugin that takes it. */
  plugin: string;
  /** For the plugin; `instruct`: it is a language model. */
  kind?: string;
  languages: string[];
  licence: string;
  about: string;
  /** Bytes, and processor cores: of language models alone. */
  memory?: number;
  cores?: number;
  /** It answers while people speak; otherwise once an utterance has ended. Absent: it does not. */
  live?: boolean;
  /** Plugin that uses it in a second pass, where that is not the one whose directory holds it. */
  runBy?: string;
  /** Its text has capitals and punctuation. */
  punctuation?: boolean;
  /** Per cent of words; null or absent: not measured. */
  wordErrors?: number | null;
  files: Record<string, { name: string; url: string; size: number; sha256: string }>;
}

export function modelDirectory(dataDir: string, name: string, model: Model): string;
export function isLanguageModel(model: Model): boolean;
export function recognisesSpeech(model: Model): boolean;
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
  progress?(bytes: number): void;
}): Promise<void>;
export function removeModel(model: Model, directory: string): Promise<number>;
export function megabytes(bytes: number): number;
