/** Reads what a server says about itself in `info`. Pure. */
import { isRecord } from '../../kit/kit.ts';

interface Model {
  name: string;
  /** ISO 639-1. */
  languages: string[];
  installed: boolean;
}

export interface Ability {
  languages: readonly string[] | 'any';
  model: string | null;
}

/**
 * Reads `info`; with `wanted`, that model alone. Null when it recognises no speech, or has no such model. `multi` is
 * among the languages when one model has several: the server then decides by itself.
 */
export function abilityOf(info: Record<string, unknown>, wanted: string | undefined): Ability | null {
  const models = modelsOf(info).filter(({ name }) => wanted === undefined || name === wanted);
  if (models.length === 0) return null;
  const installed = models.filter(model => model.installed);
  const usable = installed.length > 0 ? installed : models; // some servers download a model at the first request
  const several = usable.some(({ languages }) => languages.length > 1);
  const languages = [...new Set(usable.flatMap(model => model.languages))];
  return {
    languages: languages.length === 0 ? 'any' : [...languages, ...(several ? ['multi'] : [])],
    model: wanted ?? (usable.length === 1 ? (usable[0]?.name ?? null) : null),
  };
}

function modelsOf({ asr }: Record<string, unknown>): Model[] {
  return recordsOf(asr)
    .flatMap(program => recordsOf(program.models))
    .flatMap(({ name, languages, installed }) =>
      typeof name === 'string'
        ? [{ name, languages: codesOf(languages), installed: installed !== false }]
        : [],
    );
}

/** Returns `en` for `en_US`, `en-us` and `en`. */
function codesOf(value: unknown): string[] {
  const texts = Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];
  const codes = texts.map(text => text.toLowerCase().split(/[-_]/)[0] ?? '');
  return [...new Set(codes.filter(code => /^[a-z]{2,3}$/.test(code)))];
}

function recordsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
