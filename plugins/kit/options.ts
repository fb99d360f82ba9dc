/** Schemas of options that several plugins have. */
import type { z as Zod } from 'zod';

/** Address of an HTTP server, without user name, password, query and fragment. */
export function serverAddress(z: typeof Zod) {
  return z
    .url({ protocol: /^https?$/ })
    .refine(url => /^[^@?#]*$/.test(url), 'must be an address alone, without name, password, ? or #');
}

/** Key of an account at a service: a secret that fits into an HTTP header. */
export function accountKey(z: typeof Zod) {
  return z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]+$/, 'must be letters, digits and signs without spaces')
    .meta({ secret: true });
}

/** Time limit in ms, of at least 100. */
export function timeLimit(z: typeof Zod, { usual, most }: { usual: number; most: number }) {
  return z.coerce.number().int().min(100).max(most).default(usual);
}
