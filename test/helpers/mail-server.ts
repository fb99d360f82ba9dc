import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

const TLS = new URL('../fixtures/tls/', import.meta.url);
/** Self-signed certificate of `localhost`. */
export const CERTIFICATE = readFileSync(new URL('certificate.pem', TLS), 'utf8');
const KEY = readFileSync(new URL('key.pem', TLS), 'utf8');

interface Arrived {
  from: string;
  to: string[];
  /** The connection was encrypted. */
  isSecure: boolean;
  raw: string;
  mail: Email;
}

/** A real SMTP server with the account `user`, `password`. */
export async function startMailServer(options: SMTPServerOptions = {}) {
  const arrived: Arrived[] = [];
  let refusal: { step: 'recipient' | 'data'; code: number; words: string } | null = null;

  /** Refuses one step once, with `code` and `words`. */
  function refuse(step: 'recipient' | 'data', code: number, words: string): void {
    refusal = { step, code, words };
  }
  function take(step: 'recipient' | 'data'): Error | null {
    if (refusal?.step !== step) return null;
    const error = Object.assign(new Error(refusal.words), { responseCode: refusal.code });
    refusal = null;
    return error;
  }

  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: true, // otherwise it puts its own words before these
    key: KEY,
    cert: CERTIFICATE,
    closeTimeout: 1,
    onAuth({ username, password }, _session, done) {
      if (username === 'user' && password === 'password') done(null, { user: username });
      else done(new Error('Invalid username or password'));
    },
    onRcptTo: (_address, _session, done) => done(take('recipient')),
    onData(stream, { envelope, secure }, done) {
      buffer(stream)
        .then(async raw => {
          const error = take('data');
          if (error) return done(error);
          const mail = await PostalMime.parse(raw);
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
          const to = envelope.rcptTo.map(({ address }) => address);
          arrived.push({ from, to, isSecure: secure, raw: raw.toString(), mail });
          done();
        })
        .catch(done);
    },
    ...options,
  });
  server.on('error', () => undefined); // clients that break off
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    arrived,
    refuse,
    close: () => new Promise<void>(resolve => void server.close(resolve)),
  };
}
