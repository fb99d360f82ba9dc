import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { AppError } from '../../runtime/errors.ts';

/** Names that nobody can register, so an attacker's page cannot make its own name resolve to this server. */
const PRIVATE_NAME = /^[^.]+$|\.(?:localhost|local|lan|home|internal|home\.arpa)$/;

/**
 * Refuses, with `forbidden`, a request that a foreign web page may have caused a browser to send (DNS rebinding,
 * cross-origin calls): Model Context Protocol, 2025-06-18, transports, security warning.
 * @param origins pages that may call, as browsers send them; `*`: all
 */
export function createKnownHost({
  publicUrl,
  origins,
}: {
  publicUrl: string | undefined;
  origins: readonly string[];
}): (request: IncomingMessage) => void {
  const own = publicUrl === undefined ? null : new URL(publicUrl);
  const allowed: ReadonlySet<string> = new Set(own ? [...origins, own.origin] : origins);

  function isOwn(host: string): boolean {
    const name = nameOf(host);
    if (name === null) return false;
    return isIP(name) !== 0 || PRIVATE_NAME.test(name) || name === own?.hostname;
  }

  return ({ headers: { host = '', origin } }) => {
    if (!isOwn(host))
      throw new AppError(
        'forbidden',
        'The Host header names an address that this server does not know: set publicUrl in the configuration to the address that you use',
      );
    if (origin === undefined || allowed.has('*') || allowed.has(origin)) return;
    if (origin !== `http://${host}` && origin !== `https://${host}`)
      throw new AppError(
        'forbidden',
        'Requests from this origin are not allowed: add it to cors.origins in the configuration',
      );
  };
}

/** Returns the host without port and brackets, in lower case; null where it is invalid. */
function nameOf(host: string): string | null {
  try {
    return new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '') || null;
  } catch {
    return null;
  }
}
