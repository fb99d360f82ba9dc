import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { LanguageModel, Prompt, VisionModel } from '../../../core/contract/plugin.ts';
import { AppError, type ErrorCode } from '../../../core/runtime/errors.ts';
import { createLog } from '../../../core/runtime/log.ts';
import { llmChecks, visionChecks } from '../../../plugins/kit/suites/llm.ts';
import { createThoughtFilter, jsonIn } from '../../../plugins/llm/openai-llm/answer.ts';
import openai from '../../../plugins/llm/openai-llm/index.ts';
import * as chat from '../../helpers/chat-server.ts';
import { contextOf } from '../stt/context.ts';

const KEY = 'sk-not-to-be-seen';
const SECRET = 'the secret of the person';
const VENDOR = 'the words of the vendor';
const Fruit = z.object({ name: z.string(), weight: z.number().max(10) });
const APPLE = { name: 'apple', weight: 1 };

interface Setup {
  server: chat.ChatServer;
  llm: LanguageModel;
  vision: VisionModel | undefined;
}

async function open(t: ExecutionContext, options: Record<string, unknown> = {}): Promise<Setup> {
  const server = await chat.startChatServer();
  t.teardown(() => server.close());
  return { server, ...(await setUp(t, { baseUrl: server.baseUrl, ...options })) };
}

async function setUp(t: ExecutionContext, options: Record<string, unknown>) {
  const { context, stop } = contextOf();
  t.teardown(stop);
  const parsed = openai.options(z).parse(options);
  const { llm, vision } = await openai.setup({ ...context, options: parsed, dataDir: '' });
  return { llm, vision };
}

function prompt(more: Partial<Prompt> = {}): Prompt {
  return { system: 'Name a fruit.', user: SECRET, signal: new AbortController().signal, ...more };
}

function scripted(...answers: string[]): chat.ChatServer['chat'] {
  return (_, response) => chat.say(response, answers.shift() ?? 'no more');
}

async function pieces(llm: LanguageModel, more: Partial<Prompt> = {}): Promise<string[]> {
  const said: string[] = [];
  for await (const piece of llm.text(prompt(more))) said.push(piece);
  return said;
}

/** Error messages contain no prompts, keys, or vendor messages; nor does the log, except for a code. */
async function failure(t: ExecutionContext, doing: Promise<unknown>): Promise<AppError> {
  const error = await t.throwsAsync(doing, { instanceOf: AppError });
  const lines: string[] = [];
  const log = createLog(
    { level: 'trace', format: 'json' },
    new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }),
  );
  log.error({ err: error }, 'failed');
  for (const unwanted of [KEY, SECRET, VENDOR, 'Name a fruit']) {
    t.false(lines.join('').includes(unwanted), `${unwanted}: ${lines.join('')}`);
  }
  return error ?? new AppError('internal', 'nothing was thrown');
}

for (const check of llmChecks) {
  test(`openai-llm ${check.title}, over a real socket to a server that speaks the protocol`, async t => {
    const { llm } = await open(t);
    await t.notThrowsAsync(check.run({ llm }));
  });
}

for (const check of visionChecks) {
  test(`openai-llm ${check.title}, as a vision model, over a real socket`, async t => {
    const { vision } = await open(t, { visionModel: 'llava' });
    if (vision === undefined) return t.fail('it sees nothing');
    await t.notThrowsAsync(check.run({ vision }));
  });
}

test('openai-llm sends model, key, roles, schema and limits, and images as data', async t => {
  const setup = await open(t, { apiKey: KEY, model: 'mistral', visionModel: 'llava' });
  setup.server.chat = (_, response) => chat.say(response, JSON.stringify(APPLE));
  t.deepEqual(await setup.llm.object(Fruit, prompt({ maxTokens: 77 })), APPLE);
  const bytes = new Uint8Array([1, 2, 3]);
  await setup.vision?.object(Fruit, { ...prompt(), images: [{ bytes, type: 'image/jpeg' }] });

  const [plain, seeing] = setup.server.asked;
  t.is(plain?.model, 'mistral');
  t.is(plain?.max_tokens, 77);
  t.deepEqual(
    plain?.messages.map(({ role }) => role),
    ['system', 'user'],
  );
  t.is(plain?.messages[1]?.content, SECRET, 'what came from anyone is in no order of ours');
  t.is(plain?.response_format?.type, 'json_schema');
  t.deepEqual(plain?.response_format?.json_schema?.schema.required, ['name', 'weight']);
  t.true(String(plain?.messages[0]?.content).includes('"maximum":10'), 'the schema is told in words too');
  t.is(seeing?.model, 'llava');
  const content = seeing?.messages[1]?.content;
  t.is(Array.isArray(content) ? content[1]?.image_url?.url : '', 'data:image/jpeg;base64,AQID');
  t.true(setup.server.requests.every(({ authorization }) => authorization === `Bearer ${KEY}`));
});

const RIGHT = JSON.stringify(APPLE);
const UNDERSTOOD: Record<string, string> = {
  'bare JSON': RIGHT,
  'JSON in a code fence': `Here it is:\n\`\`\`json\n${RIGHT}\n\`\`\`\nAnything else?`,
  'JSON in prose': `Certainly! ${RIGHT} I hope that this helps.`,
  'JSON after reasoning': `<think>\nPerhaps {"name": "pear"}?\n</think>\n\n${RIGHT}`,
  'JSON after reasoning whose start is in the template': `Perhaps {"name": "pear"}?</think>${RIGHT}`,
};
for (const [what, answer] of Object.entries(UNDERSTOOD)) {
  test(`openai-llm reads ${what}`, async t => {
    const { llm, server } = await open(t);
    server.chat = scripted(answer);
    t.deepEqual(await llm.object(Fruit, prompt()), APPLE);
    t.is(server.asked.length, 1);
  });
}

for (const [what, wrong] of Object.entries({
  'no JSON': 'An apple, I think.',
  'JSON with another schema': '{"fruit":"apple"}',
  'a value out of range': '{"name":"melon","weight":40}',
  'truncated JSON': '{"name":"app',
})) {
  test(`openai-llm asks once for a correction of ${what}`, async t => {
    const { llm, server } = await open(t);
    server.chat = scripted(wrong, RIGHT);
    t.deepEqual(await llm.object(Fruit, prompt()), APPLE);
    const messages = server.asked[1]?.messages ?? [];
    t.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'user'],
    );
    t.is(messages[2]?.content, wrong);
    t.regex(String(messages[3]?.content), /does not match/);

    server.chat = scripted(wrong, wrong, RIGHT);
    const error = await failure(t, llm.object(Fruit, prompt()));
    t.is(error.code, 'upstream_error');
    t.is(server.asked.length, 4, 'it is asked no third time');
  });
}

test('openai-llm falls back to plain JSON on a server that rejects schemas, and remembers it', async t => {
  const { llm, server } = await open(t);
  server.chat = ({ response_format }, response) =>
    response_format?.type === 'json_schema'
      ? chat.refuse(response, 400, { error: { message: VENDOR } })
      : chat.say(response, RIGHT);
  await llm.object(Fruit, prompt());
  await llm.object(Fruit, prompt());
  t.deepEqual(
    server.asked.map(({ response_format }) => response_format?.type),
    ['json_schema', 'json_object', 'json_object'],
  );
});

test('openai-llm falls back to instructions on a server that rejects JSON mode, if the format is automatic', async t => {
  const { llm, server } = await open(t);
  server.chat = ({ response_format }, response) =>
    response_format ? chat.refuse(response, 422, {}) : chat.say(response, RIGHT);
  t.deepEqual(await llm.object(Fruit, prompt()), APPLE);

  const strict = await setUp(t, { baseUrl: server.baseUrl, responseFormat: 'json_schema' });
  t.is((await failure(t, strict.llm.object(Fruit, prompt()))).code, 'upstream_error');
});

test('openai-llm streams text as it arrives, without the reasoning before it', async t => {
  const { llm, server } = await open(t);
  const read = Promise.withResolvers<void>();
  server.chat = (_, response) => {
    chat.begin(response);
    chat.delta(response, { reasoning_content: 'hm, hm' });
    for (const content of ['<thi', 'nk>shall I', ' say it?</th', 'ink>\n\n', 'Yes', ', ']) {
      chat.delta(response, { content });
    }
    void read.promise.then(() => {
      chat.delta(response, { content: 'a < b' });
      chat.end(response);
    });
  };
  const said: string[] = [];
  for await (const piece of llm.text(prompt())) {
    said.push(piece);
    if (said.join('') === 'Yes, ') read.resolve(); // the server sends the rest only when this has arrived
  }
  t.is(said.join(''), 'Yes, a < b');
});

test('openai-llm rejects an empty answer, and one with reasoning only', async t => {
  const { llm, server } = await open(t);
  for (const answer of ['<think>I shall say nothing', '<think></think>', '']) {
    server.chat = scripted(answer);
    const error = await failure(t, pieces(llm));
    t.is(error.code, 'upstream_error', answer);
  }
});

const FAILURES: Record<string, { chat: chat.ChatServer['chat']; code: ErrorCode; retryAfter?: number }> = {
  'a server that never starts to answer': { chat: () => undefined, code: 'timeout' },
  'an answer without a first word': { chat: (_, response) => chat.begin(response), code: 'timeout' },
  'an answer that never ends': { chat: (_, response) => endless(response, 20), code: 'timeout' },
  'an answer of more than 8 MiB': { chat: (_, response) => flood(response), code: 'upstream_error' },
  'a connection cut before the answer': {
    chat: (_, response) => void response.destroy(),
    code: 'upstream_error',
  },
  'a connection cut during the answer': {
    chat: (_, response) => {
      chat.begin(response);
      response.write('data: {"choices":[{"index":0,"delta":{"content":"An"}}]}\n\n', () =>
        response.destroy(),
      );
    },
    code: 'upstream_error',
  },
  'an answer without an end': {
    chat: (_, response) => {
      chat.begin(response);
      chat.delta(response, { content: 'An' });
      response.end();
    },
    code: 'upstream_error',
  },
  'an error during the answer': {
    chat: (_, response) => {
      chat.begin(response);
      chat.event(response, { error: { message: VENDOR } });
      response.end();
    },
    code: 'upstream_error',
  },
  'events that are not JSON': {
    chat: (_, response) => {
      chat.begin(response);
      response.end(`data: ${VENDOR}\n\n`);
    },
    code: 'upstream_error',
  },
  'a web page': {
    chat: (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end(`<html>${VENDOR}</html>`),
    code: 'upstream_error',
  },
  'a refusal to answer': {
    chat: (_, response) => {
      chat.begin(response);
      chat.end(response, 'content_filter');
    },
    code: 'upstream_error',
  },
  'a server error': { chat: refusal(500), code: 'upstream_error' },
  'a gateway without a server': { chat: refusal(502), code: 'upstream_error' },
  'a question too long for the model': { chat: refusal(400), code: 'upstream_error' },
  'too many requests': { chat: refusal(429, { 'retry-after': '7' }), code: 'upstream_error', retryAfter: 7 },
  'a retry date in the past': {
    chat: refusal(503, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
    code: 'upstream_error',
    retryAfter: 0,
  },
  'an invalid key': { chat: refusal(401), code: 'config_error' },
  'a key without permission': { chat: refusal(403), code: 'config_error' },
  'an unknown model': { chat: refusal(404), code: 'config_error' },
  'a redirect': { chat: refusal(307, { location: 'http://127.0.0.1:1/' }), code: 'config_error' },
};

function refusal(status: number, headers: Record<string, string> = {}): chat.ChatServer['chat'] {
  return (_, response) =>
    chat.refuse(response, status, { error: { message: VENDOR, code: 'vendors_code' } }, headers);
}

/** A word every few milliseconds, as long as the client listens. */
function endless(response: ServerResponse, everyMs: number): void {
  chat.begin(response);
  const timer = setInterval(() => chat.delta(response, { content: 'and ' }), everyMs);
  response.once('close', () => clearInterval(timer));
}

function flood(response: ServerResponse): void {
  chat.begin(response);
  const content = 'and '.repeat(16 * 1024);
  for (let count = 0; count < 150; count += 1) chat.delta(response, { content });
}

for (const [what, { chat: answer, code, retryAfter }] of Object.entries(FAILURES)) {
  test(`openai-llm answers ${code} to ${what}, and works again afterwards`, async t => {
    const { server, llm } = await open(t, { apiKey: KEY });
    const isLate = code === 'timeout';
    const limits = { firstTokenMs: what.includes('never ends') ? 5000 : 200, timeoutMs: 600 };
    const asking = isLate ? (await setUp(t, { baseUrl: server.baseUrl, ...limits })).llm : llm;
    server.chat = answer;
    for (const doing of [() => asking.object(Fruit, prompt()), () => pieces(asking)]) {
      const error = await failure(t, doing());
      t.is(error.code, code, error.message);
      t.is(error.retryAfter, retryAfter);
    }
    server.chat = (_, response) => chat.say(response, RIGHT);
    t.deepEqual(await llm.object(Fruit, prompt()), APPLE);
  });
}

test('openai-llm closes the connection when nobody wants the answer any more', async t => {
  const { server, llm } = await open(t);
  for (const leave of ['abort', 'break'] as const) {
    const closed = Promise.withResolvers<void>();
    server.chat = (_, response) => {
      response.once('close', closed.resolve);
      endless(response, 1);
    };
    const leaving = new AbortController();
    const reason = new Error('left');
    const reading = async () => {
      for await (const _ of llm.text(prompt({ signal: leaving.signal }))) {
        if (leave === 'break') break;
        leaving.abort(reason);
      }
    };
    if (leave === 'break') await t.notThrowsAsync(reading);
    else t.is(await t.throwsAsync(reading), reason);
    await closed.promise; // the server notices, or the test does not end
  }
});

test('openai-llm does not start with a server that is unreachable, or rejects the key, and gives instructions', async t => {
  const { server } = await open(t);
  server.listModels = response => chat.refuse(response, 401, { error: VENDOR });
  const refused = await failure(t, setUp(t, { baseUrl: server.baseUrl, apiKey: KEY }));
  t.is(refused.code, 'config_error');
  t.regex(refused.message, /apiKey/);

  server.listModels = response => chat.refuse(response, 404, {});
  await t.notThrowsAsync(setUp(t, { baseUrl: server.baseUrl }), 'not every server lists its models');

  await server.close();
  server.close = async () => undefined;
  const away = await failure(t, setUp(t, { baseUrl: server.baseUrl }));
  t.is(away.code, 'upstream_error');
  t.is(
    away.message,
    `openai-llm: ${server.baseUrl} cannot be reached, or broke off; start the server there, or correct plugins.openai-llm.baseUrl`,
  );
});

test('openai-llm sends no question larger than any context', async t => {
  const { server, llm } = await open(t);
  const error = await failure(t, llm.object(Fruit, prompt({ user: 'x'.repeat(1_000_001) })));
  t.is(error.code, 'too_large');
  t.is(server.asked.length, 0);
});

test('reasoning is separated from an answer however it is split', t => {
  const whole = '<think>a < b, </thin, no</think>\n So: a </think> b';
  for (let size = 1; size <= whole.length; size += 1) {
    const filter = createThoughtFilter();
    let said = '';
    for (let at = 0; at < whole.length; at += size) said += filter.push(whole.slice(at, at + size));
    t.is(said + filter.end(), 'So: a </think> b', `${size}`);
  }
  const filter = createThoughtFilter();
  t.is(filter.push('<thi') + filter.end(), '<thi', 'the beginning of a thought that is none');
});

test('JSON is found where it is, and nowhere else', t => {
  t.deepEqual(jsonIn('[1, 2]'), [1, 2]);
  t.deepEqual(jsonIn('Sure: [1, {"a": 2}]!'), { a: 2 });
  t.deepEqual(jsonIn('{"text": "a </think> b"}'), { text: 'a </think> b' });
  t.deepEqual(jsonIn('Not {this}, but\n```\n{"a": 1}\n```'), { a: 1 });
  t.is(jsonIn('nothing'), undefined);
  t.is(jsonIn('``` {\n'), undefined);
  t.is(
    jsonIn(`\`\`\`json\n${'\n'.repeat(4_000_000)}`),
    undefined,
    'a model that is held to JSON may go on for ever like this',
  );
  t.is(jsonIn('{ not json }'), undefined);
});
