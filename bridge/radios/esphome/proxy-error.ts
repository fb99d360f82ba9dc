import type { RadioState } from '../../radio.ts';

/** Reason why a proxy cannot be used; `state`: the resulting state of the radio. */
export class ProxyError extends Error {
  readonly state: RadioState['name'];

  constructor(state: RadioState['name'], message: string) {
    super(message);
    this.state = state;
  }
}

/** Converts any other error to one with the state `off`. */
export function asProxyError(error: unknown): ProxyError {
  if (error instanceof ProxyError) return error;
  return new ProxyError('off', error instanceof Error ? error.message : String(error));
}
