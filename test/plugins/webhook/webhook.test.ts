import test from 'ava';
import type { Conversation, Segment } from '../../../core/contract/model.ts';
import type { WebhookEvent, WebhookType } from '../../../core/contract/plugin.ts';
import { segmentJson } from '../../../core/domain/conversations/conversation-json.ts';
import { webhookChecks } from '../../../plugins/kit/suites/webhook.ts';
import audioBytes from '../../../plugins/webhook/audio-bytes/index.ts';
import conversationCreated from '../../../plugins/webhook/conversation-created/index.ts';
import daySummary from '../../../plugins/webhook/day-summary/index.ts';
import deviceEvent from '../../../plugins/webhook/device-event/index.ts';
import homeAssistant from '../../../plugins/webhook/home-assistant/index.ts';
import slack from '../../../plugins/webhook/slack/index.ts';
import transcriptProcessed from '../../../plugins/webhook/transcript-processed/index.ts';

const PLUGINS = [
  transcriptProcessed,
  audioBytes,
  conversationCreated,
  daySummary,
  deviceEvent,
  homeAssistant,
  slack,
];

for (const plugin of PLUGINS) {
  for (const check of webhookChecks) {
    test(`${plugin.name} ${check.title}`, async t => {
      await t.notThrowsAsync(check.run(plugin.setup()));
    });
  }
}

test('each is registered under the name and the aliases that existing clients use', t => {
  const types = PLUGINS.map(plugin => plugin.setup().webhook as WebhookType);
  t.deepEqual(
    types.map(({ type, aliases = [], trigger }) => [type, ...aliases, trigger]),
    [
      ['transcript_processed', 'realtime_transcript', 'segments'],
      ['audio_bytes', 'audio'],
      ['memory_created', 'memory_creation', 'conversation'],
      ['day_summary', 'day'],
      ['device_event', 'device'],
      ['home_assistant', 'conversation'],
      ['slack', 'conversation'],
    ],
  );
});

const AT = Date.UTC(2026, 10, 2, 12);
const SEGMENT: Segment = {
  id: 's1',
  userId: 'u1',
  conversationId: 'c1',
  text: 'Water the plants tomorrow',
  start: 0.5,
  end: 2.25,
  speaker: 'SPEAKER_01',
  speakerId: 1,
  isUser: true,
  personId: null,
  sttProvider: 'words',
  language: null,
  translations: null,
  profileCompared: false,
};

/** An ended conversation; `structured` overrides some of its values. */
function conversationEvent(
  structured: Partial<Conversation['structured']> = {},
  rest: Partial<Conversation> = {},
): WebhookEvent {
  const conversation: Conversation = {
    id: 'c1',
    userId: 'u1',
    status: 'completed',
    createdAt: AT,
    startedAt: AT,
    finishedAt: AT + 90_500,
    structured: {
      title: 'Plants',
      overview: 'They have to be watered.',
      category: 'home',
      emoji: '🪴',
      actionItems: [{ description: 'Water the plants', completed: false, dueAt: AT + 3_600_000 }],
      events: [],
      ...structured,
    },
    language: 'en',
    source: 'omi',
    deviceId: null,
    folderId: null,
    geolocation: null,
    discarded: false,
    starred: false,
    locked: false,
    timeoutMs: 120_000,
    lastActivityAt: AT,
    ...rest,
  };
  return { trigger: 'conversation', userId: 'u1', conversation, wire: { id: 'c1', structured: {} } };
}

function bodyOf(webhook: Pick<WebhookType, 'render'>, event: WebhookEvent) {
  const request = webhook.render(event);
  return request && { ...request, body: JSON.parse(String(request.body)) };
}

test('transcript_processed has the session and the speakers, in the documented format', t => {
  const { webhook } = transcriptProcessed.setup();
  const wire = [segmentJson(SEGMENT, 'Anna')];
  const event = {
    trigger: 'segments',
    userId: 'u1',
    conversationId: 'c1',
    segments: [SEGMENT],
    wire,
  } as const;
  t.deepEqual(bodyOf(webhook, event), {
    query: { session_id: 'c1', uid: 'u1' },
    contentType: 'application/json',
    body: {
      session_id: 'c1',
      uid: 'u1',
      segments: [
        {
          id: 's1',
          text: 'Water the plants tomorrow',
          speaker: 'SPEAKER_01',
          speaker_id: 1,
          speaker_name: 'Anna',
          is_user: true,
          person_id: null,
          start: 0.5,
          end: 2.25,
        },
      ],
    },
  });
  t.is(webhook.render({ ...event, segments: [], wire: [] }), null);
});

test('audio_bytes has the raw samples, little-endian', t => {
  const { webhook } = audioBytes.setup();
  const pcm = Int16Array.from([0, 1, -1, 258, -32768, 32767]);
  const request = webhook.render({ trigger: 'audio', userId: 'u1', sampleRate: 8000, pcm });
  t.deepEqual(request, {
    query: { sample_rate: '8000', uid: 'u1' },
    contentType: 'application/octet-stream',
    body: Uint8Array.of(0, 0, 1, 0, 255, 255, 2, 1, 0, 128, 255, 127),
  });
  t.is(webhook.render({ trigger: 'audio', userId: 'u1', sampleRate: 8000, pcm: pcm.subarray(0, 0) }), null);
});

test("memory_created and day_summary equal the API's responses", t => {
  t.deepEqual(bodyOf(conversationCreated.setup().webhook, conversationEvent()), {
    query: { uid: 'u1' },
    contentType: 'application/json',
    body: { id: 'c1', structured: {} },
  });
  const day: WebhookEvent = {
    ...{ trigger: 'day' as const, userId: 'u1', day: '2026-11-02', timeZone: 'UTC', summary: 'Plants.' },
    ...{ conversations: [], actionItems: [], wire: { day: '2026-11-02', summary: 'Plants.' } },
  };
  t.deepEqual(bodyOf(daySummary.setup().webhook, day), {
    query: { uid: 'u1' },
    contentType: 'application/json',
    body: { day: '2026-11-02', summary: 'Plants.' },
  });
});

test('a discarded conversation is not sent', t => {
  for (const plugin of [conversationCreated, homeAssistant, slack])
    t.is(plugin.setup().webhook.render(conversationEvent({}, { discarded: true })), null);
});

test('home_assistant is flat, for templates', t => {
  const { webhook } = homeAssistant.setup();
  t.deepEqual(bodyOf(webhook, conversationEvent())?.body, {
    event: 'conversation_created',
    conversation_id: 'c1',
    title: 'Plants',
    overview: 'They have to be watered.',
    category: 'home',
    emoji: '🪴',
    language: 'en',
    source: 'omi',
    started_at: '2026-11-02T12:00:00.000Z',
    finished_at: '2026-11-02T12:01:30.500Z',
    duration_s: 90.5,
    action_items: [{ description: 'Water the plants', due_at: '2026-11-02T13:00:00.000Z' }],
  });
  t.like(bodyOf(webhook, conversationEvent({}, { startedAt: null }))?.body, {
    started_at: null,
    duration_s: null,
  });
});

test('slack shows title, summary and tasks', t => {
  const { webhook } = slack.setup();
  t.deepEqual(bodyOf(webhook, conversationEvent())?.body, {
    text: '🪴 Plants',
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: '🪴 Plants' } },
      { type: 'section', text: { type: 'mrkdwn', text: 'They have to be watered.', verbatim: true } },
      { type: 'section', text: { type: 'mrkdwn', text: '• Water the plants', verbatim: true } },
    ],
  });
  const bare = conversationEvent({ title: ' ', overview: '', emoji: '', actionItems: [] });
  t.deepEqual(bodyOf(webhook, bare)?.body, {
    text: 'Conversation',
    blocks: [{ type: 'header', text: { type: 'plain_text', text: 'Conversation' } }],
  });
});

test('transcript text in slack mentions nobody, contains no links, and stays within its limits', t => {
  const { webhook } = slack.setup();
  const said = 'Hey <!channel> & <https://evil.example|your bank>';
  const event = conversationEvent({ title: said, overview: said.repeat(100) });
  const { text, blocks } = bodyOf(webhook, event)?.body ?? {};
  t.is(text, '🪴 Hey &lt;!channel&gt; &amp; &lt;https://evil.example|your bank&gt;');
  const [header, section] = blocks;
  t.true(header.text.text.length <= 150);
  t.true(section.text.text.length <= 3000);
  t.notRegex(section.text.text, /[<>]|&(?!(amp|lt|gt);)/);
  t.true(section.text.text.endsWith('…'));
});

// ── responses of receivers ──────────────────────────────────────────────────────────────────────────────────────────

const PROMPT = 'Tell {{user_name}} about plants';
const SHORT_PROMPT = { ignored: 'its prompt has fewer than 5 characters' };
const SHORT_MESSAGE = { ignored: 'its message has fewer than 5 characters' };

const ANSWERS: [what: string, json: unknown, answer: unknown][] = [
  ['its session alone asks for nothing', { session_id: 'c1' }, null],
  ['an empty object asks for nothing', {}, null],
  ['no object asks for nothing', 'a longer text', null],
  ['null asks for nothing', null, null],
  ['a list asks for nothing', [{ message: 'Water them' }], null],
  ['a message of five characters is told', { message: 'Hello' }, { message: 'Hello' }],
  ['a message is trimmed', { message: ' Hello \n' }, { message: 'Hello' }],
  ['a message of four characters is ignored', { message: 'Hell' }, SHORT_MESSAGE],
  ['emoji count once: four are ignored', { message: '😀😀😀😀' }, SHORT_MESSAGE],
  ['emoji count once: five are told', { message: '😀😀😀😀😀' }, { message: '😀😀😀😀😀' }],
  ['an empty message asks for nothing', { message: ' ' }, null],
  ['a message that is no text asks for nothing', { message: 12345 }, null],
  ['a long message is cut', { message: 'x'.repeat(5000) }, { message: `${'x'.repeat(3999)}…` }],
  ['no emoji is halved', { message: `x${'😀'.repeat(2500)}` }, { message: `x${'😀'.repeat(1999)}…` }],
  [
    'a message comes before a prompt',
    { message: 'Hello', notification: { prompt: PROMPT } },
    { message: 'Hello' },
  ],
  [
    'a prompt comes with its params and context',
    { session_id: 'c1', notification: { prompt: PROMPT, params: ['user_name'], context: { filters: {} } } },
    { prompt: PROMPT, params: ['user_name'], context: { filters: {} } },
  ],
  [
    'a prompt alone has neither',
    { notification: { prompt: PROMPT } },
    { prompt: PROMPT, params: [], context: null },
  ],
  [
    'params that are no texts, or twice there, are left out',
    { notification: { prompt: PROMPT, params: ['user_name', 1, null, ' ', 'user_name', 'user_chat'] } },
    { prompt: PROMPT, params: ['user_name', 'user_chat'], context: null },
  ],
  [
    'params and a context of another sort are none',
    { notification: { prompt: PROMPT, params: 'user_name', context: ['a'] } },
    { prompt: PROMPT, params: [], context: null },
  ],
  ['a prompt of four characters is ignored', { notification: { prompt: 'Hell' } }, SHORT_PROMPT],
  ['a notification without a prompt is ignored', { notification: {} }, SHORT_PROMPT],
  ['a notification of another sort is ignored', { notification: 'Hello there' }, SHORT_PROMPT],
  ['no notification asks for nothing', { notification: null }, null],
  [
    'a prompt without end is ignored',
    { notification: { prompt: 'x'.repeat(10_001) } },
    { ignored: 'its prompt has more than 10000 characters' },
  ],
  ['what is inherited does not count', JSON.parse('{"__proto__":{"message":"Hello"}}'), null],
];

for (const [what, json, answer] of ANSWERS) {
  test(`a receiver's response: ${what}`, t => {
    t.deepEqual<unknown, unknown>(transcriptProcessed.setup().webhook.answer(json), answer);
  });
}
