import test, { type ExecutionContext } from 'ava';
import type { Job } from '../../../core/contract/model.ts';
import type { Understanding, Understood } from '../../../core/contract/plugin.ts';
import { FINISH_JOB, REPROCESS_JOB } from '../../../core/domain/conversations/lifecycle.ts';
import { NOTICE_JOB, REMINDER_JOB } from '../../../core/domain/tasks/reminders.ts';
import { createFinish, createGivenUp, type PipelineDeps } from '../../../core/pipeline/finish.ts';
import { createReprocess, createReprocessGivenUp } from '../../../core/pipeline/reprocess.ts';
import { createUnderstand, type NamedUnderstanding } from '../../../core/pipeline/understanding.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createJobs } from '../../../core/runtime/jobs.ts';
import { MAX_ATTEMPTS } from '../../../core/runtime/retry.ts';
import { type Domain, openDomain } from '../../helpers/domain.ts';
import { meaningOf, PLAIN } from '../../helpers/rest.ts';

const TIMEOUT_MS = 120_000;
const running = new AbortController().signal;

async function start(t: ExecutionContext, ...plugins: Understanding['understand'][]) {
  const domain = await openDomain(t);
  const { conversations, clock, users } = domain;
  const user = await users.add('anna');
  const request = { userId: user.id, source: 'omi', deviceId: null, language: 'en', timeoutMs: TIMEOUT_MS };
  const { id } = await conversations.open(request);
  const startedAt = clock.now();
  const say = (text: string, from: number, to: number) =>
    conversations.append({
      userId: user.id,
      conversationId: id,
      stream: null,
      startedAt,
      pieces: [
        {
          text,
          startAt: startedAt + from * 1000,
          endAt: startedAt + to * 1000,
          speaker: 'SPEAKER_00',
          sttProvider: 's',
        },
      ],
    });
  const asked = plugins.map((understand, index) => ({ name: `p${index}`, understanding: { understand } }));
  const finish = finishOf(domain, asked.length > 0 ? asked : [PLAIN]);
  const job = (attempts = 1): Job => ({
    id: 'j',
    kind: FINISH_JOB,
    key: id,
    payload: { userId: user.id, conversationId: id },
    runAt: clock.now(),
    attempts,
    lease: 'l',
  });
  const current = () => conversations.get(user.id, id);
  return { ...domain, user, id, startedAt, say, finish, job, current };
}

function finishOf(domain: Domain, asked: NamedUnderstanding[]) {
  return createFinish(depsOf(domain, asked));
}

function depsOf(domain: Domain, asked: NamedUnderstanding[]): PipelineDeps {
  const understand = createUnderstand({ providers: () => asked, log: domain.log });
  return { ...domain, ...meaningOf(domain), understand };
}

const broken = async () => {
  throw new Error('the model is away');
};

const EMPTY: Understood = {
  discard: false,
  title: { text: 'half', from: [] },
  overview: [],
  category: 'other',
  tasks: [],
  events: [],
  memories: [],
};

test('The job waits until the conversation has been silent long enough', async t => {
  const { clock, say, finish, job, current } = await start(t);
  clock.advance(TIMEOUT_MS - 1);
  await say('hello', 0, 1);
  clock.advance(1);
  t.deepEqual(await finish(job(), running), { again: clock.now() - 1 + TIMEOUT_MS });
  t.is((await current())?.status, 'in_progress');
});

test('After the silence it is processed: announced at start and end, completed, and ended at its last word', async t => {
  const { clock, say, finish, job, current, startedAt, told, user, id } = await start(t);
  await say('please remember to call the doctor tomorrow', 1, 7.25);
  await say('the hospital is closed', 20, 22.5);
  clock.advance(TIMEOUT_MS);
  t.is(await finish(job(), running), undefined);

  const conversation = await current();
  t.like(conversation, { status: 'completed', finishedAt: startedAt + 22_500 });
  t.like(conversation?.structured, { title: 'Call the Doctor Tomorrow', category: 'health', emoji: '🩺' });
  t.deepEqual(told['conversation.processing'], [{ userId: user.id, conversationId: id }]);
  t.deepEqual(told['conversation.processed'], [{ userId: user.id, conversation: conversation as never }]);
});

test('A conversation without speech is removed, and its job is done', async t => {
  const { clock, finish, job, current, told, id, user } = await start(t);
  clock.advance(TIMEOUT_MS);
  t.is(await finish(job(), running), undefined);
  t.is(await current(), null);
  t.deepEqual(told['conversation.dropped'], [{ userId: user.id, conversationId: id }]);
  t.is(await finish(job(), running), undefined);
  t.is(told['conversation.processing'].length + told['conversation.processed'].length, 0);
});

test('Repeated and simultaneous runs change nothing and announce nothing twice', async t => {
  const { clock, say, finish, job, current, told } = await start(t);
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);
  await Promise.all([finish(job(), running), finish(job(), running), finish(job(), running)]);
  const first = await current();
  clock.advance(TIMEOUT_MS);
  await finish(job(2), running);
  t.deepEqual(await current(), first);
  t.is(told['conversation.processing'].length, 1);
  t.is(told['conversation.processed'].length, 1);
});

test('A run interrupted after the silence is resumed at its step', async t => {
  const cut = new AbortController();
  const stopping = async () => {
    cut.abort(new Error('stopping'));
    return EMPTY;
  };
  const domain = await start(t, stopping);
  const { clock, say, finish, job, current, told } = domain;
  await say('the train leaves at seven', 0, 2);
  clock.advance(TIMEOUT_MS);
  await t.throwsAsync(async () => finish(job(MAX_ATTEMPTS), cut.signal), { message: 'stopping' });
  t.is((await current())?.status, 'processing');
  t.is(told['conversation.processed'].length, 0);

  await finishOf(domain, [PLAIN])(job(2), running);
  t.like(await current(), { status: 'completed' });
  t.is((await current())?.structured.title, 'The Train Leaves at Seven');
  t.is(told['conversation.processing'].length, 1);
});

test('A failed structure is retried; if the job is given up, the conversation is failed and its transcript stays', async t => {
  const { clock, say, finish, job, current, told, conversations, user, id, startedAt } = await start(
    t,
    broken,
  );
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await t.throwsAsync(async () => finish(job(attempt), running), { message: 'the model is away' });
    t.is((await current())?.status, 'processing');
  }
  await createGivenUp(conversations)(job(MAX_ATTEMPTS));
  t.like(await current(), { status: 'failed', finishedAt: startedAt + 1000 });
  t.is(told['conversation.processed'][0]?.conversation.status, 'failed');
  t.is((await conversations.segments(user.id, [id])).length, 1);
  t.is(await finish(job(), running), undefined);
  t.is((await current())?.status, 'failed');
});

test('The job runner completes a conversation without other calls', async t => {
  const { clock, say, finish, current, storage, log, conversations, events, user, id } = await start(t);
  await say('hello there my friend', 0, 1);
  const jobs = createJobs({ storage, clock, log });
  jobs.handle(FINISH_JOB, finish);
  const processed = new Promise(resolve => events.once('conversation.processed', resolve));
  await conversations.finish(user.id, id);
  jobs.start();
  await processed;
  await jobs.stop();
  t.is((await current())?.status, 'completed');
  t.is(await storage.jobs.nextRunAt([FINISH_JOB]), null);
});

test('A plugin that fails or returns an invalid answer is replaced by the next in the configuration', async t => {
  const nonsense = async () => ({ ...EMPTY, category: 7 }) as never;
  const proper = async () => ({ ...EMPTY, title: { text: 'Proper', from: [] } });
  const { clock, say, finish, job, current } = await start(t, broken, nonsense, proper);
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);
  await finish(job(), running);
  t.is((await current())?.structured.title, 'Proper');
});

test('A plugin receives the transcript with its speakers and times, and the known facts about the owner', async t => {
  const seen: Parameters<Understanding['understand']>[] = [];
  const watching: Understanding['understand'] = async (...asked) => {
    seen.push(asked);
    return EMPTY;
  };
  const { clock, say, finish, job, user, startedAt, people, actionItems, notifications } = await start(
    t,
    watching,
  );
  await people.create(user.id, 'Ben');
  await notifications.changeSettings(user.id, { timeZone: 'Europe/Berlin' });
  await actionItems.create(user.id, [
    { description: 'Call the plumber', completed: false, dueAt: null },
    { description: 'Over', completed: true, dueAt: null },
  ]);
  await say('hello there', 1, 2.5);
  clock.advance(TIMEOUT_MS);
  await finish(job(), running);
  const [[transcript, context] = t.fail() as never] = seen;
  t.like(transcript[0], {
    ...{ text: 'hello there', speaker: 'Speaker 0', isUser: false },
    ...{ startAt: startedAt + 1000, endAt: startedAt + 2500 },
  });
  t.like(context, { owner: 'anna', people: ['Ben'], timeZone: 'Europe/Berlin', languages: ['en'] });
  t.deepEqual(context.openTasks, [{ description: 'Call the plumber', dueAt: null }]);
  t.deepEqual(await context.memoriesNear('hello'), []);
  t.is(context.instantOf({ day: '2026-03-29', minute: 8 * 60 }), Date.parse('2026-03-29T08:00:00+02:00'));
});

test('Items that cite no segment of the transcript are dropped, and answers beyond limits are rejected', async t => {
  const says =
    (change: (ids: string[]) => Partial<Understood>): Understanding['understand'] =>
    async transcript => ({ ...EMPTY, ...change(transcript.map(({ id }) => id)) });
  const citing = says(ids => ({
    category: 'nonsense',
    overview: [
      { text: 'Heard.', from: ids },
      { text: 'Invented.', from: [] },
    ],
    tasks: [
      { text: 'Invented', dueAt: null, from: ['00000000-0000-0000-0000-000000000000'] },
      { text: 'Heard\u0000 of', dueAt: null, from: ids },
    ],
    events: [{ text: 'Invented', startAt: 0, minutes: null, from: [] }],
  }));
  const { clock, say, finish, job, current, storage, user, id } = await start(t, citing);
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);
  await finish(job(), running);
  t.like((await current())?.structured, { overview: 'Heard.', category: 'other', events: [] });
  const [segment] = await storage.segments.list(user.id, [id]);
  t.deepEqual((await current())?.structured.actionItems, [
    { description: 'Heard of', completed: false, dueAt: null, segmentId: segment?.id ?? '' },
  ]);

  const flooding = says(ids => ({ tasks: Array(51).fill({ text: 'x', dueAt: null, from: ids }) }));
  const other = await start(t, flooding);
  await other.say('hello there', 0, 1);
  other.clock.advance(TIMEOUT_MS);
  await t.throwsAsync(async () => other.finish(other.job(), running), { message: /tasks \(too_big\)/ });
});

const CALL = { text: 'Call the doctor', dueAt: null };

/** Returns these tasks for any transcript. */
function hears(...tasks: { text: string; dueAt: number | null }[]): Understanding['understand'] {
  return async transcript => ({
    ...EMPTY,
    tasks: tasks.map(task => ({ ...task, from: transcript.map(({ id }) => id) })),
  });
}

test('Tasks are stored once with the end of the conversation, with their notices, however often the job runs or is interrupted', async t => {
  const cut = new AbortController();
  const domain = await start(t);
  const { clock, say, job, user, id, actionItems, storage, conversations } = domain;
  const dueAt = clock.now() + 86_400_000;
  const task = { text: 'Send Ben the budget', dueAt };
  await actionItems.create(user.id, [{ description: 'call the doctor!', completed: false, dueAt: null }]);
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);

  const stopping: Understanding['understand'] = (...asked) => {
    cut.abort(new Error('stopping'));
    return hears(task)(...asked);
  };
  const stopped = finishOf(domain, [{ name: 'p', understanding: { understand: stopping } }]);
  await t.throwsAsync(async () => stopped(job(), cut.signal), { message: 'stopping' });
  t.is((await actionItems.list(user.id, { conversationId: id, limit: 10, offset: 0 })).length, 0);

  const finish = finishOf(domain, [{ name: 'p', understanding: { understand: hears(task, CALL, task) } }]);
  await Promise.all([finish(job(2), running), finish(job(2), running)]);
  await finish(job(3), running);
  const found = await actionItems.list(user.id, { limit: 10, offset: 0 });
  t.deepEqual(
    found.map(({ description, dueAt, conversationId }) => [description, dueAt, conversationId]),
    [
      ['Send Ben the budget', dueAt, id],
      ['call the doctor!', null, null],
    ],
  );
  t.is((await conversations.get(user.id, id))?.structured.actionItems.length, 3);
  t.is(await storage.jobs.nextRunAt([NOTICE_JOB]), clock.now());
  t.is(await storage.jobs.nextRunAt([REMINDER_JOB]), dueAt);
});

test('Processing again updates tasks, and keeps those that the owner changed, completed or deleted', async t => {
  const domain = await start(t);
  const { clock, say, job, user, id, actionItems, conversations, storage } = domain;
  const names = ['Edited', 'Completed', 'Deleted', 'Moved', 'Gone', 'Same'];
  const tasks = names.map(text => ({ text, dueAt: null }));
  const understood = async (...heard: { text: string; dueAt: number | null }[]) => {
    const deps = depsOf(domain, [{ name: 'p', understanding: { understand: hears(...heard) } }]);
    await createFinish(deps)(job(), running);
    await createReprocess(deps)(job(), running);
  };
  const listed = () => actionItems.list(user.id, { conversationId: id, limit: 10, offset: 0 });
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);
  await understood(...tasks);
  const ids = new Map((await listed()).map(item => [item.description, item.id]));
  const idOf = (name: string) => ids.get(name) ?? t.fail(name) ?? '';
  t.is(ids.size, names.length);

  clock.advance(1000);
  await actionItems.edit(user.id, idOf('Edited'), { description: 'Written anew' });
  await actionItems.edit(user.id, idOf('Completed'), { completed: true });
  await actionItems.remove(user.id, idOf('Deleted'));
  const [segment] = await conversations.segments(user.id, [id]);
  const again = async (...heard: { text: string; dueAt: number | null }[]) => {
    await conversations.correct(user.id, id, segment?.id ?? '', { text: `hello ${clock.now()}` });
    await understood(...heard);
    clock.advance(1000);
  };
  const dueAt = clock.now() + 86_400_000;
  const moved = tasks.map(task => (task.text === 'Moved' ? { ...task, dueAt } : task));
  for (const heard of [moved, moved.filter(({ text }) => text !== 'Gone')]) await again(...heard);
  const after = new Map((await listed()).map(item => [item.description, item]));
  t.deepEqual([...after.keys()].sort(), ['Completed', 'Moved', 'Same', 'Written anew']);
  t.is(after.get('Moved')?.dueAt, dueAt);
  t.is(after.get('Written anew')?.id, idOf('Edited'));
  t.true(after.get('Completed')?.completed);
  t.is(after.get('Same')?.id, idOf('Same'));

  await again();
  t.deepEqual((await listed()).map(({ description }) => description).sort(), ['Completed', 'Written anew']);
  t.is(await storage.jobs.nextRunAt([REMINDER_JOB]), null);
});

/** Returns each of these answers for `said` in turn; `null` fails like an unreachable model. */
function tries(...answers: (string | null)[]): Understanding['understand'] {
  return async ([first]) => {
    const text = answers.shift() ?? null;
    if (text === null) throw new AppError('upstream_error', 'the model is away');
    return { ...EMPTY, title: { text, from: [first?.id ?? ''] } };
  };
}

test('The answer of a fallback plugin is provisional, and a better one replaces it as soon as possible', async t => {
  const domain = await start(t);
  const { clock, say, job, current, storage, told } = domain;
  const better = { name: 'better', understanding: { understand: tries(null, null, 'Good', 'Newer', null) } };
  const plain = { name: 'plain', understanding: { understand: tries('Plain', 'Plain') } };
  const deps = depsOf(domain, [better, plain]);
  const reprocess = createReprocess(deps);
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);

  await createFinish(deps)(job(), running);
  t.like((await current())?.structured, { title: 'Plain', by: { plugin: 'plain', provisional: true } });
  t.is(await storage.jobs.nextRunAt([REPROCESS_JOB]), clock.now() + 60_000);
  await t.throwsAsync(async () => reprocess(job(), running), { code: 'unavailable' });
  t.like((await current())?.structured, { title: 'Plain', by: { plugin: 'plain', provisional: true } });
  await reprocess(job(2), running);
  t.like((await current())?.structured, { title: 'Good', by: { plugin: 'better', provisional: false } });
  t.is((await current())?.status, 'completed');
  await reprocess(job(3), running);
  t.is((await current())?.structured.title, 'Newer');
  await t.throwsAsync(async () => reprocess(job(4), running), { code: 'upstream_error' });
  t.is((await current())?.structured.title, 'Newer', 'a worse plugin replaced it');
  t.is(told['conversation.processing'].length, 1);
});

test('A provisional answer becomes final if a retry cannot help, or after the last retry', async t => {
  const domain = await start(t);
  const { clock, say, job, current, storage } = domain;
  const broken = async () => Promise.reject(new AppError('upstream_error', 'the model is away'));
  const refused = async () => Promise.reject(new AppError('too_large', 'too long for a model'));
  const plain = { name: 'plain', understanding: { understand: tries('Plain', 'Plain') } };
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);

  const away = depsOf(domain, [{ name: 'away', understanding: null }, plain]);
  await createFinish(away)(job(), running);
  t.true((await current())?.structured.by?.provisional);
  await createReprocessGivenUp(away)(job());
  t.deepEqual((await current())?.structured.by, { plugin: 'plain', provisional: false });

  const large = depsOf(domain, [{ name: 'large', understanding: { understand: refused } }, plain]);
  await createReprocess(large)(job(), running);
  t.deepEqual((await current())?.structured.by, { plugin: 'plain', provisional: false });
  const none = depsOf(domain, [{ name: 'broken', understanding: { understand: broken } }]);
  await t.throwsAsync(async () => createReprocess(none)(job(), running), { code: 'upstream_error' });
  t.is(await storage.jobs.cancel(REPROCESS_JOB, domain.id), true);
});

test('When a conversation is split, each task stays with the part that contains it', async t => {
  const domain = await start(t);
  const { clock, say, job, user, id, actionItems, conversations } = domain;
  const understand: Understanding['understand'] = async transcript => ({
    ...EMPTY,
    tasks: transcript.map(({ id, text }) => ({ text, dueAt: null, from: [id] })),
  });
  const finish = finishOf(domain, [{ name: 'p', understanding: { understand } }]);
  const items = async (of: string) =>
    (await actionItems.list(user.id, { conversationId: of, limit: 10, offset: 0 })).map(
      item => item.description,
    );
  await say('Call the doctor.', 0, 1);
  await say('Buy milk.', 60, 61);
  clock.advance(TIMEOUT_MS);
  await finish(job(), running);
  t.is((await items(id)).length, 2);
  const [, second] = await conversations.segments(user.id, [id]);
  const part = await conversations.split(user.id, id, second?.id ?? '');
  const partJob = { ...job(), key: part.id, payload: { userId: user.id, conversationId: part.id } };
  await finish(partJob, running);
  await finish(job(), running);
  t.deepEqual(await items(id), ['Call the doctor.']);
  t.deepEqual(await items(part.id), ['Buy milk.']);
});

test('A conversation is filed in the owner’s folder: named by a plugin, otherwise closest in meaning, otherwise by category', async t => {
  const domain = await start(t);
  const { clock, say, job, user, id, folders, conversations, current, meaning } = domain;
  const draft = { color: '#22C55E', icon: '🌱' };
  const garden = await folders.create(user.id, { ...draft, name: 'Garden', description: 'Plants and trees' });
  const plain = await folders.create(user.id, { ...draft, name: 'Not described', description: null });
  meaning.embedder = () => ({
    ...{ id: 'e', dimensions: 2 },
    embed: async texts => texts.map(text => Float32Array.from(/plant|tree/i.test(text) ? [1, 0] : [0, 1])),
  });
  const filed = async (answer: Partial<Understood>) => {
    const understand = async ([first]: readonly { id: string }[]) => ({
      ...{ ...EMPTY, category: 'work', ...answer },
      overview: [{ text: answer.title?.text ?? '', from: [first?.id ?? ''] }],
    });
    const deps = depsOf(domain, [{ name: 'p', understanding: { understand } }]);
    await createFinish(deps)(job(), running);
    await createReprocess(deps)(job(), running);
    const names = await conversations.folderNames(user.id);
    return names.get((await current())?.folderId ?? '');
  };
  const title = (text: string) => ({ title: { text, from: [] } });
  await say('hello there', 0, 1);
  clock.advance(TIMEOUT_MS);
  t.is(await filed(title('The budget')), 'Work');
  t.is(await filed(title('A tree')), 'Garden');
  t.is(await filed({ ...title('A tree'), folder: null }), 'Work');
  t.is(await filed({ ...title('The budget'), folder: 'garden' }), 'Garden');
  t.is(await filed({ ...title('The budget'), folder: plain.name }), 'Work');
  await conversations.edit(user.id, id, { folderId: plain.id });
  t.is(await filed({ folder: garden.name }), 'Not described', 'its owner had filed it elsewhere');
});
