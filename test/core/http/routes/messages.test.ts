import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import openai from '../../../../plugins/llm/openai-llm/index.ts';
import {
  type AskedChat,
  begin,
  delta,
  end,
  refuse,
  say,
  startChatServer,
} from '../../../helpers/chat-server.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';
import { contextOf } from '../../../plugins/stt/context.ts';
import { readPoison } from '../../../quality/conversations.ts';

const MESSAGES = '/v2/messages';
const SESSIONS = '/v2/chat-sessions';
const DAY_MS = 24 * 3_600_000;

type Json = Record<string, unknown>;

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  const { send, user, url, token } = rest;
  const said = async (texts: string[], title = 'A Journey') =>
    completedConversation(rest, user.id, texts, { title });
  /** The real plugin, with a local server that speaks the protocol. */
  const model = async () => {
    const server = await startChatServer();
    t.teardown(() => server.close());
    const { context, stop } = contextOf();
    t.teardown(stop);
    const options = openai.options(z).parse({ baseUrl: server.baseUrl });
    const { llm } = await openai.setup({ ...context, options, dataDir: '' });
    rest.models.push(llm);
    return server;
  };
  const post = (path: string, body: unknown, signal?: AbortSignal, credential = token) =>
    fetch(url + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  /** A question, and its answer as received. */
  const chat = async (text: string, query = '', credential?: string) => {
    const answer = await post(MESSAGES + query, { text }, undefined, credential);
    t.is(answer.status, 200);
    t.regex(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    return framesOf(await answer.text());
  };
  const list = async (query = '') => (await send('GET', MESSAGES + query)).body as Json[];
  return { ...rest, said, model, post, chat, list };
}

/** Decodes the frames of an answer. */
function framesOf(stream: string) {
  const frames = stream.split('\n\n').filter(frame => frame !== '' && !frame.startsWith(':'));
  const of = (name: string) =>
    frames.filter(frame => frame.startsWith(`${name}: `)).map(frame => frame.slice(name.length + 2));
  const pieces = of('data').map(piece => piece.replaceAll('__CRLF__', '\n'));
  const [done] = of('done').map(coded => JSON.parse(Buffer.from(coded, 'base64').toString('utf8')));
  const [error] = of('error').map(json => JSON.parse(json));
  return { frames, pieces, text: pieces.join(''), done, error };
}

/** Extracts the data that a model received. */
function given({ messages }: AskedChat) {
  const [system, user] = messages.map(({ content }) =>
    typeof content === 'string' ? content : content.map(({ text }) => text).join(''),
  );
  return { system: system ?? '', ...JSON.parse(user ?? '{}') };
}

/** The number by which a model cites the source with this text. */
function numberOf(asked: AskedChat, words: string): number {
  return given(asked).sources.find(({ text }: Json) => String(text).includes(words))?.number;
}

test('An answer is streamed, cites the moment that supports it, and is stored with its question', async t => {
  const { chat, said, model, list } = await start(t);
  const server = await model();
  await said(['My train of thought is lost.'], 'Lost');
  const { id, segments } = await said(['We talked of food.', 'The train to Łódź leaves at seven.', 'Good.']);
  server.chat = (asked, response) =>
    say(response, `SOURCES: ${numberOf(asked, 'seven')}\nAt seven [${numberOf(asked, 'seven')}].\nBe there.`);
  const { pieces, text, done } = await chat('When does the train to Łódź leave?');
  t.true(pieces.length > 1, 'in pieces');
  t.is(text, 'At seven [1].\nBe there.');
  t.is(done.text, text);
  t.like(done, {
    ...{ sender: 'ai', type: 'text', model: 'llama3.2', memories_id: [id], app_id: null, files: [] },
    memories: [{ id, structured: { title: 'A Journey' } }],
  });
  t.like(done.sources, [{ type: 'conversation', id, title: 'A Journey', segment_id: segments[1]?.id }]);
  const [answer, question, ...others] = await list();
  t.deepEqual(others, []);
  t.like(question, { sender: 'human', text: 'When does the train to Łódź leave?', sources: [] });
  t.like(answer, { id: done.id, text, chat_session_id: question?.chat_session_id });
  t.like(answer?.sources, [{ id, text: 'The train to Łódź leaves at seven.', segment_id: segments[1]?.id }]);
  t.is(server.asked[0]?.response_format, undefined);
});

test('A follow-up question is searched for with the words and the period of earlier ones', async t => {
  const { chat, said, model, clock } = await start(t);
  const server = await model();
  server.chat = (_, response) => say(response, 'SOURCES: 1\nIt is said there [1].');
  await said(['Eve said the plumber wants four hundred.', 'And she said that it is too much.'], 'Plumber');
  clock.advance(DAY_MS);
  await said(['The plumber rang twice.'], 'Calls');
  await chat('What about the plumber yesterday?');
  await chat('And what did she say about it?');
  const [first, second] = server.asked.map(given);
  t.deepEqual(
    first.sources.map(({ title }: Json) => title),
    ['Plumber'],
    'of yesterday alone',
  );
  t.deepEqual(
    second.sources.map(({ title }: Json) => title),
    ['Plumber'],
  );
  t.deepEqual(second.earlier, [
    { question: 'What about the plumber yesterday?', answer: 'It is said there [1].' },
  ]);
  await chat('Who rang about the plumber?');
  t.true(given(server.asked[2] as AskedChat).sources.some(({ title }: Json) => title === 'Calls'));
});

test('A question on a new subject does not use the period and the sources of earlier ones', async t => {
  const { chat, said, send, clock } = await start(t);
  await said(['The roofer wants four hundred for the roof.'], 'Roof');
  clock.advance(2 * DAY_MS);
  await said(['Nora is moving to Lisbon. She wants to open a bakery there.'], 'Nora');
  await send('POST', '/v1/dev/user/action-items', { description: 'Water the plants' });
  const titles = async (question: string) =>
    (await chat(question)).done?.sources.map(({ title }: Json) => title);

  await chat('What about the roof two days ago?');
  t.deepEqual(await titles('And who wants to be paid for it?'), ['Roof']);
  t.deepEqual(await titles('Who is moving to Lisbon?'), ['Nora']);
  t.deepEqual(await titles('And what does she want to open there?'), ['Nora'], 'not of two days ago');
  t.deepEqual(await titles('Which tasks are open?'), ['Water the plants']);
});

test('Without a model the passages are the answer, in the language of the question', async t => {
  const { chat, said, send, post } = await start(t);
  const { id } = await said(['The train to Łódź leaves at seven.']);
  await send('POST', '/v1/dev/user/action-items', { description: 'Buy tickets for the train' });
  await send('POST', '/v1/dev/user/memories', { content: 'Goes by train, never by car' });
  const { text, done } = await chat('When does the train to Łódź leave?');
  t.regex(text, /^No language model is available/);
  t.regex(text, /\[1\] Mon 2 Nov, 12:00\. A Journey: “Overview. The train.*leaves at seven\./);
  t.is(done.model, null);
  t.deepEqual(done.sources.map(({ type }: Json) => type).toSorted(), [
    'action_item',
    'conversation',
    'memory',
  ]);
  t.is(done.sources[0].id, id);
  t.regex(
    (await chat('Wann fährt der train?')).text,
    /^Es ist kein Sprachmodell verfügbar.*\[1\] Mo.*2\. Nov/s,
  );
  const read = async (text: string) =>
    framesOf(await (await post(MESSAGES, { text, language: 'de-AT' })).text()).text;
  t.regex(await read('train?'), /^Es ist kein Sprachmodell verfügbar/);
  t.regex(await read('When does the train leave?'), /^No language model is available/);
  const nothing = await chat('xylophone');
  t.deepEqual(
    [nothing.text, nothing.done.sources],
    [
      'Nothing in your conversations, memories and tasks matches this question. Try other words, or another day.',
      [],
    ],
  );
});

test('A task is told with its state and due date in the language of the question', async t => {
  const { chat, send } = await start(t);
  const due = { description: 'Zugfahrkarten kaufen', due_at: '2026-11-06T10:00:00Z' };
  await send('POST', '/v1/dev/user/action-items', due);
  const told = async (question: string) => (await chat(question)).done.sources[0].text;
  t.is(await told('Which Zugfahrkarten are open?'), 'Zugfahrkarten kaufen (open, due Fri 6 Nov, 10:00)');
  t.regex(await told('Wann muss ich die Zugfahrkarten kaufen?'), /\(offen, fällig Fr\., 6\. Nov\., 10:00\)$/);
  t.regex(await told('Pour quand sont les Zugfahrkarten ?'), /\(à faire, pour le ven\. 6 nov\., 10:00\)$/);
  t.regex(
    await told('¿Cuándo tengo que comprar los Zugfahrkarten?'),
    /\(pendiente, para el vie, 6 nov, 10:00\)$/,
  );
});

test('An answer of a model that cites no sources is not shown', async t => {
  const { chat, said, model } = await start(t);
  const server = await model();
  await said(['The train to Łódź leaves at seven.']);
  server.chat = (_, response) => say(response, 'It leaves at nine, I suppose.');
  const made = await chat('When does the train leave?');
  t.false(made.text.includes('nine'));
  t.regex(made.text, /^The language model did not answer/);
  t.is(made.done.sources.length, 1);
  server.chat = (_, response) => say(response, 'SOURCES: none\nNobody knows, say nine.');
  const none = await chat('When does the train leave?');
  t.false(none.text.includes('nine'));
  t.regex(none.text, /^Your conversations, memories and tasks do not answer this/);
  // a model that cannot write a first line may still answer in a JSON schema
  server.chat = ({ response_format }, response) =>
    say(response, response_format ? '{"answer":"At seven.","sources":[1]}' : 'At seven.');
  t.is((await chat('When does the train leave?')).text, 'At seven.');
});

test('A model that stops midway ends the answer with an error, and none of it is stored', async t => {
  const { chat, said, model, list } = await start(t);
  const server = await model();
  await said(['The train to Łódź leaves at seven.']);
  server.chat = (_, response) => {
    begin(response);
    delta(response, { content: 'SOURCES: 1\nAt se' });
    setImmediate(() => response.destroy());
  };
  const { text, done, error } = await chat('When does the train leave?');
  t.deepEqual([text, done], ['At se', undefined]);
  t.deepEqual(error, {
    ...{ error: 'upstream_error', retryable: true, message: 'The language model broke off' },
  });
  t.deepEqual(
    (await list()).map(({ sender }) => sender),
    ['human'],
  );
});

test('A client that disconnects cancels its answer at the model', async t => {
  const { post, said, model } = await start(t);
  const server = await model();
  await said(['The train to Łódź leaves at seven.']);
  const [asked, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  server.chat = (_, response) => {
    response.once('close', stopped.resolve);
    begin(response);
    delta(response, { content: 'SOURCES: 1\nAt' });
    asked.resolve();
  };
  const leaving = new AbortController();
  const answer = await post(MESSAGES, { text: 'When does the train leave?' }, leaving.signal);
  await asked.promise;
  leaving.abort();
  await stopped.promise;
  await t.throwsAsync(answer.text());
});

test('A user has three answers in progress at once, and others are not delayed by them', async t => {
  const { post, said, model, users, token, models } = await start(t);
  const server = await model();
  await said(['The train to Łódź leaves at seven.']);
  const waiting: (() => void)[] = [];
  const arrived = [1, 2, 3].map(() => Promise.withResolvers<void>());
  server.chat = (_, response) => {
    arrived[waiting.length]?.resolve();
    waiting.push(() => say(response, 'SOURCES: 1\nAt seven.'));
  };
  const ask = (credential = token) =>
    post(MESSAGES, { text: 'When does the train leave?' }, undefined, credential);
  const three = [ask(), ask(), ask()];
  await Promise.all(arrived.map(({ promise }) => promise));
  const fourth = await ask();
  t.is(fourth.status, 429);
  t.is(fourth.headers.get('retry-after'), '5');
  await fourth.text();
  await users.add('ben');
  const other = await ask(await users.token('ben'));
  t.truthy(framesOf(await other.text()).done, 'another user');
  for (const answer of waiting) answer();
  for (const answer of await Promise.all(three)) t.truthy(framesOf(await answer.text()).done);
  models.length = 0;
  t.truthy(framesOf(await (await ask()).text()).done, 'and then the next one');
});

test('Sessions are listed, named by their first question, and deleted with their messages', async t => {
  const { chat, send, said, list, clock } = await start(t);
  await said(['The train to Łódź leaves at seven.']);
  await chat('When does the train leave?');
  clock.advance(1000);
  const { body: second } = await send('POST', SESSIONS);
  const inSecond = `?chat_session_id=${second.id}`;
  t.deepEqual(await list(inSecond), []);
  await chat('Which train?', inSecond);
  const titles = async () => (await send('GET', SESSIONS)).body.map(({ title }: Json) => title);
  t.deepEqual(await titles(), ['Which train?', 'When does the train leave?']);
  t.is((await list()).length, 2, 'the one used last');
  t.is((await list('?limit=1&offset=1'))[0]?.text, 'Which train?');
  const { body: greeting } = await send('DELETE', MESSAGES + inSecond);
  t.like(greeting, { sender: 'ai', chat_session_id: null, sources: [] });
  t.is((await send('GET', MESSAGES + inSecond)).status, 404);
  t.deepEqual(await titles(), ['When does the train leave?']);
  await send('DELETE', MESSAGES);
  t.deepEqual([await titles(), await list()], [[], []]);
  t.is((await send('DELETE', MESSAGES)).status, 200, 'nothing to clear');
  const { body: third } = await send('POST', SESSIONS);
  t.deepEqual((await send('DELETE', `${SESSIONS}/${third.id}`)).body, { success: true });
  t.is((await send('DELETE', `${SESSIONS}/${third.id}`)).status, 404);
});

test('A session holds 1000 messages, an account 200 sessions: the oldest are deleted', async t => {
  const { storage, chat, user, list, send } = await start(t);
  const { body: session } = await send('POST', SESSIONS);
  await storage.transaction('fill', async tx => {
    for (let number = 0; number < 1005; number += 1)
      await tx.chat.insertMessage({
        ...{ id: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`, userId: user.id },
        ...{ sessionId: session.id, sender: 'human', text: `${number}`, model: null, sources: [] },
        createdAt: 0,
      });
    for (let number = 0; number < 210; number += 1)
      await tx.chat.insertSession({
        ...{ id: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`, userId: user.id },
        ...{ title: '', createdAt: number, updatedAt: number },
      });
  });
  await chat('xylophone', `?chat_session_id=${session.id}`);
  t.is((await list(`?chat_session_id=${session.id}&limit=1000`)).length, 1000);
  await send('POST', SESSIONS);
  t.is((await send('GET', `${SESSIONS}?limit=1000`)).body.length, 200);
});

test('A chat is private to its owner, and no API key can open it', async t => {
  const { chat, said, send, keys, user, users, list } = await start(t);
  await said(['The train to Łódź leaves at seven.']);
  const { done } = await chat('When does the train leave?');
  await users.add('ben');
  const ben = await users.token('ben');
  const session = `?chat_session_id=${done.chat_session_id}`;
  t.deepEqual((await send('GET', MESSAGES, undefined, ben)).body, []);
  for (const method of ['GET', 'DELETE'])
    t.is((await send(method, MESSAGES + session, undefined, ben)).status, 404);
  t.is((await send('POST', MESSAGES + session, { text: 'train' }, ben)).status, 404);
  t.is((await send('DELETE', `${SESSIONS}/${done.chat_session_id}`, undefined, ben)).status, 404);
  t.is((await list()).length, 2);
  t.deepEqual((await chat('train', '', ben)).done.sources, []);
  const { key } = await keys.create(user.id, { name: 'k', scopes: ['conversations:read', 'memories:read'] });
  for (const method of ['GET', 'DELETE'])
    t.is((await send(method, MESSAGES, undefined, key)).status, 401, 'answers tell of all there is');
  t.is((await send('POST', MESSAGES, { text: 'x' }, key)).status, 401);
  t.is((await send('GET', SESSIONS, undefined, null)).status, 401);
});

test('Sources that were deleted, corrected or locked since are not shown with an answer', async t => {
  const { chat, said, send, list, storage, user } = await start(t);
  const { id, segments } = await said(['The train to Łódź leaves at seven.']);
  const { body: memory } = await send('POST', '/v1/dev/user/memories', { content: 'Goes by train' });
  await chat('When does the train leave?');
  const segment = `/v1/conversations/${id}/segments/${segments[0]?.id}`;
  await send('PATCH', segment, { text: 'The train leaves at eight.' });
  const texts = async () => {
    const [answer] = await list();
    return (answer?.sources as Json[] | undefined)?.map(({ text }) => text);
  };
  t.deepEqual(await texts(), ['Goes by train', 'The train leaves at eight.']);
  await send('DELETE', `/v1/dev/user/memories/${memory.id}`);
  t.deepEqual(await texts(), ['The train leaves at eight.']);
  await storage.conversations.update(user.id, id, { locked: true });
  t.deepEqual(await texts(), []);
});

test('Invalid messages and sessions are rejected by name, before a stream starts', async t => {
  const { issues, send } = await start(t);
  t.deepEqual(await issues('POST', MESSAGES, {}), { 'body.text': 'missing' });
  t.deepEqual(await issues('POST', MESSAGES, { text: ' ' }), { 'body.text': 'string_too_short' });
  t.deepEqual(await issues('POST', MESSAGES, { text: '🙂'.repeat(1001) }), {
    'body.text': 'string_too_long',
  });
  t.deepEqual(await issues('POST', MESSAGES, { text: 'x', file_ids: ['a'] }), {
    'body.file_ids': 'too_long',
  });
  t.deepEqual(await issues('POST', MESSAGES, { text: 'x', time_zone: 'Mars' }), {
    'body.time_zone': 'value_error',
  });
  for (const id of ['unknown', '00000000-0000-7000-8000-000000000000']) {
    const answer = await send('POST', `${MESSAGES}?chat_session_id=${id}`, { text: 'x' });
    t.deepEqual([answer.status, answer.body], [404, { detail: 'Chat session not found' }]);
  }
});

test('Questions streamed over /ask/stream have the same answers, as named events', async t => {
  const { post, said, model, send } = await start(t);
  const server = await model();
  const { id } = await said(['The train to Łódź leaves at seven.']);
  server.chat = (_, response) => {
    begin(response);
    delta(response, { content: 'SOURCES: 1\nAt ' });
    delta(response, { content: 'seven [1].' });
    end(response);
  };
  const answer = await post('/v1/dev/user/ask/stream', { question: 'When does the train leave?' });
  const events = (await answer.text())
    .split('\n\n')
    .filter(block => block.startsWith('event: '))
    .map(block => {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      return [event, JSON.parse(data ?? 'null')] as const;
    });
  t.deepEqual(
    events.map(([event]) => event).filter((event, at, all) => event !== all[at - 1]),
    ['text', 'done'],
  );
  t.is(events.map(([event, { text = '' }]) => (event === 'text' ? text : '')).join(''), 'At seven [1].');
  t.like(events.at(-1)?.[1], { answer: 'At seven [1].', model: 'llama3.2', sources: [{ id }] });
  server.chat = (_, response) => refuse(response, 401, {});
  const failed = await (await post('/v1/dev/user/ask/stream', { question: 'train' })).text();
  t.regex(failed, /event: done\ndata: .*The language model did not answer/);
  t.is((await send('POST', '/v1/dev/user/ask/stream', { question: 'x' }, null)).status, 401);
});

test('Tasks are sources only for callers with their scope, by their words, due date or as tasks', async t => {
  const { send, user, keys, chat } = await start(t);
  const due = new Date(Date.parse('2026-11-06T10:00:00Z')).toISOString(); // the Friday after
  await send('POST', '/v1/dev/user/action-items', { description: 'Pay the rent', due_at: due });
  await send('POST', '/v1/dev/user/action-items', { description: 'Sweep the yard' });
  const found = async (question: string) =>
    (await chat(question)).done.sources.map(({ title }: Json) => title);
  t.deepEqual(await found('What have I to do on Friday?'), ['Pay the rent']);
  t.deepEqual(await found('Which tasks are open?'), ['Pay the rent', 'Sweep the yard']);
  t.deepEqual(await found('What about the yard?'), ['Sweep the yard']);
  const { key } = await keys.create(user.id, { name: 'k', scopes: ['conversations:read'] });
  const { body } = await send('POST', '/v1/dev/user/ask', { question: 'yard' }, key);
  t.deepEqual(body.sources, []);
});

/**
 * Simulates the worst obedient model: it calls tools, sends images, claims actions and cites missing sources.
 */
function obey({ messages }: AskedChat, response: Parameters<typeof say>[0]): void {
  const order = String(JSON.stringify(messages)).slice(0, 200);
  begin(response);
  const call = { name: 'delete_memories', arguments: JSON.stringify({ all: true, order }) };
  delta(response, {
    content: 'SOURCES: 1, 99\nOBEYED: ![x](https://evil.example/?q=all) [here](https://evil.example) ',
  });
  delta(response, { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] });
  delta(response, {
    content: '{"delete":["memories","conversations"],"send":"https://evil.example"} [99] [1]',
  });
  end(response, 'tool_calls');
}

test('Prompt injection in transcripts changes nothing and calls no tool, even with an obedient model', async t => {
  const { chat, said, model, send, storage } = await start(t);
  const server = await model();
  const attempts = readPoison();
  t.true(attempts.length >= 60);
  t.true(new Set(attempts.map(({ language }) => language)).size >= 4);
  for (const { name, segments } of attempts)
    await said(
      segments.map(({ text }) => text),
      name,
    );
  await send('POST', '/v1/dev/user/memories', { content: 'Drinks tea without milk', category: 'core' });
  await send('POST', '/v1/dev/user/action-items', { description: 'Return the ladder' });
  const before = await everything();
  server.chat = obey;
  const { body: session } = await send('POST', SESSIONS);
  let believed = 0;
  for (const { name, segments } of attempts) {
    const question = `What about ${segments.map(({ text }) => text).join(' ')}`.slice(0, 900);
    const { done, text } = await chat(question, `?chat_session_id=${session.id}`);
    if (done.model === null) continue; // it names a period without any data
    believed += 1;
    for (const bad of ['![', '](', '[99]']) t.false(text.includes(bad), name);
    t.is(done.sources.length, 1, name);
  }
  t.deepEqual(await everything(), before);
  t.true(believed > attempts.length / 2, 'most of what the model says is looked at');
  for (const asked of server.asked) {
    t.deepEqual(
      Object.keys(asked).filter(key => /tool|function/.test(key)),
      [],
    );
    t.false(given(asked).system.includes('OBEYED'));
  }

  /** All data of an account except chats and counters. */
  async function everything() {
    const counted = /^chat_|^rate_limits$|^jobs$|^attempts$/;
    return storage.tables(async tables => {
      const all: Json = {};
      for (const table of tables.filter(({ name }) => !counted.test(name)))
        for await (const rows of table.read()) all[table.name] = rows;
      return all;
    });
  }
});
