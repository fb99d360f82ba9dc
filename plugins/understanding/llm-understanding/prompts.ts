/** The texts that a model is asked with, by language: `prompts/<language>.txt`, in sections, `{name}` for what is filled in. */
import { readFileSync } from 'node:fs';

const LANGUAGES = ['en', 'de', 'fr', 'es'] as const;
export type PromptLanguage = (typeof LANGUAGES)[number];

const SECTIONS = [
  'rules',
  'fields',
  'conversation',
  'part',
  'join',
  'shorten',
  'folders',
  'goals',
  'marks',
  'form',
  'forms',
  'data',
] as const;
export type Section = (typeof SECTIONS)[number];

export interface Prompts {
  language: PromptLanguage;
  /** Version of the file: raised with every change of its texts. */
  version: number;
  /** A section with what is filled in; a value is taken as it is. */
  fill(section: Section, values: Readonly<Record<string, string>>): string;
}

/** In the language of the conversation where there is a file for it, else in English. */
export function promptsFor(language: string | undefined): Prompts {
  return PROMPTS[LANGUAGES.find(known => known === language?.slice(0, 2)) ?? 'en'];
}

const PROMPTS = Object.fromEntries(LANGUAGES.map(language => [language, read(language)])) as Record<
  PromptLanguage,
  Prompts
>; // one for each

function read(language: PromptLanguage): Prompts {
  const text = readFileSync(new URL(`prompts/${language}.txt`, import.meta.url), 'utf8');
  const [head = '', ...parts] = text.split(/^\[([a-z]+)\]\n/m);
  const version = Number(/^version (\d+)$/m.exec(head)?.[1]);
  const sections = new Map<string, string>();
  for (let at = 0; at < parts.length; at += 2) sections.set(parts[at] ?? '', (parts[at + 1] ?? '').trim());
  const missing = SECTIONS.filter(section => !sections.has(section));
  if (!Number.isInteger(version) || missing.length > 0)
    throw new Error(`prompts/${language}.txt has no version, or lacks ${missing.join(', ')}`);
  return {
    language,
    version,
    fill: (section, values) =>
      (sections.get(section) ?? '').replace(/\{([a-z]+)\}/g, (_, name: string) => values[name] ?? ''),
  };
}
