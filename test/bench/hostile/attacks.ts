import type { Attack } from './attack.ts';
import { HTTP_ATTACKS } from './attacks-http.ts';
import { LISTEN_ATTACKS } from './attacks-listen.ts';

export const ATTACKS: Attack[] = [...HTTP_ATTACKS, ...LISTEN_ATTACKS];

export function attackOf(name: string): Attack {
  const found = ATTACKS.find(attack => attack.name === name);
  if (found) return found;
  throw new Error(`there is no attack "${name}"`);
}
