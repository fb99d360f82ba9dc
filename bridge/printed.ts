import { Console } from 'node:console';
import { Writable } from 'node:stream';
import type { Logger } from 'pino';

/**
 * Sends the output of the Bluetooth libraries to the log. Standard output is for the bridge's own lines, and the libraries print
 * some for every packet of unknown devices.
 */
export function divertPrinting(log: Logger): void {
  globalThis.console = new Console(
    new Writable({
      write(text, _encoding, done) {
        log.debug({ printed: String(text).trim() }, 'a Bluetooth library printed');
        done();
      },
    }),
  );
}
