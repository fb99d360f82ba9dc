import test from 'ava';
import type {
  WebhookAnswer,
  WebhookEvent,
  WebhookRequest,
  WebhookType,
} from '../../../../core/contract/plugin.ts';
import { webhookChecks } from '../../../../plugins/kit/suites/webhook.ts';

type Fault =
  | 'has a name that no address can hold'
  | 'has a name twice'
  | 'makes nothing of anything'
  | 'makes a promise'
  | 'makes text'
  | 'has numbers in its query'
  | 'has too long a query'
  | 'has an odd type'
  | 'has an object for its body'
  | 'says JSON of what is none'
  | 'says the same each time'
  | 'counts'
  | 'writes into the event'
  | 'writes into the samples'
  | 'gives its buffer away'
  | 'needs all to be known'
  | 'needs short texts'
  | 'needs an object for an answer'
  | 'takes any message'
  | 'takes any params'
  | 'takes any context'
  | 'writes into the answer';

const JSON_TYPE = 'application/json';

/** A webhook type of each kind that there is; with `fault`, wrong in one way. */
function plain(trigger: WebhookType['trigger'], fault?: Fault): WebhookType {
  let count = 0;

  function render(event: WebhookEvent): WebhookRequest | null {
    if (fault === 'makes nothing of anything') return null;
    if (fault === 'says the same each time') return { query: {}, contentType: JSON_TYPE, body: '{}' };
    if (event.trigger === 'audio') return renderAudio(event);
    const { wire } = event as Extract<WebhookEvent, { trigger: 'conversation' }>;
    const body = JSON.stringify(event.trigger === 'segments' ? event.segments : wire);
    if (fault === 'needs all to be known' && body.length < 10) throw new Error('unknown');
    if (fault === 'needs short texts' && body.length > 100_000) throw new Error('long');
    if (fault === 'writes into the event') Object.assign(event, { seen: true });
    const request = { query: { uid: event.userId }, contentType: JSON_TYPE, body };
    return { ...request, ...(faulty(event) as Partial<WebhookRequest>) };
  }

  function renderAudio({ pcm }: Extract<WebhookEvent, { trigger: 'audio' }>): WebhookRequest {
    if (fault === 'writes into the samples') pcm.reverse();
    const bytes = new Uint8Array(pcm.buffer);
    const body = fault === 'gives its buffer away' ? bytes : bytes.slice();
    return { query: {}, contentType: 'application/octet-stream', body };
  }

  function faulty(event: WebhookEvent): object {
    count += 1;
    const faults: { [F in Fault]?: object } = {
      'has numbers in its query': { query: { at: 1 } },
      'has too long a query': { query: { text: 'x'.repeat(3000) } },
      'has an odd type': { contentType: 'json' },
      'has an object for its body': { body: event },
      'says JSON of what is none': { body: 'ok' },
      counts: { body: JSON.stringify({ count, user: event.userId }) },
    };
    return (fault && faults[fault]) ?? {};
  }

  function answer(json: unknown): WebhookAnswer | null {
    if (fault === 'needs an object for an answer' && json === null) throw new TypeError('null');
    if (fault === 'writes into the answer' && Array.isArray(json)) json.push('seen');
    const { message, notification } = Object(json);
    const { prompt, params, context } = Object(notification);
    if (typeof prompt === 'string' && prompt.length > 20)
      return {
        prompt,
        params: fault === 'takes any params' ? params : ['user_name'],
        context: fault === 'takes any context' ? context : null,
      };
    if (fault === 'takes any message' && message !== undefined) return { message };
    return typeof message === 'string' && message.trim().length > 0
      ? { message: message.slice(0, 4000) }
      : null;
  }

  return {
    type: fault === 'has a name that no address can hold' ? 'a/b' : 'plain',
    aliases: fault === 'has a name twice' ? ['plain'] : ['bare'],
    trigger,
    render: event => {
      if (fault === 'makes a promise') return Promise.resolve(render(event)) as never;
      return fault === 'makes text' ? ('{}' as never) : render(event);
    },
    answer,
  };
}

const NAMED = 'has a type and aliases that are valid in addresses';
const REQUEST = 'renders one request for an event, synchronously';
const PURE = 'renders the same event the same way, and changes nothing';
const READS = 'accepts any response of a receiver';

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'has a name that no address can hold': NAMED,
  'has a name twice': NAMED,
  'makes nothing of anything': REQUEST,
  'makes a promise': REQUEST,
  'makes text': REQUEST,
  'has numbers in its query': REQUEST,
  'has too long a query': REQUEST,
  'has an odd type': REQUEST,
  'has an object for its body': REQUEST,
  'says JSON of what is none': REQUEST,
  'says the same each time': 'renders different events differently',
  counts: PURE,
  'writes into the event': PURE,
  'writes into the samples': PURE,
  'gives its buffer away': 'returns nothing that changes later',
  'needs all to be known': 'accepts events with few fields',
  'needs short texts': 'accepts any text, also a long one',
  'needs an object for an answer': READS,
  'takes any message': READS,
  'takes any params': READS,
  'takes any context': READS,
  'writes into the answer': READS,
};

for (const trigger of ['segments', 'audio', 'conversation', 'day'] as const) {
  test(`a webhook type about ${trigger} without fault passes every check`, async t => {
    for (const check of webhookChecks)
      await t.notThrowsAsync(check.run({ webhook: plain(trigger) }), check.title);
  });
}

for (const [fault, title] of Object.entries(CAUGHT) as [Fault, string][]) {
  test(`a webhook type that ${fault} is caught`, async t => {
    const check = webhookChecks.find(each => each.title === title);
    const trigger = /samples|buffer/.test(fault) ? 'audio' : 'conversation';
    const error = await t.throwsAsync(async () => check?.run({ webhook: plain(trigger, fault) }));
    t.not(error?.name, 'ReferenceError');
  });
}
