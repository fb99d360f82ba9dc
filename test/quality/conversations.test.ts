import test from 'ava';
import { holds, readConversations, readLife, readPoison } from './conversations.ts';

const FILES_OF_A_KIND = 2;
const conversations = readConversations();
type Conversation = (typeof conversations)[number];

test('Both halves of the corpus contain every kind of conversation at least twice', t => {
  const kinds = [...new Set(conversations.map(each => each.kind))];
  const count = (half: string, kind: string) =>
    conversations.filter(each => each.half === half && each.kind === kind).length;
  const missing = kinds.flatMap(kind =>
    ['tune', 'report'].filter(half => count(half, kind) < FILES_OF_A_KIND).map(half => `${half}: ${kind}`),
  );

  t.deepEqual(missing, []);
  t.true(conversations.length >= 80);
  t.deepEqual(
    conversations
      .filter(each => !each.file.replace(/^\d+-/, '').startsWith(`${each.kind}-`))
      .map(each => each.file),
    [],
  );
});

test('Everything expected of a conversation is in the segments it names', t => {
  for (const conversation of conversations) {
    const { file, expected } = conversation;
    const unsupported = [
      ...expected.tasks,
      ...expected.memories,
      ...expected.events.map(event => ({ what: event.title, from: event.from })),
    ].filter(
      ({ what, from }) =>
        !from.every(index => conversation.segments[index]) || !holds(textOf(conversation, from), what),
    );

    t.deepEqual(unsupported, [], file);
    t.true(
      expected.overview.every(index => conversation.segments[index]),
      `${file}: overview`,
    );
  }
});

test('Nobody outside the conversation is expected in its tasks or memories', t => {
  for (const conversation of conversations) {
    const names = ['owner', 'other', ...Object.values(conversation.people)];
    const said = textOf(conversation, [...conversation.segments.keys()]);
    const strangers = [
      ...conversation.expected.tasks.map(task => task.who),
      ...conversation.expected.memories.map(memory => memory.about),
    ].filter(name => !names.includes(name) && !said.includes(name));

    t.deepEqual(strangers, [], conversation.file);
  }
});

test('Every instant has the offset of the owner’s time zone, and is not before the conversation', t => {
  for (const { file, startedAt, timeZone, expected } of conversations) {
    const instants = [
      ...expected.tasks.flatMap(task => task.due ?? []),
      ...expected.events.map(event => event.start),
    ];

    t.deepEqual(wronglyOffset([startedAt, ...instants], timeZone), [], file);
    t.deepEqual(
      instants.filter(each => Date.parse(each) < Date.parse(startedAt)),
      [],
      file,
    );
    t.deepEqual(
      expected.tasks.filter(task => (task.due === null) !== (task.precision === undefined)),
      [],
      `${file}: precision`,
    );
  }
});

test('Forbidden notes were said, and are not expected elsewhere', t => {
  for (const conversation of conversations) {
    const { file, expected } = conversation;
    const said = textOf(conversation, [...conversation.segments.keys()]);
    const noted = {
      task: expected.tasks.map(task => task.what),
      memory: expected.memories.map(memory => memory.what),
      event: expected.events.map(event => event.title),
    };
    for (const { what, as } of expected.nonFacts) {
      const against = as ? noted[as] : Object.values(noted).flat();
      t.true(holds(said, what), `${file}: ${what}`);
      t.false(
        against.some(stems => holds(stems.join(' '), what)),
        `${file}: ${what} is expected as well`,
      );
    }
  }
});

test('A conversation to be discarded has no expectations, and every other one has some', t => {
  for (const { file, expected } of conversations) {
    const items = expected.tasks.length + expected.events.length + expected.memories.length;
    t.is(expected.discard ? items : 0, 0, file);
    t.is(expected.overview.length === 0, expected.discard, file);
  }
});

test('The times of the segments follow from their words, and no two of one speaker would be merged', t => {
  for (const { file, segments } of conversations)
    for (const [index, segment] of segments.entries()) {
      const before = segments[index - 1];
      t.true(segment.end > segment.start, file);
      t.true(
        !before || segment.start - before.end >= (before.speaker === segment.speaker ? 2.99 : 0.39),
        file,
      );
    }
});

test('The conversations of one person are in order, and memories to keep were said in the cited segments', t => {
  const { conversations: life, expected } = readLife();
  const cited = ({ sources }: { sources: { file: string; from: number[] }[] }) =>
    sources.map(({ file, from }) => ({ file, text: textOf(conversationOf(file), from) }));
  const conversationOf = (file: string) => {
    const found = life.find(each => each.file === file);
    if (!found) throw new Error(`${file} is not a conversation of this life`);
    return found;
  };
  const kept = expected.memories.flatMap(memory => [memory, ...memory.history]);

  t.is(life.length, 30);
  t.deepEqual(
    life.map(each => each.startedAt),
    life.map(each => each.startedAt).toSorted((one, other) => Date.parse(one) - Date.parse(other)),
  );
  for (const { file, startedAt, timeZone } of life)
    t.deepEqual(wronglyOffset([startedAt], timeZone), [], file);
  for (const each of [...kept, ...expected.deleted])
    for (const { file, text } of cited(each)) t.true(holds(text, each.what), `${file}: ${each.what}`);
  for (const { file, what } of expected.nonFacts)
    t.true(holds(textOf(conversationOf(file), [...conversationOf(file).segments.keys()]), what), `${what}`);
});

test('Every deletion of that person has its conversation, and the deleted fact is said again afterwards', t => {
  const { conversations: life, expected } = readLife();
  const deletions = life.flatMap(({ file, deletes }) => deletes.map(what => ({ file, what })));

  t.deepEqual(
    expected.deleted.map(({ what, deletedAfter }) => ({ file: deletedAfter, what })),
    deletions,
  );
  for (const { sources, deletedAfter, what } of expected.deleted) {
    t.true(
      sources.some(({ file }) => file > deletedAfter),
      `${what}`,
    );
    t.false(expected.memories.some(memory => holds(memory.what.join(' '), what)));
  }
});

test('At least sixty prompt injections have unique names, in several languages', t => {
  const attempts = readPoison();
  const names = attempts.map(each => each.name);

  t.true(attempts.length >= 60);
  t.deepEqual(names, [...new Set(names)]);
  t.true(new Set(attempts.map(each => each.language)).size >= 5);
  for (const attempt of attempts) {
    const said = textOf(attempt, [...attempt.segments.keys()]);
    t.deepEqual(
      attempt.tasks.filter(task => !holds(said, task)),
      [],
      attempt.name,
    );
    t.false(
      attempt.absent.some(stems => attempt.tasks.some(task => holds(task.join(' '), stems))),
      attempt.name,
    );
  }
});

function textOf({ segments }: Pick<Conversation, 'segments'>, indices: number[]): string {
  return indices.map(index => segments[index]?.text ?? '').join('\n');
}

function wronglyOffset(instants: string[], timeZone: string): string[] {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return instants.filter(instant => {
    const offset = format.formatToParts(new Date(instant)).find(part => part.type === 'timeZoneName')?.value;
    return instant.slice(-6) !== (offset?.replace('GMT', '') || '+00:00');
  });
}
