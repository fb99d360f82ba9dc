/** Requirements for every webhook type, as plain checks that throw. */
import assert from 'node:assert/strict';
import type { Conversation, Segment } from '../../../core/contract/model.ts';
import type {
  WebhookAnswer,
  WebhookEvent,
  WebhookRequest,
  WebhookType,
} from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface WebhookSubject {
  webhook: WebhookType;
}

export type WebhookCheck = SuiteCheck<WebhookSubject>;

export const webhookChecks: readonly WebhookCheck[] = [
  { title: 'has a type and aliases that are valid in addresses', run: isNamed },
  { title: 'renders one request for an event, synchronously', isBasis: true, run: renders },
  { title: 'renders different events differently', run: tellsApart },
  { title: 'renders the same event the same way, and changes nothing', run: isPure },
  { title: 'returns nothing that changes later', run: copies },
  { title: 'accepts events with few fields', run: takesLittle },
  { title: 'accepts any text, also a long one', run: takesMuch },
  { title: 'accepts any response of a receiver', run: readsAnything },
];

const NAME = /^[a-z][a-z0-9_]{0,49}$/;
/** Longest query; beyond that it would carry content rather than identify an event. */
const MAX_QUERY = 2000;
const MAX_MESSAGE = 4000;
const ODDITIES = [
  '\u0000\u001b[31m',
  '\ud800 alone',
  '<script>&amp;</script>',
  '`*_~|{{x}}%s',
  '🧑‍🚀שלום\u202e',
  '\u2028',
];

async function isNamed({ webhook }: WebhookSubject): Promise<void> {
  const names = [webhook.type, ...(webhook.aliases ?? [])];
  for (const name of names)
    assert.match(name, NAME, `${name} does not consist of lower-case letters, digits and _`);
  assert.equal(new Set(names).size, names.length, 'two of its names are the same');
}

async function renders({ webhook }: WebhookSubject): Promise<void> {
  const request = render(webhook, eventOf(webhook.trigger, 'one'));
  assert.ok(request, 'render returned null for an event in which everything is known');
}

async function tellsApart({ webhook }: WebhookSubject): Promise<void> {
  const [one, other] = ['one', 'other'].map(name => render(webhook, eventOf(webhook.trigger, name)));
  assert.notDeepEqual(one, other, 'it renders two different events the same way');
}

async function isPure({ webhook }: WebhookSubject): Promise<void> {
  const event = frozen(eventOf(webhook.trigger, 'one'));
  const first = render(webhook, event);
  render(webhook, eventOf(webhook.trigger, 'other'));
  assert.deepEqual(render(webhook, event), first, 'it renders the same event differently the second time');
  assert.deepEqual(event, eventOf(webhook.trigger, 'one'), 'it changed the event');
}

async function copies({ webhook }: WebhookSubject): Promise<void> {
  const event = eventOf(webhook.trigger, 'one');
  const request = render(webhook, event);
  const kept = structuredClone(request);
  if (event.trigger === 'audio') event.pcm.fill(0); // core reuses its buffer
  assert.deepEqual(
    request,
    kept,
    'its request changed when the event was changed afterwards; copy what it contains',
  );
}

async function takesLittle({ webhook }: WebhookSubject): Promise<void> {
  for (const event of littleOf(webhook.trigger)) render(webhook, event);
}

async function takesMuch({ webhook }: WebhookSubject): Promise<void> {
  for (const text of [...ODDITIES, 'x'.repeat(200_000), '<&>'.repeat(70_000)]) {
    render(webhook, eventOf(webhook.trigger, 'one', text));
  }
}

async function readsAnything({ webhook }: WebhookSubject): Promise<void> {
  for (const json of ANSWERS) {
    const before = structuredClone(json);
    const answer = webhook.answer?.(json) ?? null;
    assert.ok(!(answer instanceof Promise), 'its answer is a promise');
    if (answer) assertAnswer(answer, json);
    assert.deepEqual(json, before, 'it changed the answer');
    assert.deepEqual(
      webhook.answer?.(json) ?? null,
      answer,
      'it interprets the same answer differently the second time',
    );
  }
}

// ── what comes of it ────────────────────────────────────────────────────────────────────────────────────────────

function render(webhook: WebhookType, event: WebhookEvent): WebhookRequest | null {
  const request: unknown = webhook.render(event);
  if (request === null) return null;
  assert.ok(
    typeof request === 'object' && request,
    `render returned ${typeof request}, neither a request nor null`,
  );
  assert.ok(
    !(request instanceof Promise),
    'render returned a promise; it has to return the request, or null, at once',
  );
  const { query, contentType, body } = request as WebhookRequest; // checked below
  assert.equal(Object.getPrototypeOf(Object(query)), Object.prototype, 'its query is not a plain object');
  for (const [name, value] of Object.entries(query))
    assert.equal(typeof value, 'string', `the query parameter ${name} is not a string`);
  assert.ok(
    new URLSearchParams(query).toString().length <= MAX_QUERY,
    'its query has more than 2,000 characters',
  );
  assert.match(
    String(contentType),
    /^[\w.+-]+\/[\w.+-]+(; ?[\w-]+=[\w-]+)*$/,
    `its contentType is ${contentType}, which is not a media type such as application/json`,
  );
  assert.ok(
    typeof body === 'string' || body instanceof Uint8Array,
    `its body is of type ${typeof body}; it has to be a string, as of JSON.stringify, or a Uint8Array`,
  );
  if (/\bjson\b/.test(contentType)) assertJson(body);
  return request as WebhookRequest;
}

function assertJson(body: string | Uint8Array): void {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  assert.doesNotThrow(() => JSON.parse(text), 'its body is not valid JSON');
}

function assertAnswer(answer: WebhookAnswer, json: unknown): void {
  const read = `, of ${JSON.stringify(json).slice(0, 100)}`;
  if ('ignored' in answer) assertText(answer.ignored, MAX_MESSAGE, `the reason${read}`);
  else if ('message' in answer) assertText(answer.message, MAX_MESSAGE, `the message${read}`);
  else assertPrompt(answer, read);
}

function assertPrompt(answer: Extract<WebhookAnswer, { prompt: string }>, read: string): void {
  assertText(answer.prompt, 64 * 1024, `the prompt${read}`);
  assert.ok(Array.isArray(answer.params), `its params are not a list${read}`);
  for (const param of answer.params) assertText(param, 64 * 1024, `a param${read}`);
  const isRecord = typeof answer.context === 'object' && !Array.isArray(answer.context);
  assert.ok(isRecord, `its context is not an object${read}`);
}

function assertText(text: unknown, max: number, what: string): void {
  assert.equal(typeof text, 'string', `${what} is not a string`);
  assert.ok(String(text).trim() !== '', `${what} is empty`);
  assert.ok(String(text).length <= max, `${what} has more than ${max} characters`);
}

// ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────

const AT = Date.UTC(2026, 10, 2, 12);
const OWNER = '018f2b5e-7a00-7000-8000-000000000001';

/**
 * Creates an event with every value known.
 * @param name part of its ids
 */
function eventOf(trigger: WebhookEvent['trigger'], name: string, text = `What ${name} says`): WebhookEvent {
  const conversation = conversationOf(name, text);
  const conversations = [conversation];
  const actionItems = [{ ...ITEM, id: name, description: text, conversationId: conversation.id }];
  const wire = {
    id: name,
    created_at: new Date(AT).toISOString(),
    source: 'omi',
    structured: { title: text, overview: text, action_items: [{ description: text }] },
    transcript_segments: [{ id: name, text }],
  };
  const events: { [T in WebhookEvent['trigger']]: Extract<WebhookEvent, { trigger: T }> } = {
    segments: {
      trigger: 'segments',
      userId: OWNER,
      conversationId: conversation.id,
      segments: [segmentOf(name, text), { ...segmentOf(`${name} 2`, text), isUser: false, personId: 'p1' }],
      wire: [name, `${name} 2`].map(id => ({ id, text, speaker: 'SPEAKER_00', is_user: id === name })),
    },
    audio: {
      trigger: 'audio',
      userId: OWNER,
      sampleRate: 16000,
      pcm: Int16Array.from([...name].map(letter => -(letter.codePointAt(0) ?? 0))),
    },
    conversation: { trigger: 'conversation', userId: OWNER, conversation, wire },
    day: {
      trigger: 'day',
      userId: OWNER,
      day: '2026-11-02',
      timeZone: 'Europe/Berlin',
      summary: text,
      conversations,
      actionItems,
      wire: { day: '2026-11-02', summary: text, conversations: [wire] },
    },
    device: {
      trigger: 'device',
      userId: OWNER,
      deviceId: name,
      kind: 'connected',
      wire: {
        event: 'connected',
        at: new Date(AT).toISOString(),
        button: null,
        device: { id: name, name: text },
      },
    },
  };
  return events[trigger];
}

/** Events with unknown or missing values. */
function littleOf(trigger: WebhookEvent['trigger']): WebhookEvent[] {
  const bare = conversationOf('bare', '');
  const conversation: Conversation = {
    ...bare,
    startedAt: null,
    finishedAt: null,
    language: null,
    deviceId: null,
    folderId: null,
    geolocation: null,
    structured: { ...bare.structured, emoji: '', actionItems: [], events: [] },
  };
  const about = { userId: OWNER, wire: {} };
  const events: WebhookEvent[] = [
    { userId: OWNER, trigger: 'segments', conversationId: 'bare', segments: [], wire: [] },
    {
      userId: OWNER,
      trigger: 'segments',
      conversationId: 'bare',
      segments: [segmentOf('bare', '')],
      wire: [{}],
    },
    { ...about, trigger: 'audio', sampleRate: 8000, pcm: new Int16Array() },
    { ...about, trigger: 'conversation', conversation },
    { ...about, trigger: 'conversation', conversation: { ...conversation, discarded: true } },
    {
      ...about,
      trigger: 'day',
      day: '2026-11-02',
      timeZone: 'UTC',
      summary: '',
      conversations: [],
      actionItems: [],
    },
    { ...about, trigger: 'device', deviceId: '', kind: 'changed' },
  ];
  return events.filter(event => event.trigger === trigger);
}

const ITEM = {
  userId: OWNER,
  completed: false,
  createdAt: AT,
  updatedAt: AT,
  dueAt: AT + 3_600_000,
  completedAt: null,
  segmentId: null,
  locked: false,
};

function conversationOf(name: string, text: string): Conversation {
  return {
    id: name,
    userId: OWNER,
    status: 'completed',
    createdAt: AT,
    startedAt: AT,
    finishedAt: AT + 90_500,
    structured: {
      title: text,
      overview: text,
      category: 'work',
      emoji: '💼',
      actionItems: [
        { description: text, completed: false, dueAt: AT },
        { description: text, completed: true, dueAt: null },
      ],
      events: [{ title: text, startAt: AT, description: text, duration: 30, created: false }],
    },
    language: 'en',
    source: 'omi',
    deviceId: 'd1',
    folderId: 'f1',
    geolocation: { latitude: 1, longitude: 2, address: null, googlePlaceId: null, locationType: null },
    discarded: false,
    starred: false,
    locked: false,
    timeoutMs: 120_000,
    lastActivityAt: AT,
  };
}

function segmentOf(id: string, text: string): Segment {
  return {
    id,
    userId: OWNER,
    conversationId: id,
    text,
    start: 0.5,
    end: 2.25,
    speaker: 'SPEAKER_00',
    speakerId: 0,
    isUser: true,
    personId: null,
    sttProvider: 'x',
    language: null,
    translations: null,
    profileCompared: false,
  };
}

/** Freezes a value so that writing into it throws. Arrays of samples cannot be frozen. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Values that `JSON.parse` can return. */
const ODD_VALUES: unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1e308,
    '',
    ' ',
    'four',
    'a longer text',
    [],
    {},
    [[]],
    [null],
    { a: null },
    ['x', 1],
  ],
  ...['x'.repeat(50_000), '😀'.repeat(5000), '\ud800', '\u0000\u0000\u0000\u0000\u0000', deep(500)],
  JSON.parse('{"__proto__":{"message":"from afar"},"constructor":1,"toString":2}'),
];
const PROMPT = 'Say hello to {{user_name}}';

const ANSWERS: unknown[] = [
  ...ODD_VALUES,
  ...ODD_VALUES.flatMap(value => [
    { session_id: value },
    { message: value },
    { message: value, notification: value },
    { notification: value },
    { notification: { prompt: value } },
    { notification: { prompt: PROMPT, params: value, context: value } },
    { notification: { prompt: PROMPT, params: [value, value] } },
    { notification: [{ prompt: PROMPT }, value] },
  ]),
  { notification: { prompt: PROMPT, params: Array(5000).fill('user_name') } },
];

function deep(levels: number): unknown {
  return levels === 0 ? 'deep' : [deep(levels - 1)];
}
