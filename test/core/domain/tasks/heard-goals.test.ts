import test, { type ExecutionContext } from 'ava';
import type { Goal } from '../../../../core/contract/model.ts';
import { type HeardProgress, progressIn, progressOf } from '../../../../core/domain/tasks/heard-goals.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation, openDomain } from '../../../helpers/domain.ts';

const STRUCTURE = { title: 'Run', overview: '', category: 'other', emoji: '🧠', actionItems: [], events: [] };
const WORDS = { desiredOutcome: null, whyItMatters: null, successCriteria: [], horizonAt: null };
const VALUES = { goalType: null, targetValue: 100, currentValue: null, minValue: null, maxValue: null };

async function start(t: ExecutionContext, open?: Parameters<typeof openDomain>[1]) {
  const domain = await openDomain(t, open);
  const { users, goals, conversations } = domain;
  const { id: userId } = await users.add('anna');
  const create = (title: string, unit = 'km') => goals.create(userId, { ...WORDS, ...VALUES, title, unit });
  const talk = (...texts: string[]) => completedConversation(domain, userId, texts);
  const heard = ({ id: goalId }: Goal, segmentId: string | undefined, value = 5): HeardProgress => ({
    ...{ goalId, segmentId: segmentId ?? '', text: 'I ran.', value, adds: true },
  });
  const process = (id: string, ...progress: HeardProgress[]) =>
    conversations.revise(userId, id, STRUCTURE, { memories: [], progress });
  const waiting = async () =>
    (await goals.suggestions(userId)).map(({ suggestion: { conversationId, value } }) => [
      conversationId,
      value,
    ]);
  return { ...domain, userId, create, talk, heard, process, waiting };
}

for (const { name, open: openStorage } of await openDatabases(test)) {
  const on = (
    title: string,
    run: (t: ExecutionContext, of: Awaited<ReturnType<typeof start>>) => Promise<void>,
  ) => test.serial(`${name}: ${title}`, async t => run(t, await start(t, openStorage)));

  on(
    'a run suggests the progress it finds, once, and withdraws what it no longer finds',
    async (t, domain) => {
      const { create, talk, heard, process, waiting } = domain;
      const goal = await create('Run 100 km');
      const { id, segments } = await talk('one', 'two');
      for (let run = 0; run < 3; run += 1) {
        await process(id, heard(goal, segments[0]?.id));
        t.deepEqual(await waiting(), [[id, 5]]);
      }
      await process(id, heard(goal, segments[0]?.id, 6));
      t.deepEqual(await waiting(), [[id, 6]], 'a corrected line');
      await process(id);
      t.deepEqual(await waiting(), []);
    },
  );

  on('a suggestion is answered once, and not repeated, also after a second pass', async (t, domain) => {
    const { create, talk, heard, process, waiting, goals, storage, userId } = domain;
    const goal = await create('Run 100 km');
    const { id, segments } = await talk('one', 'two', 'three');
    const [one, two, three] = segments.map(segment => segment.id);
    await process(id, heard(goal, one));
    const [refused] = await storage.goalSuggestions.open(userId, 9);
    await goals.refuse(userId, refused?.id ?? '');
    await t.throwsAsync(goals.refuse(userId, refused?.id ?? ''), { code: 'conflict' });
    await t.throwsAsync(goals.accept(userId, refused?.id ?? ''), { code: 'conflict' });
    await process(id, heard(goal, one));
    await process(id, heard(goal, one, 6));
    await process(id, heard(goal, three));
    t.deepEqual(await waiting(), []);
    t.is((await goals.get(userId, goal.id)).currentValue, 0);

    await process(id, heard(goal, two, 7));
    const [given] = await storage.goalSuggestions.open(userId, 9);
    const answers = await Promise.allSettled([1, 2, 3].map(() => goals.accept(userId, given?.id ?? '')));
    t.is(answers.filter(({ status }) => status === 'fulfilled').length, 1, 'at once, it counts once');
    t.is((await goals.get(userId, goal.id)).currentValue, 7);
    await process(id, heard(goal, two, 7));
    t.deepEqual(await waiting(), []);
    t.deepEqual(
      (await goals.history(userId, goal.id, 1)).map(({ value }) => value),
      [7],
    );
  });

  on('suggestions follow their segments when conversations are merged and split', async (t, domain) => {
    const { create, talk, heard, process, waiting, goals, conversations, storage, userId } = domain;
    const goal = await create('Run 100 km');
    const first = await talk('one', 'two');
    domain.clock.advance(60_000);
    const second = await talk('three');
    await process(first.id, heard(goal, first.segments[1]?.id, 5));
    await process(second.id, heard(goal, second.segments[0]?.id, 3));
    const [given] = await storage.goalSuggestions.ofConversation(userId, second.id, 9);
    await goals.refuse(userId, given?.id ?? '');

    await conversations.merge(userId, first.id, second.id);
    await conversations.complete(userId, first.id, STRUCTURE, {
      memories: [],
      progress: [heard(goal, second.segments[0]?.id, 3)],
    });
    t.deepEqual(await waiting(), [], 'the refused one came back with its conversation');
    await process(first.id, heard(goal, first.segments[1]?.id, 5));
    const part = await conversations.split(userId, first.id, first.segments[1]?.id ?? '');
    t.deepEqual(await waiting(), [[part.id, 5]]);
    await conversations.remove(userId, part.id);
    t.deepEqual(await waiting(), []);
  });

  on('beyond 100 open suggestions of a user, none is added', async (t, domain) => {
    const { create, talk, heard, process, waiting, goals, storage, userId } = domain;
    const all: Goal[] = [];
    for (let count = 0; count < 101; count += 1) all.push(await create(`Run ${count} km`));
    const { id, segments } = await talk('one');
    const progress = all.map(goal => heard(goal, segments[0]?.id));
    await process(id, ...progress);
    t.is((await waiting()).length, 100);
    t.is((await storage.goalSuggestions.ofConversation(userId, id, 1000)).length, 100);
    const [first] = await storage.goalSuggestions.open(userId, 1);
    await goals.refuse(userId, first?.id ?? '');
    await process(id, ...progress);
    t.is((await waiting()).length, 100, 'there is room for the last');
  });

  on('an accepted value stays within the bounds of its goal', async (t, domain) => {
    const { talk, heard, process, goals, storage, userId } = domain;
    const draft = {
      ...WORDS,
      ...VALUES,
      title: 'Run',
      unit: 'km',
      currentValue: 8,
      maxValue: 10,
      targetValue: 10,
    };
    const goal = await goals.create(userId, draft);
    const { id, segments } = await talk('one');
    await process(id, heard(goal, segments[0]?.id, 50));
    const [given] = await storage.goalSuggestions.open(userId, 1);
    t.like(await goals.accept(userId, given?.id ?? ''), { currentValue: 10, reached: true });
  });
}

test("The owner's first report counts for each goal, and reports of others do not", async t => {
  const { create } = await start(t);
  const goals = [await create('Run 100 km'), await create('Read 12 books', 'books')];
  const said = (id: string, text: string, isUser = true) => ({ id, text, isUser });
  const heard = await progressIn(
    [
      said('a', 'I ran nine kilometres today.', false),
      said('b', 'Tell me. I ran five kilometres today!'),
      said('c', 'I ran 6 km. And I read two books.'),
    ],
    goals,
  );
  t.deepEqual(
    heard.map(({ goalId, ...rest }) => [goals.findIndex(({ id }) => id === goalId), rest]),
    [
      [0, { value: 5, adds: true, segmentId: 'b', text: 'I ran five kilometres today!' }],
      [1, { value: 2, adds: true, segmentId: 'c', text: 'And I read two books.' }],
    ],
  );
});

test('progress found by a plugin counts only if the owner said it and the goal allows it', t => {
  const goal = (id: string, goalType: Goal['goalType'], more: Partial<Goal> = {}): Goal => ({
    ...{ ...WORDS, id, userId: 'u', title: id, goalType, unit: null, startValue: 0, currentValue: 0 },
    ...{ targetValue: 10, minValue: null, maxValue: null, paused: false, reached: false },
    ...{ createdAt: 0, updatedAt: 0, ...more },
  });
  const goals = [
    goal('run', 'numeric'),
    goal('exam', 'boolean'),
    goal('sleep', 'scale', { minValue: 1, maxValue: 10 }),
  ];
  const segments = [
    { id: 's1', text: 'I managed five kilometres', isUser: true },
    { id: 's2', text: 'and I passed', isUser: false },
  ];
  const heard = (goalId: string, value: number, adds: boolean, from = 's1') =>
    progressOf([{ goalId, value, adds, from: [from] }], segments, goals).map(each => [
      each.goalId,
      each.value,
      each.text,
    ]);

  t.deepEqual(heard('run', 5, true), [['run', 5, 'I managed five kilometres']]);
  t.deepEqual(heard('exam', 1, false), [['exam', 1, 'I managed five kilometres']]);
  t.deepEqual(heard('sleep', 7, false), [['sleep', 7, 'I managed five kilometres']]);
  for (const [goalId, value, adds, from] of [
    ['run', 5, true, 's2'],
    ['run', 5, true, 's9'],
    ['run', -5, true],
    ['run', 0, false],
    ['exam', 2, false],
    ['exam', 1, true],
    ['sleep', 11, false],
    ['other', 5, true],
  ] as const)
    t.deepEqual(heard(goalId, value, adds, from), [], `${goalId} ${value} ${adds} ${from}`);
  const twice = { goalId: 'run', adds: true, from: ['s1'] };
  t.is(
    progressOf(
      [
        { ...twice, value: 5 },
        { ...twice, value: 6 },
      ],
      segments,
      goals,
    ).length,
    1,
  );
});
