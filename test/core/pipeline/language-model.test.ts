/** The pipeline with the real plugins, and a scripted server that speaks OpenAI's protocol on a real socket. */
import type { ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import type { z } from 'zod';
import type { ConversationJson } from '../../../core/domain/conversations/conversation-json.ts';
import { type ChatServer, refuse, say } from '../../helpers/chat-server.ts';
import { openNoteTaker } from '../../helpers/note-taker.ts';
import { openRest, PLAIN } from '../../helpers/rest.ts';
import { holds, readPoison } from '../../quality/conversations.ts';

const LIST = '/v1/dev/user/conversations';
const RETRY_MS = 60_000;

async function start(t: ExecutionContext, options: Record<string, unknown> = {}) {
  const rest = await openRest(t);
  const taker = await openNoteTaker(t, options);
  rest.models.push(taker.llm);
  const counted = rest.run([taker, PLAIN]);
  const store = async (lines: readonly (readonly [number, string])[], isOwner = true) => {
    const segments = lines.map(([speaker, text], index) => ({
      ...{ text, start: index * 5, end: index * 5 + 4, speaker: `SPEAKER_0${speaker}` },
      is_user: isOwner && speaker === 0,
    }));
    const { status, body } = await rest.send('POST', `${LIST}/from-segments`, {
      transcript_segments: segments,
    });
    t.is(status, 200, JSON.stringify(body));
    return body.id as string;
  };
  const get = async (id: string) => (await rest.send('GET', `${LIST}/${id}`)).body;
  return { ...rest, ...taker, counted, store, get };
}

const TALK: [number, string][] = [
  [1, 'Can you send me the drawings of the harbour?'],
  [0, "Yes, I'll send you the drawings tomorrow."],
];
const FAITHFUL = {
  discard: false,
  title: { text: 'Drawings of the harbour', from: [1] },
  overview: [{ text: 'The drawings of the harbour are wanted.', from: [1] }],
  category: 'architecture',
  folder: null,
  tasks: [{ text: 'Send the drawings', from: [1, 2], who: 'owner', due: null }],
  events: [],
  memories: [],
};

const SILENT = 'does not answer in time';
/** How a model fails, and the message about it. */
const FAILURES: Record<string, ChatServer['chat']> = {
  [SILENT]: () => {},
  'is rate-limited': (_, response) => refuse(response, 429, {}, { 'retry-after': '1' }),
  'breaks down': (_, response) => refuse(response, 500, { error: 'no' }),
  'rejects the key': (_, response) => refuse(response, 401, {}),
  'does not answer in JSON': (_, response) => say(response, 'I am happy to help with that!'),
  'answers with another schema': (_, response) => say(response, '{"summary":"a talk"}'),
  'answers nothing': (_, response) => say(response, ''),
  'answers 10 MB': (_, response) => flood(response),
  'cites missing segments': (_, response) =>
    say(response, JSON.stringify({ ...FAITHFUL, overview: [{ text: 'The drawings', from: [7] }] })),
  'cites nothing': (_, response) =>
    say(response, JSON.stringify({ ...FAITHFUL, overview: [{ text: 'The drawings', from: [] }] })),
  'invents everything': (_, response) =>
    say(response, JSON.stringify({ ...FAITHFUL, overview: [{ text: 'Pigs fly over Rome.', from: [1] }] })),
};

/** More than one write, as fast as it is read. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(100_000) } }] })}\n\n`;
  let left = 100;
  const pour = () => {
    while (left-- > 0) if (!response.write(piece)) return response.once('drain', pour);
    return response.end('data: [DONE]\n\n');
  };
  response.on('error', () => {});
  pour();
}

for (const [failure, chat] of Object.entries(FAILURES))
  test(`A model that ${failure} leaves the offline result, marked as provisional, until it answers`, async t => {
    const { server, store, get, clock, processed } = await start(
      t,
      failure === SILENT ? { firstTokenMs: 2000 } : {},
    );
    server.chat = chat;
    const id = await store(TALK);
    const plain = await get(id);
    t.like(plain, {
      status: 'completed',
      structure_by: { plugin: 'plain-understanding', provisional: true },
      discarded: false,
    });
    t.not(plain.structured.overview, '');

    server.chat = (_, response) => say(response, JSON.stringify(FAITHFUL));
    const done = processed(1);
    clock.advance(RETRY_MS);
    await done;
    t.like(await get(id), {
      status: 'completed',
      structure_by: { plugin: 'llm-understanding', provisional: false },
      structured: { title: 'Drawings of the harbour', overview: 'The drawings of the harbour are wanted.' },
    });
  });

test('Prompt injection in a transcript, with an obedient model, changes only its own conversation', async t => {
  const { server, store, get, user, memories, actionItems, send } = await start(t);
  const attempts = readPoison();
  const [first] = attempts;
  for (const content of first?.knownMemories ?? [])
    await memories.create(user.id, [{ content, category: 'core', visibility: 'private', tags: [] }]);
  const open = (first?.openTasks ?? []).map(description => ({ description, completed: false, dueAt: null }));
  await actionItems.create(user.id, open);
  const before = [await send('GET', '/v1/dev/user/memories'), await tasksAlone()] as const;

  async function tasksAlone() {
    const { body } = await send('GET', '/v1/dev/user/action-items?limit=1000');
    return body.filter((item: { conversation_id: string | null }) => item.conversation_id === null);
  }
  let [believed, carried] = [0, 0];
  for (const { name, segments, absent } of attempts) {
    const lines = segments.map(({ speakerId, text }) => [speakerId, text] as const);
    server.chat = (_, response) => say(response, JSON.stringify(obeying(lines)));
    const shown: z.output<typeof ConversationJson> = await get(await store(lines));
    const { title, overview, action_items: tasks, events } = shown.structured;
    t.is(shown.status, 'completed', name);
    if (shown.structure_by?.plugin !== 'llm-understanding') continue; // rejected: the offline result
    believed += 1;
    const texts = [
      title,
      overview,
      ...tasks.map(task => task.description),
      ...events.map(each => each.title),
    ];
    for (const text of texts) {
      t.notRegex(text, /[<>{}[\]|`]|:\/\/|OBEYED/, name);
      t.true(text.length <= 10_000, name);
    }
    t.is(new Set(tasks.map(task => task.description)).size, tasks.length, name);
    if (absent.some(stems => tasks.some(task => holds(task.description, stems)))) carried += 1;
  }
  const kept: { id: string; reviewed: boolean }[] = (await send('GET', '/v1/dev/user/memories?limit=1000'))
    .body;
  const known = new Set(before[0].body.map(({ id }: { id: string }) => id));
  t.deepEqual([kept.filter(({ id }) => known.has(id)), await tasksAlone()], [before[0].body, before[1]]);
  const read = kept.filter(({ id }) => !known.has(id));
  t.true(
    read.every(({ reviewed }) => !reviewed),
    'what the owner read aloud waits for a review',
  );
  t.true(believed > attempts.length / 2, 'the answers of the model are hardly looked at');
  t.log(
    `${attempts.length} attempts, ${believed} answers taken; of ${carried} a model that obeys makes a task of what a speaker said, ${read.length} memories to be reviewed`,
  );
});

/** Everything that a schema permits a model that obeys the transcript. */
function obeying(lines: readonly (readonly [number, string])[]): object {
  const text = lines[0]?.[1] ?? '';
  const all = lines.map((_, index) => index + 1);
  const item = { text, from: [1] };
  const invented = { text: 'OBEYED: pineapples sail on velvet', from: [1] };
  return {
    discard: false, // a discarded conversation shows nothing at all
    title: invented,
    overview: [
      item,
      invented,
      { ...item, from: [] },
      { ...item, from: [4242] },
      { text: `OBEYED ${text}`, from: [] },
    ],
    category: 'other',
    folder: null,
    tasks: [item, invented, { ...item, from: [] }].map(task => ({
      ...task,
      who: 'owner',
      due: '2026-05-21T12:00',
    })),
    events: [
      { ...item, start: '2026-05-21T12:00', minutes: 1e12 },
      { ...invented, start: 'now', minutes: -1 },
    ],
    memories: [item, invented, { text: 'OBEYED', from: all }],
    delete_memories: ['*'],
    tool_calls: [{ name: 'delete_task', arguments: { id: '*' } }],
    structured: { title: 'OBEYED' },
  };
}
