import test from 'ava';
import { instantOf, wallTime } from '../../../../core/domain/wall-clock.ts';
import { createBackgroundPace } from '../../../../plugins/kit/kit.ts';
import { eventsOf } from '../../../../plugins/understanding/plain-understanding/events.ts';
import { readLines } from '../../../../plugins/understanding/plain-understanding/lines.ts';
import { tasksOf } from '../../../../plugins/understanding/plain-understanding/tasks.ts';

import { DIALOGUES, NO_TASKS } from './dialogues.ts';

/** A Thursday; on the 29th clocks go forward in Berlin. */
const SAID = '2026-03-12T09:00:00+01:00';

type Line = readonly [speaker: string, text: string];

function contextIn(timeZone: string, language: string) {
  return {
    ...{
      owner: 'Ada',
      people: ['Anna', 'Ben', 'Priya'],
      languages: [language],
      timeZone,
      openTasks: [] as { description: string; dueAt: null }[],
    },
    wallTime: (at: number) => wallTime(at, timeZone),
    instantOf: (time: { day: string; minute: number }) => instantOf(time, timeZone),
  };
}

const transcript = (lines: readonly Line[], saidAt: string) =>
  lines.map(([speaker, text], index) => ({
    ...{ id: String(index), text, speaker, isUser: speaker === 'Ada' },
    ...{ startAt: Date.parse(saidAt), endAt: Date.parse(saidAt) },
  }));

interface Where {
  language?: string;
  saidAt?: string;
  timeZone?: string;
}

async function tasksIn(said: ReturnType<typeof transcript>, context: ReturnType<typeof contextIn>) {
  const pace = createBackgroundPace(new AbortController().signal);
  return tasksOf(await readLines(said, context, pace), context, pace);
}

/** `text @ instant`, in local time of the zone. */
async function heard(
  lines: readonly Line[],
  { language = 'en', saidAt = SAID, timeZone = 'Europe/Berlin' }: Where = {},
) {
  const tasks = await tasksIn(transcript(lines, saidAt), contextIn(timeZone, language));
  return tasks.map(({ text, dueAt }) => {
    if (dueAt === null) return text;
    const { day, minute } = wallTime(dueAt, timeZone);
    const time = [Math.floor(minute / 60), minute % 60].map(part => String(part).padStart(2, '0')).join(':');
    return `${text} @ ${day} ${time}`;
  });
}
const owner = (text: string, where?: Where) =>
  heard(
    [
      ['Ada', text],
      ['Ben', 'sure'],
    ],
    where,
  );
const asked = (text: string) =>
  heard([
    ['Ben', text],
    ['Ada', 'sure'],
  ]);

test("Promises of the owner become tasks, with due dates in the owner's zone", async t => {
  const expected: Record<string, string> = {
    "I'll send Ben the budget on friday": 'Send Ben the budget @ 2026-03-13 12:00',
    'okay i need to call the dentist tomorrow at nine': 'Call the dentist @ 2026-03-13 09:00',
    'I have to pick up the parcel by half past five': 'Pick up the parcel @ 2026-03-12 17:30',
    "I'm going to write the report by the twenty third": 'Write the report @ 2026-03-23 12:00',
    'remind me to water the plants tonight': 'Water the plants @ 2026-03-12 20:00',
    'I must book the hotel at a quarter past seven in the evening': 'Book the hotel @ 2026-03-12 19:15',
    "I'll buy the tickets because they are cheap": 'Buy the tickets',
    'I will check the oven in two hours': 'Check the oven @ 2026-03-12 11:00',
  };
  for (const [said, task] of Object.entries(expected)) t.deepEqual(await owner(said), [task], said);
});

test('Requests of others become tasks of the owner, worded with the name of the one who asked', async t => {
  t.deepEqual(await asked('can you send me the invoice by friday'), [
    'Send Ben the invoice @ 2026-03-13 12:00',
  ]);
  t.deepEqual(await asked("Don't forget to lock the door."), ['Lock the door']);
  t.deepEqual(await asked('Ada could you please order new paper?'), ['Order new paper']);
});

test('Tasks of others, and refused ones, are not tasks of the owner', async t => {
  t.deepEqual(await asked("I'll bring the cake on sunday"), []);
  t.deepEqual(await asked('Priya can you write the release notes'), []);
  t.deepEqual(await owner('can you send me the release notes'), []);
  t.deepEqual(
    await heard([
      ['Ben', 'can you drive us home'],
      ['Ada', "sorry I can't"],
    ]),
    [],
  );
  t.deepEqual(await heard([['Speaker 4', 'call now and you will not forget to save']]), []);
});

test('Negated, past, hypothetical, quoted and figurative statements are not tasks', async t => {
  for (const said of [
    "I won't call the bank tomorrow",
    'I will not call the bank tomorrow',
    'I will never call the bank again',
    'I should have called the bank',
    'I had to call the bank yesterday',
    "if it rains I'll take the early train",
    "maybe I'll learn the cello",
    'she told me I have to call the bank',
    '"I\'ll call the bank tomorrow" was the last line of the film',
    'I have to say that was lovely',
    "I'll see you at the station",
    "I'll do it",
  ])
    t.deepEqual(await owner(said), [], said);
});

test('A single speaker is the owner, also without being marked as such', async t => {
  t.deepEqual(await heard([['Speaker 0', 'remember to call the plumber on monday']]), [
    'Call the plumber @ 2026-03-16 12:00',
  ]);
});

test('German promises, requests and times of day are understood as well', async t => {
  const german = { language: 'de' };
  t.deepEqual(await owner('ich muss morgen um Viertel nach acht den Arzt anrufen', german), [
    'Den Arzt anrufen @ 2026-03-13 08:15',
  ]);
  t.deepEqual(await owner('ich werde am Freitag die Rechnung bezahlen', german), [
    'Die Rechnung bezahlen @ 2026-03-13 12:00',
  ]);
  t.deepEqual(
    await heard(
      [
        ['Ben', 'kannst du bitte übermorgen um halb drei das Auto holen'],
        ['Ada', 'ja'],
      ],
      german,
    ),
    ['Das Auto holen @ 2026-03-14 14:30'],
  );
  t.deepEqual(await owner('ich muss nicht den Arzt anrufen', german), []);
});

test("Due dates are in the owner's zone, across a change of its clocks and in any zone of the machine", async t => {
  const berlin = { saidAt: '2026-03-28T20:00:00+01:00' };
  const [sunday] = await tasksIn(
    transcript([['Ada', "I'll call the doctor tomorrow at nine"]], berlin.saidAt),
    contextIn('Europe/Berlin', 'en'),
  );
  t.is(sunday?.dueAt, Date.parse('2026-03-29T09:00:00+02:00'));
  const late = { saidAt: '2026-03-28T23:30:00+01:00' };
  const [elapsed] = await tasksIn(
    transcript([['Ada', 'I need to turn the heating down in 4 hours']], late.saidAt),
    contextIn('Europe/Berlin', 'en'),
  );
  t.is(elapsed?.dueAt, Date.parse('2026-03-29T04:30:00+02:00'));
  t.deepEqual(await owner("I'll pay the rent tomorrow at nine", { timeZone: 'Asia/Tokyo' }), [
    'Pay the rent @ 2026-03-13 09:00',
  ]);
});

test('Words that only look like dates give no due date', async t => {
  t.deepEqual(await owner('I need to march on with the sun in my face'), [
    'March on with the sun in my face',
  ]);
  t.deepEqual(await owner("I'll keep the shop open 24/7"), ['Keep the shop open 24/7']);
});

test('An appointment with a time of day becomes an event; past or hypothetical ones do not', async t => {
  const events = async (text: string) => {
    const pace = createBackgroundPace(new AbortController().signal);
    const context = contextIn('Europe/Berlin', 'en');
    const lines = await readLines(transcript([['Ada', text]], SAID), context, pace);
    const found = await eventsOf(lines, [], context, pace);
    return found.map(({ text, startAt, from }) => [text, new Date(startAt).toISOString(), from]);
  };
  t.deepEqual(await events('The dentist appointment is on tuesday at half past two.'), [
    ['Dentist appointment', '2026-03-17T13:30:00.000Z', ['0']],
  ]);
  t.deepEqual(await events('The meeting was yesterday at ten.'), []);
  t.deepEqual(await events('If the flight is at nine we are late.'), []);
  t.deepEqual(await events('We should have lunch one day.'), []);
});

test('A time that another offers and the owner accepts is an appointment', async t => {
  const found = async (language: string, ...lines: Line[]) => {
    const pace = createBackgroundPace(new AbortController().signal);
    const context = contextIn('Europe/Berlin', language);
    const events = await eventsOf(await readLines(transcript(lines, SAID), context, pace), [], context, pace);
    return events.map(({ text, startAt }) => `${text} @ ${new Date(startAt).toISOString()}`);
  };
  const dead: Line = ['Ada', 'The power points in my kitchen are dead.'];
  const offer: Line = ['Speaker 3', 'Friday I can squeeze you in at eight.'];
  t.deepEqual(await found('en', dead, offer, ['Ada', 'Perfect.']), [
    'Squeeze, the power points @ 2026-03-13T07:00:00.000Z',
  ]);
  t.deepEqual(await found('en', dead, offer, ['Ada', "Friday doesn't work."]), []);
  t.deepEqual(await found('en', dead, offer, ['Ada', 'What about Monday?']), []);
  t.deepEqual(
    await found(
      'fr',
      ['Ada', 'Ma serrure est cassée.'],
      ['Speaker 3', 'Je peux passer demain à neuf heures ou samedi à dix heures.'],
      ['Ada', "Samedi ça m'arrange."],
    ),
    ['Passer, ma serrure @ 2026-03-14T09:00:00.000Z'],
  );
  t.deepEqual(
    await found('en', ['Ben', 'Can you send it tomorrow at four?'], ['Ada', 'Sure.']),
    [],
    'a request is a task',
  );
});

test('People who come, things that somebody has, and evenings are appointments', async t => {
  const found = async (text: string, language = 'en') => {
    const pace = createBackgroundPace(new AbortController().signal);
    const context = contextIn('Europe/Berlin', language);
    const lines = await readLines(transcript([['Ada', text]], SAID), context, pace);
    const events = await eventsOf(lines, [], context, pace);
    return events.map(({ startAt }) => new Date(startAt).toISOString());
  };
  t.deepEqual(await found("Don't forget my mum's coming on Sunday."), ['2026-03-15T11:00:00.000Z']);
  t.deepEqual(await found('She has a fencing thing on Sunday.'), ['2026-03-15T11:00:00.000Z']);
  t.deepEqual(await found('I have time on Sunday.'), []);
  t.deepEqual(await found('The concert is on Sunday at eight.'), ['2026-03-15T19:00:00.000Z']);
  t.deepEqual(await found('Mañana tengo que ir al ambulatorio a las nueve.', 'es'), [
    '2026-03-13T08:00:00.000Z',
  ]);
  t.deepEqual(
    await found(
      'Vendredi je suis absente. La réunion budget est reportée au lundi suivant à dix heures.',
      'fr',
    ),
    ['2026-03-16T09:00:00.000Z'],
  );
});

test('Huge and hostile texts are read in bounded time and give at most 50 tasks', async t => {
  const flood = Array.from({ length: 500 }, (_, index): Line => ['Ada', `I'll send letter ${index} to Ben`]);
  t.is((await heard(flood)).length, 50);
  for (const text of [
    "I'll ".repeat(20_000),
    'at nine '.repeat(20_000),
    '"'.repeat(100_000),
    ' '.repeat(100_000),
  ])
    t.true((await heard([['Ada', text]])).length <= 50);
});

test('Without punctuation a task ends where the next clause starts', async t => {
  const said =
    'good morning please remember to call the doctor tomorrow at nine we also need to buy some bread';
  t.deepEqual(await heard([['Ada', said]]), ['Call the doctor @ 2026-03-13 09:00', 'Buy some bread']);
});

const SPEAKERS: Readonly<Record<string, string>> = { O: 'Ada', A: 'Anna', B: 'Ben' };

function linesOf(dialogue: string): Line[] {
  return dialogue.split(' / ').map(line => [SPEAKERS[line[0] ?? ''] ?? `Speaker ${line[0]}`, line.slice(3)]);
}

for (const language of Object.keys(DIALOGUES)) {
  test(`Promises, requests and accepted requests become short tasks: ${language}`, async t => {
    for (const { said, tasks } of DIALOGUES[language] ?? [])
      t.deepEqual(await heard(linesOf(said), { language }), [...tasks], said);
  });

  test(`Refused, done, past, wished or reported statements are not tasks: ${language}`, async t => {
    for (const said of NO_TASKS[language] ?? [])
      t.deepEqual(await heard(linesOf(said), { language }), [], said);
  });
}

test('An open task is not found again, and a repeated one is found once', async t => {
  const context = contextIn('Europe/Berlin', 'en');
  const said = transcript(
    [
      ['Ada', "I'll call the plumber tomorrow"],
      ['Ada', "so I'll call the plumber on monday"],
      ['Ada', "and I'll order the monitor for the meeting room"],
    ],
    SAID,
  );
  const open = [{ description: 'Order a new monitor for the meeting room', dueAt: null }];
  const [plumber, ...others] = await tasksIn(said, { ...context, openTasks: open });
  t.like(plumber, {
    text: 'Call the plumber',
    dueAt: Date.parse('2026-03-16T12:00:00+01:00'),
    from: ['0', '1'],
  });
  t.deepEqual(others, []);
});
