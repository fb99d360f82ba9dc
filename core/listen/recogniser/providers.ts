import type { SttProvider } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { Refusal } from '../connection/parameters.ts';
import { CLOSE } from '../protocol.ts';

/** Also sent to the client, which cannot run commands on the server. */
const NO_RECOGNISER =
  'This server has no speech recogniser that works now. Send the audio again later; where that does not help, its operator has to name one that works (stt)';

export interface NamedProvider {
  name: string;
  stt: SttProvider;
  /** Called after each opening; null: it succeeded. */
  onOpening?(failure: AppError | null): void;
}

/**
 * Lists the usable recognisers, the requested one first. A request for an unknown one is ignored.
 * @throws `config_error` when no recogniser works, a `Refusal` when none that works has the language
 */
export function chooseProviders(
  loaded: NamedProvider[],
  { language, wish }: { language: string; wish: string | null },
): NamedProvider[] {
  if (loaded.length === 0) throw new AppError('config_error', NO_RECOGNISER);
  const able = loaded.filter(({ stt }) => serves(stt, language));
  if (able.length === 0) throw new Refusal(CLOSE.policy, `no recogniser here has the language ${language}`);
  return able.sort((a, b) => Number(b.name === wish) - Number(a.name === wish));
}

/** `pt-BR` is served by a recogniser of `pt`; `multi` only by one that detects languages. */
export function serves({ languages }: SttProvider, language: string): boolean {
  if (languages === 'any') return true;
  const code = language.toLowerCase();
  const base = code.split('-')[0];
  return languages.some(own => own.toLowerCase() === code || own.toLowerCase() === base);
}
