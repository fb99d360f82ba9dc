import type { z } from 'zod';

const MAX_URL = 2000;

/** Where a server of the user's answers; what is added to it begins with a slash. Who may be asked is core's to say. */
export function serverUrl(zod: typeof z) {
  return zod
    .url({ protocol: /^https?$/, error: 'must be an address such as https://push.example.com' })
    .max(MAX_URL)
    .refine(url => /^[^@?#]*$/.test(url), 'must be an address alone, without name, password, ? or #')
    .transform(url => url.replace(/(?<!\/)\/+$/, ''));
}

/** Fits into a header, and nothing can follow it there. */
export function secretToken(zod: typeof z) {
  return zod
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{1,1000}$/, 'must be letters, digits and signs without spaces')
    .meta({ secret: true });
}
