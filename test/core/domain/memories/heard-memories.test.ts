import test, { type ExecutionContext } from 'ava';
import type { UnderstoodMemory } from '../../../../core/contract/plugin.ts';
import { FINISH_JOB } from '../../../../core/domain/conversations/lifecycle.ts';
import { createFinish } from '../../../../core/pipeline/finish.ts';
import { createReprocess } from '../../../../core/pipeline/reprocess.ts';
import { createUnderstand } from '../../../../core/pipeline/understanding.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { openDomain } from '../../../helpers/domain.ts';
import { openVectors, openWords } from '../../../helpers/meaning.ts';
import { meaningOf } from '../../../helpers/rest.ts';

type Told = Partial<UnderstoodMemory> & { text: string };
type Line = [speaker: 'owner' | 'Nora' | 'stranger', text: string];

const running = new AbortController().signal;
const DAY_MS = 86_400_000;
const DRAFT = { category: 'other' as const, visibility: 'private' as const, tags: [] };
const NO_TITLE = { text: 'talk', from: [] };

async function start(t: ExecutionContext, open?: Parameters<typeof openDomain>[1]) {
  const domain = await openDomain(t, open);
  const { conversations, memories, people, users, clock, storage } = domain;
  const user = await users.add('miriam');
  const nora = await people.create(user.id, 'Nora');
  /** Memories that the plugin returns for a conversation, whatever was said. */
  const tells = new Map<string, Told[]>();

  function finishWith(signal = running, onAnswer = () => {}, create = createFinish) {
    const understand = createUnderstand({
      providers: () => [{ name: 'p', understanding: { understand: answer } }],
      log: domain.log,
    });
    async function answer(transcript: readonly { id: string }[]) {
      const ids = transcript.map(({ id }) => id);
      const told = tells.get(transcript[0]?.id ?? '') ?? [];
      onAnswer();
      return {
        ...{ discard: false, title: NO_TITLE, overview: [], category: 'other', tasks: [], events: [] },
        memories: told.map(each => ({ from: ids, ...each })),
      };
    }
    const finish = create({ ...domain, ...meaningOf(domain), understand });
    return (conversationId: string) =>
      finish(
        {
          ...{ id: 'j', kind: FINISH_JOB, key: conversationId, runAt: clock.now(), attempts: 1, lease: 'l' },
          payload: { userId: user.id, conversationId },
        },
        signal,
      );
  }

  /** Creates a conversation of these lines, for which the plugin returns these memories; processed unless `later`. */
  async function talk(told: Told[], lines: Line[] = [['owner', 'hello']], daysAgo = 0, later = false) {
    const { id } = await conversations.importSegments(
      {
        ...{ userId: user.id, clientSessionId: null, source: 'omi', deviceId: null, language: 'en' },
        ...{ geolocation: null, startedAt: clock.now() - daysAgo * DAY_MS, finishedAt: null },
        segments: lines.map(([speaker, text], index) => ({
          ...{ text, start: index * 5, end: index * 5 + 4, speakerId: null },
          speaker: speaker === 'owner' ? 'SPEAKER_00' : 'SPEAKER_01',
          isUser: speaker === 'owner',
          personId: speaker === 'Nora' ? nora.id : null,
        })),
      },
      0,
    );
    const segments = await conversations.segments(user.id, [id]);
    tells.set(segments[0]?.id ?? '', told);
    if (!later) await finishWith()(id);
    clock.advance(1000);
    return { id, segments: segments.map(segment => segment.id) };
  }

  /** Processes the conversation again; the plugin now returns these memories. */
  async function again({ id, segments }: { id: string; segments: string[] }, told: Told[]) {
    const [segment = ''] = segments;
    tells.set(segment, told);
    await conversations.correct(user.id, id, segment, { text: `hello ${clock.now()}` });
    await finishWith(running, () => {}, createReprocess)(id);
    clock.advance(1000);
  }

  const list = () => storage.memories.list(user.id, { limit: 100, offset: 0 });
  const contents = async () => (await list()).map(({ content }) => content).sort();
  const only = async () => {
    const all = await list();
    t.is(all.length, 1);
    return all[0] ?? (t.fail() as never);
  };
  return { ...domain, user, memories, finishWith, talk, again, tells, list, contents, only };
}

const HAMBURG = { text: 'Lives in Hamburg', topic: 'home' };
const LEIPZIG = { text: 'Lives in Leipzig', topic: 'home' };

for (const { name, open } of await openDatabases(test)) {
  const on = (
    title: string,
    run: (t: ExecutionContext, from: Awaited<ReturnType<typeof start>>) => Promise<void>,
  ) => test(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on(
    'a memory is stored with the segments in which the owner or a known person said it, pending review',
    async (t, { talk, only, list, clock, user }) => {
      const at = clock.now();
      const { id, segments } = await talk(
        [{ text: 'Allergic to penicillin' }],
        [
          ['stranger', 'any allergies'],
          ['owner', 'penicillin'],
          ['Nora', 'she is'],
        ],
      );
      const memory = await only();
      t.like(memory, {
        ...{ userId: user.id, content: 'Allergic to penicillin', category: 'system', visibility: 'private' },
        ...{ manuallyAdded: false, reviewed: false, userReview: null, edited: false, asOf: at + 14_000 },
      });
      t.regex(memory.scoring, /^00_999_/);
      t.like(memory.sources, {
        0: { conversationId: id, segmentIds: segments.slice(1), saidAt: at + 14_000 },
        length: 1,
      });

      await talk([{ text: 'Collects antique clocks' }], [['stranger', 'I collect antique clocks']]);
      t.is((await list()).length, 1, 'television');
    },
  );

  on(
    'a known memory gains a source, even in other words, and a more detailed wording',
    async (t, { talk, only }) => {
      const first = await talk([{ text: 'Plays the viola' }]);
      const second = await talk([{ text: 'plays the Viola!' }, { text: 'Plays viola' }]);
      const third = await talk([{ text: 'Has played the viola since the age of nine' }]);
      const memory = await only();
      t.is(memory.content, 'Has played the viola since the age of nine');
      t.deepEqual(
        memory.sources.map(({ conversationId }) => conversationId),
        [first.id, second.id, third.id],
      );
      t.deepEqual(memory.history, []);
    },
  );

  on(
    'a contradiction replaces a memory and keeps its history; an earlier statement only adds to the history',
    async (t, { talk, only, memories, user, again }) => {
      const first = await talk([HAMBURG]);
      const second = await talk([LEIPZIG]);
      await talk([{ text: 'Lives in Kiel', topic: 'home' }], undefined, 30);
      const memory = await only();
      t.is(memory.content, 'Lives in Leipzig');
      t.deepEqual(
        memory.sources.map(({ conversationId }) => conversationId),
        [second.id],
      );
      t.deepEqual(
        memory.history.map(({ content }) => content),
        ['Lives in Kiel', 'Lives in Hamburg'],
      );
      t.is(memory.history[1]?.sources[0]?.conversationId, first.id);

      await memories.accept(user.id, memory.id);
      const [, hamburg] = memory.history;
      const restored = await memories.restore(user.id, memory.id, hamburg?.id ?? '');
      t.like(restored, { content: 'Lives in Hamburg', edited: true, reviewed: true, userReview: true });
      t.deepEqual(
        restored.history.map(({ content }) => content),
        ['Lives in Kiel', 'Lives in Leipzig'],
      );
      await again(second, [LEIPZIG]);
      t.deepEqual(await only(), restored, 'processed again');
      await t.throwsAsync(memories.restore(user.id, memory.id, hamburg?.id ?? ''), {
        message: 'Version not found',
      });

      await talk([LEIPZIG]);
      t.like(await only(), { content: 'Lives in Leipzig', reviewed: false, userReview: null, edited: false });
    },
  );

  on(
    "a plugin may name the memory that is no longer true, among the owner's only",
    async (t, { talk, memories, user, users, contents, list }) => {
      await memories.create(user.id, [{ ...DRAFT, content: 'Drinks black coffee' }]);
      const ben = await users.add('ben');
      await memories.create(ben.id, [{ ...DRAFT, content: 'Rides a horse' }]);
      await talk([
        { text: 'Only drinks green tea', replaces: 'Drinks black coffee' },
        { text: 'Sails a boat', replaces: 'Rides a horse' },
      ]);
      t.deepEqual(await contents(), ['Only drinks green tea', 'Sails a boat']);
      const tea = (await list()).find(({ content }) => content === 'Only drinks green tea');
      t.deepEqual(
        tea?.history.map(({ content }) => content),
        ['Drinks black coffee'],
      );
      t.deepEqual(
        (await memories.list(ben.id, { limit: 9, offset: 0 })).map(({ content }) => content),
        ['Rides a horse'],
      );
    },
  );

  on(
    "processing again gives the same list, removes memories no longer found, and keeps the owner's changes",
    async (t, { talk, again, contents, list, memories, user }) => {
      const said = ['Has two cats', 'Knits socks', 'Fears spiders', 'Speaks Danish'].map(text => ({ text }));
      const talked = await talk(said);
      const before = await list();
      await again(talked, said);
      t.deepEqual(await list(), before);

      const idOf = (text: string) =>
        before.find(({ content }) => content === text)?.id ?? (t.fail(text) as never);
      await memories.edit(user.id, idOf('Has two cats'), { content: 'Has two old cats called Max and Mo' });
      await memories.remove(user.id, idOf('Knits socks'));
      await memories.accept(user.id, idOf('Fears spiders'));
      await again(talked, said);
      t.deepEqual(await contents(), ['Fears spiders', 'Has two old cats called Max and Mo', 'Speaks Danish']);
      await again(talked, [{ text: 'Speaks Finnish' }]);
      t.deepEqual(await contents(), [
        'Fears spiders',
        'Has two old cats called Max and Mo',
        'Speaks Finnish',
      ]);
      await again(talked, []);
      t.deepEqual(await contents(), ['Fears spiders', 'Has two old cats called Max and Mo']);
    },
  );

  on(
    'a superseded memory is restored when its conversation no longer contradicts it',
    async (t, { talk, again, only }) => {
      await talk([HAMBURG]);
      const wrong = await talk([LEIPZIG]);
      await again(wrong, [{ text: 'Lives in Leiden', topic: 'home' }]);
      t.like(await only(), { content: 'Lives in Leiden', history: { length: 1 } });
      await again(wrong, []);
      t.like(await only(), { content: 'Lives in Hamburg', history: [] });
    },
  );

  on(
    'interrupted and simultaneous runs store everything once',
    async (t, { talk, finishWith, list, conversations, user }) => {
      const { id } = await talk([HAMBURG, { text: 'Plays the viola' }], undefined, 0, true);
      const cut = new AbortController();
      const stopping = finishWith(cut.signal, () => cut.abort(new Error('stopping')));
      await t.throwsAsync(async () => stopping(id), { message: 'stopping' });
      t.deepEqual(await list(), []);
      await Promise.all([finishWith()(id), finishWith()(id), finishWith()(id)]);
      await finishWith()(id);
      const all = await list();
      t.is(all.length, 2);
      t.deepEqual(
        (await conversations.get(user.id, id))?.structured.memories?.toSorted(),
        all.map(each => each.id).sort(),
      );
    },
  );

  on(
    'a failed transaction stores nothing, and the next run stores all of it',
    async (t, { talk, finishWith, list, storage, user, conversations }) => {
      const { id } = await talk([HAMBURG, LEIPZIG], undefined, 0, true);
      const { transaction } = storage;
      let fails = 0;
      storage.transaction = (what, work) =>
        transaction(what, async tx => {
          const done = await work(tx);
          if (what === 'conclude conversation' && fails++ === 0) throw new Error('the power failed');
          return done;
        });
      await t.throwsAsync(async () => finishWith()(id), { message: 'the power failed' });
      t.deepEqual(await list(), []);
      t.is((await conversations.get(user.id, id))?.status, 'processing');
      await finishWith()(id);
      t.is((await list()).length, 1);
      t.is((await conversations.get(user.id, id))?.status, 'completed');
    },
  );

  on(
    'a deleted memory is not found again, in these words or others, unless its owner adds it',
    async (t, { talk, contents, list, memories, user, storage }) => {
      await talk([{ text: 'Sees a therapist, Doctor Weiss, on Thursdays' }, LEIPZIG]);
      const [therapist] = (await list()).filter(({ content }) => content.includes('therapist'));
      await memories.remove(user.id, therapist?.id ?? '');
      await talk([
        { text: 'Has a therapist on Thursdays' },
        { text: 'Sees a therapist' },
        { text: 'Nora has a therapist' },
      ]);
      t.deepEqual(await contents(), ['Lives in Leipzig', 'Nora has a therapist']);
      const kept = JSON.stringify(await storage.forgottenMemories.list(user.id, 10));
      t.notRegex(kept, /therap|weiss|thursd/i);
      await memories.note(user.id, [{ ...DRAFT, content: 'Sees a therapist' }]);
      t.is((await list()).length, 2, 'a program noted it');
      await memories.create(user.id, [{ ...DRAFT, content: 'Sees a therapist' }]);
      t.deepEqual(await storage.forgottenMemories.list(user.id, 10), []);
    },
  );

  on(
    'after a conversation is deleted, merged or split, each memory exists once',
    async (t, { talk, conversations, user, finishWith, contents, list, tells }) => {
      const gone = await talk([{ text: 'Has two cats' }]);
      await conversations.remove(user.id, gone.id);
      t.like(await list(), { 0: { content: 'Has two cats', sources: [] }, length: 1 });

      const lines: Line[] = [
        ['owner', 'one'],
        ['owner', 'two'],
      ];
      const one = await talk([{ text: 'Knits socks' }, HAMBURG], lines);
      const other = await talk([{ text: 'Speaks Danish' }, HAMBURG]);
      tells.set(one.segments[0] ?? '', [{ text: 'Knits socks' }, { text: 'Speaks Danish' }, HAMBURG]);
      const ids = (await list()).map(({ id }) => id).sort();
      await conversations.merge(user.id, one.id, other.id);
      await finishWith()(one.id);
      t.deepEqual((await list()).map(({ id }) => id).sort(), ids);
      t.true(
        (await list()).every(({ sources }) =>
          sources.every(({ conversationId }) => conversationId === one.id),
        ),
      );

      const all = await conversations.segments(user.id, [one.id]);
      const second = all[1]?.id ?? '';
      tells.set(all[0]?.id ?? '', [{ text: 'Knits socks' }]);
      tells.set(second, [{ text: 'Speaks Danish' }, HAMBURG]);
      const part = await conversations.split(user.id, one.id, second);
      await finishWith()(one.id);
      await finishWith()(part.id);
      t.deepEqual(await contents(), ['Has two cats', 'Knits socks', 'Lives in Hamburg', 'Speaks Danish']);
    },
  );

  on(
    'a locked memory does not change, and memories of accounts are separate',
    async (t, { talk, storage, user, users, only }) => {
      await talk([HAMBURG]);
      const { id } = await only();
      await storage.memories.update(user.id, id, { locked: true });
      await talk([LEIPZIG]);
      t.like(await storage.memories.get(user.id, id), { content: 'Lives in Hamburg', history: [] });
      const ben = await users.add('ben');
      t.deepEqual(await storage.memories.ofTopic(ben.id, 'home'), []);
    },
  );
}

test('the same fact in other words is recognised by its meaning', async t => {
  const { meaning, embedding, user, talk, list } = await start(t);
  const [{ index }, words] = [await openVectors(t), openWords()];
  meaning.embedder = () => words;
  meaning.vectors = () => index;
  const embed = () =>
    embedding.embed(
      {
        id: 'j',
        kind: 'embed',
        key: user.id,
        payload: { userId: user.id },
        runAt: 0,
        attempts: 1,
        lease: 'l',
      },
      running,
    );
  await talk([{ text: 'Cooks big Italian meals for friends' }]);
  await embed();
  await talk([{ text: 'Cooks large Italian meals for friends' }]);
  await talk([{ text: 'Cooks large Spanish meals for friends' }]);
  t.is((await list()).length, 2);
});
