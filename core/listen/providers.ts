import { AppError } from '../errors.ts';
import type { SttProvider } from '../plugin.ts';
import { Refusal } from './parameters.ts';
import { CLOSE } from './protocol.ts';

export interface NamedProvider {
  name: string;
  stt: SttProvider;
}

/**
 * Those that can serve, the wished one first. A wish that names none of them cannot be granted, and is no error.
 * Throws `config_error` when no recogniser works at all, a `Refusal` when none of those that do has the language.
 */
export function chooseProviders(
  loaded: NamedProvider[],
  { language, wish }: { language: string; wish: string | null },
): NamedProvider[] {
  if (loaded.length === 0)
    throw new AppError(
      'config_error',
      'No speech recogniser is ready; `npx earshot serve` says how to get one',
    );
  const able = loaded.filter(({ stt }) => serves(stt, language));
  if (able.length === 0) throw new Refusal(CLOSE.policy, `no recogniser here has the language ${language}`);
  return able.sort((a, b) => Number(b.name === wish) - Number(a.name === wish));
}

/** `pt-BR` is served by who has `pt`; `multi` only by who detects languages. */
function serves({ languages }: SttProvider, language: string): boolean {
  if (languages === 'any') return true;
  const base = language.split('-')[0] ?? language;
  return languages.includes(language) || languages.includes(base);
}
