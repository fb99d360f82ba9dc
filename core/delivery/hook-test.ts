import type { Clock, Hook } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import { limitTests } from '../domain/test-limit.ts';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { deliveryTo, render, type WebhookTypes } from './events.ts';
import { sampleEvent } from './sample-events.ts';
import type { Delivery } from './service.ts';
import type { Sent } from './targets.ts';

/** The receiver's response to a test; `error` null: it accepted it. */
type Tested = Pick<Sent, 'status' | 'error' | 'answer'> & { tookMs: number };

export type TestHook = ReturnType<typeof createTestHook>;

/**
 * Sends a webhook one sample event of its type, signed like any other, also while it is switched off. It is not
 * retried or logged as a delivery, and requests in the response are ignored.
 */
export function createTestHook({
  storage,
  clock,
  log,
  webhooks,
  delivery: { targets },
}: {
  storage: Storage;
  clock: Clock;
  log: Log;
  webhooks: WebhookTypes;
  delivery: Pick<Delivery, 'targets'>;
}) {
  /** `unavailable` while the plugin of its type does not run; `rate_limited`. */
  return async (hook: Hook): Promise<Tested> => {
    const webhook = webhooks().find(({ type }) => type === hook.type);
    if (!webhook) throw new AppError('unavailable', `The plugin of the webhook ${hook.type} does not work`);
    await limitTests({ storage, clock }, 'webhook', hook.userId);
    const at = clock.now();
    const event = sampleEvent(webhook.trigger, hook, at);
    const request = render(webhook, event, log);
    if (!request)
      throw new AppError(
        'unavailable',
        `The webhook type ${hook.type} rendered no request for the sample event; if it failed, the log says why`,
      );
    const message = { ...deliveryTo(hook, event, request, at), body: request.body };
    const sent = await targets.ofHook(hook).send(message, new AbortController().signal);
    return { status: sent.status, error: sent.error, answer: sent.answer, tookMs: clock.now() - at };
  };
}
