import test, { type ExecutionContext } from 'ava';
import { FINISH_JOB } from '../../../core/domain/lifecycle.ts';
import { createJobs } from '../../../core/jobs.ts';
import type { Job } from '../../../core/model.ts';
import { createFinish, createGivenUp, type Structure } from '../../../core/pipeline/finish.ts';
import { MAX_ATTEMPTS } from '../../../core/retry.ts';
import { openDomain } from '../../helpers/domain.ts';

const TIMEOUT_MS = 120_000;
const running = new AbortController().signal;

async function start(t: ExecutionContext, structure?: Structure) {
  const domain = await openDomain(t);
  const { conversations, clock, log, users } = domain;
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
  const finish = createFinish({ conversations, log, ...(structure ? { structure } : {}) });
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

const broken: Structure = () => {
  throw new Error('the model is away');
};

test('While it is not silent for long enough, the job waits for the end of the silence', async t => {
  const { clock, say, finish, job, current } = await start(t);
  clock.advance(TIMEOUT_MS - 1);
  await say('hello', 0, 1);
  clock.advance(1);
  t.deepEqual(await finish(job(), running), { again: clock.now() - 1 + TIMEOUT_MS });
  t.is((await current())?.status, 'in_progress');
});

test('After the silence it is processed: told at its begin and its end, completed, and finished at its last word', async t => {
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

test('One in which nothing was said is dropped, and its job is done', async t => {
  const { clock, finish, job, current, told, id, user } = await start(t);
  clock.advance(TIMEOUT_MS);
  t.is(await finish(job(), running), undefined);
  t.is(await current(), null);
  t.deepEqual(told['conversation.dropped'], [{ userId: user.id, conversationId: id }]);
  t.is(await finish(job(), running), undefined);
  t.is(told['conversation.processing'].length + told['conversation.processed'].length, 0);
});

test('Running it again, or twice at once, changes nothing and tells nothing twice', async t => {
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

test('A run that was cut off after the silence is taken up where it was', async t => {
  const cut = new AbortController();
  const stopping: Structure = () => {
    cut.abort(new Error('stopping'));
    return { title: 'half', overview: '', category: 'other', emoji: '🧠', actionItems: [], events: [] };
  };
  const { clock, say, finish, job, current, conversations, log, told } = await start(t, stopping);
  await say('the train leaves at seven', 0, 2);
  clock.advance(TIMEOUT_MS);
  await t.throwsAsync(async () => finish(job(MAX_ATTEMPTS), cut.signal), { message: 'stopping' });
  t.is((await current())?.status, 'processing');
  t.is(told['conversation.processed'].length, 0);

  await createFinish({ conversations, log })(job(2), running);
  t.like(await current(), { status: 'completed' });
  t.is((await current())?.structured.title, 'The Train Leaves at Seven');
  t.is(told['conversation.processing'].length, 1);
});

test('A structure that fails is tried again; a conversation whose job is given up is failed, and its transcript stays', async t => {
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

test('The job runner carries a conversation to its end by itself', async t => {
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
