/** Measures the memories made from the written conversations, and those left after a year of one person. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { SpokenSegment, UnderstandingContext, UnderstoodMemory } from '../../core/contract/plugin.ts';
import { FINISH_JOB } from '../../core/domain/conversations/lifecycle.ts';
import { cosineOf, gistOf, saysTheSame } from '../../core/domain/memories/memory-likeness.ts';
import { instantOf, wallTime } from '../../core/domain/wall-clock.ts';
import { createFinish } from '../../core/pipeline/finish.ts';
import { createUnderstand, spoken } from '../../core/pipeline/understanding.ts';
import plugin from '../../plugins/understanding/plain-understanding/index.ts';
import type { Cell, Table } from '../bench/benchmark.ts';
import { openDomain } from '../helpers/domain.ts';
import { openVectors, openWords } from '../helpers/meaning.ts';
import { meaningOf } from '../helpers/rest.ts';
import { holds, readConversations, readLife, type Stem } from './conversations.ts';

const { understanding } = plugin.setup();
const never = new AbortController().signal;
const LANGUAGES = ['en', 'de', 'all'] as const;

type Conversation = ReturnType<typeof readConversations>[number];

interface Counts {
  found: number;
  wanted: number;
  right: number;
  /** Repetitions of a memory that already exists. */
  twice: number;
  /** Statements that a careful person would not note. */
  junk: number;
}
const NONE: Counts = { found: 0, wanted: 0, right: 0, twice: 0, junk: 0 };

export async function memoryQuality(isVerbose = false): Promise<Table[]> {
  const counted = await Promise.all(
    readConversations().map(async conversation => {
      const found = await memoriesOf(conversation);
      const counts = count(conversation, found);
      if (isVerbose && conversation.half === 'tune') show(conversation, found, counts);
      return { conversation, counts };
    }),
  );
  const rows = (['tune', 'report'] as const).flatMap(half =>
    LANGUAGES.map(language => {
      const chosen = counted.filter(
        ({ conversation: each }) => each.half === half && (language === 'all' || each.language === language),
      );
      const { found, wanted, right, twice, junk } = chosen
        .map(({ counts }) => counts)
        .reduce((sum, each) => added(sum, each), NONE);
      return [half, language, wanted, found, share(right, found), share(right, wanted), twice, junk];
    }),
  );
  const single: Table = {
    title: 'Memories of single conversations, without a model',
    columns: ['half', 'language', 'noted', 'found', 'precision', 'recall', 'duplicates', 'junk'],
    rows,
    notes: [
      'A memory of somebody else than the owner has to name them. Forms were chosen by the tune half alone.',
    ],
  };
  return [single, await lifeQuality(isVerbose), await pairQuality()];
}

async function memoriesOf(conversation: Conversation): Promise<readonly UnderstoodMemory[]> {
  const { owner, people, language, timeZone, segments, startedAt, knownMemories } = conversation;
  const at = Date.parse(startedAt);
  const transcript: SpokenSegment[] = spoken(segments, { startedAt: at, createdAt: at }, each =>
    each.isUser ? owner : (people[each.speakerId] ?? `Speaker ${each.speakerId}`),
  );
  const context: UnderstandingContext = {
    ...{
      owner,
      timeZone,
      folders: [],
      openTasks: [],
      goals: [],
      people: Object.values(people),
      models: [],
      embedder: null,
      summaryLanguage: null,
      template: null,
      templates: [],
    },
    languages: language === 'multi' ? [] : [language],
    memoriesNear: async () => knownMemories,
    wallTime: instant => wallTime(instant, timeZone),
    instantOf: time => instantOf(time, timeZone),
  };
  const { discard, memories } = await understanding.understand(transcript, context, never);
  return discard ? [] : memories;
}

function count({ expected, owner }: Conversation, found: readonly UnderstoodMemory[]): Counts {
  const taken = new Set<object>();
  const counts = { ...NONE, found: found.length, wanted: expected.memories.length };
  const nonFacts = expected.nonFacts.filter(({ as }) => as === undefined || as === 'memory');
  for (const { text } of found) {
    const fits = expected.memories.filter(
      ({ what, about }) =>
        holds(text, what) && (about === 'owner' || about === owner || holds(text, [about])),
    );
    const fresh = fits.find(each => !taken.has(each));
    if (fresh) {
      taken.add(fresh);
      counts.right += 1;
    } else if (fits.length > 0) {
      counts.twice += 1;
    } else if (nonFacts.some(({ what }) => holds(text, what))) {
      counts.junk += 1;
    }
  }
  return counts;
}

/**
 * Runs thirty conversations of one person through the whole pipeline on a real database, with the deletions that its
 * owner makes.
 */
async function lifeQuality(isVerbose: boolean): Promise<Table> {
  const undo: (() => unknown)[] = [];
  const t = { teardown: (step: () => unknown) => void undo.push(step) };
  try {
    return await live(t as never, isVerbose);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function live(t: Parameters<typeof openVectors>[0], isVerbose: boolean): Promise<Table> {
  const domain = await openDomain(t);
  const { conversations, memories, people, users, clock, storage, embedding, meaning, log } = domain;
  const [{ index }, words] = [await openVectors(t), openWords()];
  meaning.embedder = () => words;
  meaning.vectors = () => index;
  const life = readLife();
  const user = await users.add(life.conversations[0]?.owner ?? '');
  const idOf = new Map<string, string>();
  for (const each of new Set(life.conversations.flatMap(({ people: known }) => Object.values(known))))
    idOf.set(each, (await people.create(user.id, each)).id);
  const understand = createUnderstand({
    providers: () => [{ name: 'plain-understanding', understanding }],
    log,
  });
  const finish = createFinish({ ...domain, ...meaningOf(domain), understand });
  const job = { id: 'j', key: 'k', runAt: 0, attempts: 1, lease: 'l' };
  const list = () => storage.memories.list(user.id, { limit: 1000, offset: 0 });

  for (const { segments, people: known, startedAt, language, deletes } of life.conversations) {
    const at = Date.parse(startedAt);
    clock.advance(Math.max(0, at - clock.now()));
    const { id } = await conversations.importSegments(
      {
        ...{ userId: user.id, clientSessionId: null, source: 'omi', deviceId: null, language },
        ...{ geolocation: null, startedAt: at, finishedAt: null },
        segments: segments.map(each => ({
          ...each,
          personId: idOf.get(known[each.speakerId] ?? '') ?? null,
        })),
      },
      0,
    );
    await finish({ ...job, kind: FINISH_JOB, payload: { userId: user.id, conversationId: id } }, never);
    await embedding.embed({ ...job, kind: 'embed', payload: { userId: user.id } }, never);
    for (const stems of deletes)
      for (const memory of (await list()).filter(({ content }) => holds(content, stems)))
        await memories.remove(user.id, memory.id);
  }

  const kept = await list();
  const { expected } = life;
  const texts = kept.map(({ content }) => content);
  const isOfOther = (text: string) => [...idOf.keys()].some(name => text.startsWith(name));
  const fits = (text: string, what: Stem, name: string) =>
    name === 'owner' ? holds(text, what) && !isOfOther(text) : holds(text, [...what, name]);
  const found = expected.memories.filter(each => texts.some(text => fits(text, each.what, each.about)));
  const isRight = (text: string) => expected.memories.some(each => fits(text, each.what, each.about));
  const histories = expected.memories.flatMap(({ what, about: name, history }) =>
    history.map(({ what: before }) =>
      kept.some(
        memory =>
          fits(memory.content, what, name) && memory.history.some(({ content }) => holds(content, before)),
      ),
    ),
  );
  const outdated = expected.memories
    .flatMap(({ history }) => history)
    .filter(({ what }) => texts.some(text => holds(text, what) && !isRight(text)));
  const counts: Cell[] = [
    expected.memories.length,
    kept.length,
    share(texts.filter(isRight).length, kept.length),
    share(found.length, expected.memories.length),
    expected.memories.filter(each => texts.filter(text => fits(text, each.what, each.about)).length > 1)
      .length,
    outdated.length,
    `${histories.filter(Boolean).length} of ${histories.length}`,
    expected.deleted.filter(({ what }) => texts.some(text => holds(text, what))).length,
    expected.nonFacts.filter(({ what }) => texts.some(text => holds(text, what))).length,
  ];
  if (isVerbose)
    for (const { content, history, sources } of kept)
      process.stdout.write(
        `life: ${isRight(content) ? '+' : '-'} ${content} [${sources.length}] ${history.map(each => each.content).join(' | ')}\n`,
      );
  return {
    title: 'Memories of one person after 30 conversations, without a model',
    columns: [
      'to keep',
      'kept',
      'precision',
      'recall',
      'twice',
      'outdated',
      'history there',
      'came back',
      'junk',
    ],
    rows: [counts],
  };
}

const Half = z.strictObject({
  same: z.array(z.tuple([z.string(), z.string()])),
  different: z.array(z.tuple([z.string(), z.string()])),
});
const Pairs = z.strictObject({ tune: Half, report: Half });

/** Measures whether memories of the same meaning are recognised, by words alone and with vectors. */
async function pairQuality(): Promise<Table> {
  const url = new URL('../fixtures/memory-pairs.yaml', import.meta.url);
  const pairs = Pairs.parse(parse(readFileSync(url, 'utf8')));
  const embedder = openWords();
  const rows: Cell[][] = [];
  for (const half of ['tune', 'report'] as const)
    for (const how of ['words', 'words and vectors']) {
      const merged = async ([one, other]: [string, string]) => {
        const [first, second] = how === 'words' ? [] : await embedder.embed([one, other], never);
        const cosine = first && second ? cosineOf(first, second) : 0;
        return saysTheSame(gistOf(one), gistOf(other), cosine);
      };
      const { same, different } = pairs[half];
      const right = (await Promise.all(same.map(merged))).filter(Boolean).length;
      const wrong = (await Promise.all(different.map(merged))).filter(Boolean).length;
      rows.push([half, how, `${right} of ${same.length}`, `${wrong} of ${different.length}`]);
    }
  return {
    title: 'Pairs of memories merged',
    columns: ['half', 'by', 'that say the same', 'that do not'],
    rows,
  };
}

function added(one: Counts, other: Counts): Counts {
  return {
    found: one.found + other.found,
    wanted: one.wanted + other.wanted,
    right: one.right + other.right,
    twice: one.twice + other.twice,
    junk: one.junk + other.junk,
  };
}

function share(part: number, whole: number): Cell {
  return whole === 0 ? '-' : (part / whole).toFixed(2);
}

function show({ file, expected }: Conversation, found: readonly UnderstoodMemory[], counts: Counts): void {
  for (const { text, topic } of found)
    process.stdout.write(`${file}: ${text}${topic ? ` (${topic})` : ''}\n`);
  if (counts.right < counts.wanted)
    process.stdout.write(`${file}: wanted ${JSON.stringify(expected.memories.map(({ what }) => what))}\n`);
}
