/** Carries out what a webhook's receiver requests in its response. */

import type { Delivery } from '../contract/model.ts';
import type { WebhookAnswer, WebhookType } from '../contract/plugin.ts';
import type { Log } from '../runtime/log.ts';
import type { WebhookTypes } from './events.ts';
import type { Sent } from './targets.ts';

/** Request in a webhook's response. */
export interface Answered {
  /** App of the webhook; null: the user's own webhook. */
  appId: string | null;
  userId: string;
  conversationId: string;
  answer: Exclude<WebhookAnswer, { ignored: string }>;
}

/** Reads the response to a delivery whose subject is a conversation. Returns at once. */
export type Hear = (delivery: Delivery, sent: Pick<Sent, 'body'>) => void;

/** Triggers about one conversation: its id is the subject of the delivery. */
const HEARD: readonly WebhookType['trigger'][] = ['segments', 'conversation'];

export function createHear({
  webhooks,
  answered,
  log,
}: {
  webhooks: WebhookTypes;
  answered(answer: Answered): Promise<unknown>;
  log: Log;
}): Hear {
  function read({ type }: Delivery, body: Uint8Array): WebhookAnswer | null {
    try {
      const webhook = webhooks().find(each => each.type === type && HEARD.includes(each.trigger));
      return webhook?.answer?.(JSON.parse(new TextDecoder().decode(body))) ?? null;
    } catch {
      return null; // not JSON, so it requests nothing
    }
  }

  return (delivery, { body }) => {
    const answer = body && body.length > 0 ? read(delivery, body) : null;
    if (!answer) return;
    const { userId, appId, targetId, type, subject: conversationId } = delivery;
    if ('ignored' in answer) {
      log.info({ hook: targetId, why: answer.ignored }, 'the answer of a webhook was ignored');
      return;
    }
    answered({ appId, userId, conversationId, answer }).catch(error =>
      log.warn({ err: error, type }, 'the answer of a webhook could not be followed'),
    );
  };
}
