import { outcomeOf, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { ListenMetrics } from '../../runtime/metrics.ts';
import { CLOSE } from '../protocol.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import type { Send } from '../thread.ts';
import { type Connection, Refusal } from './parameters.ts';

/** Reports the states of all recognisers to the client as if there were one. */
export interface Service {
  /** Sends `ready` once every recogniser has really answered. Throws a `Refusal` where one does not. */
  open(recognisers: readonly Recogniser[]): Promise<void>;
  /** A channel's recogniser was lost and is being reopened. */
  lost(channel: number, code: string): void;
  back(channel: number, provider: string): void;
  /** No recogniser is left: tells the client, and returns what ends the connection. */
  failed(thrown: unknown, provider: string | null): Error;
}

interface ServiceOptions {
  connection: Connection;
  metrics: Pick<ListenMetrics, 'lost' | 'utterance'>;
  send: Send;
  signal: AbortSignal;
  log: Log;
}

export function createService({ connection, metrics, send, signal, log }: ServiceOptions): Service {
  /** Channels without a recogniser. */
  const missing = new Set<number>();
  let refusal: Refusal | null = null;

  function tellReady(provider: string) {
    const wish = connection.sttService;
    const fallback = wish !== null && wish !== provider ? { reason: `fallback_from_${wish}` } : {};
    send({ type: 'service_status', status: 'ready', status_text: 'Ready', provider, ...fallback });
  }

  async function open(recognisers: readonly Recogniser[]) {
    if (connection.customStt) return send({ type: 'service_status', status: 'ready', status_text: 'Ready' });
    send({ type: 'service_status', status: 'stt_initiating', status_text: 'Recogniser starting' });
    const [provider = ''] = await Promise.all(
      recognisers.map(recogniser =>
        recogniser.open().catch(error => {
          throw failed(error, recogniser.provider);
        }),
      ),
    );
    tellReady(provider);
  }

  function failed(thrown: unknown, provider: string | null): Error {
    if (signal.aborted) return signal.reason;
    if (refusal) return refusal;
    if (thrown instanceof Refusal) return thrown;
    const error = toAppError(thrown, 'upstream_error');
    const { code, message, retryable } = error;
    if (code === 'config_error') log.warn({ provider }, `a live connection was refused: ${message}`);
    else log.error({ err: error }, 'no recogniser is left for this connection');
    const outcome = outcomeOf(error);
    metrics.utterance(outcome);
    send({
      type: 'service_status',
      status: 'stt_failed',
      status_text: message,
      outcome,
      provider,
      retryable,
      reason: message,
    });
    refusal = new Refusal(CLOSE.failed, 'stt_failed');
    return refusal;
  }

  return {
    open,
    lost(channel, code) {
      metrics.lost();
      if (missing.size === 0)
        send({
          type: 'service_status',
          status: 'stt_initiating',
          status_text: 'Recogniser lost; starting again',
          reason: code,
        });

      missing.add(channel);
    },
    back(channel, provider) {
      missing.delete(channel);
      if (missing.size === 0) tellReady(provider);
    },
    failed,
  };
}
