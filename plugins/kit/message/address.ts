import type { z } from 'zod';

const MAX_URL = 2000;

/**
 * Schema of a server's base address; paths that are added begin with a slash. Core decides which hosts may be
 * reached.
 */
export function serverUrl(zod: typeof z) {
  return zod
    .url({ protocol: /^https?$/, error: 'must be an address such as https://push.example.com' })
    .max(MAX_URL)
    .refine(url => /^[^@?#]*$/.test(url), 'must be an address alone, without name, password, ? or #')
    .transform(url => url.replace(/(?<!\/)\/+$/, ''));
}

/** Schema of a text that can be a header's value, without line breaks. */
export function secretToken(zod: typeof z) {
  return zod
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{1,1000}$/, 'must be letters, digits and signs without spaces')
    .meta({ secret: true });
}
