import test, { type ExecutionContext } from 'ava';
import type { TranslationRequest, Translator } from '../../../../core/contract/plugin.ts';
import { createTranslations } from '../../../../core/domain/speech/translations.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { openDomain } from '../../../helpers/domain.ts';

const SETTLED_MS = 1500;

type Translate = (request: TranslationRequest, signal: AbortSignal) => Promise<string>;

/** A user who reads German, and a translator that answers in capital letters. */
async function open(t: ExecutionContext) {
  const domain = await openDomain(t);
  const { clock, conversations, users, speechSettings } = domain;
  const asked: TranslationRequest[] = [];
  const given = {
    translate: (async ({ text }) => text.toUpperCase()) as Translate,
    translators: [] as Translator[],
  };
  const translator: Translator = {
    languages: ['de', 'en', 'fr'],
    translate(request, signal) {
      asked.push(request);
      return given.translate(request, signal);
    },
  };
  given.translators.push(translator);
  const translations = createTranslations({
    ...domain,
    translators: () => given.translators,
    models: () => [],
  });
  translations.start();
  t.teardown(() => translations.stop());
  const user = await users.add('anna');
  await speechSettings.change(user.id, { translateTo: 'de' });

  async function talk(userId = user.id, language = 'en') {
    const { id } = await conversations.open({
      userId,
      source: 'omi',
      deviceId: null,
      language,
      timeoutMs: 120_000,
    });
    const startedAt = clock.now();
    let at = 0;
    /** Says it after a pause, which starts a new segment, unless `joins`. */
    async function say(text: string, { joins = false, language: heard = '' } = {}) {
      at += joins ? 100 : 10_000;
      const piece = { text, startAt: startedAt + at, endAt: startedAt + at + 50, speaker: 'SPEAKER_00' };
      const pieces = [{ ...piece, sttProvider: 'test', ...(heard ? { language: heard } : {}) }];
      const [segment] = await conversations.append({
        userId,
        conversationId: id,
        stream: null,
        startedAt,
        pieces,
      });
      if (!segment) throw new Error('nothing was stored');
      return segment;
    }
    return { id, say };
  }

  /** Waits until segments are final, and resolves after this many translations in total. */
  async function settle(count: number) {
    await clock.asleep(SETTLED_MS);
    clock.advance(SETTLED_MS);
    await translated(count);
  }

  async function translated(count: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => domain.told.translated.length >= count && resolve();
    domain.events.on('translated', look);
    look();
    await promise;
  }

  return { ...domain, user, asked, given, talk, settle, translated, translations };
}

test('a segment is translated once it has stopped growing, announced once, and stored', async t => {
  const { talk, settle, told, asked, conversations, user } = await open(t);
  const { id, say } = await talk();
  const { id: segmentId } = await say('Good morning.');
  await say('How are you?', { joins: true });
  await settle(1);
  t.deepEqual(
    asked.map(({ text, from, to }) => ({ text, from, to })),
    [{ text: 'Good morning. How are you?', from: 'en', to: 'de' }],
  );
  const translations = [{ lang: 'de', text: 'GOOD MORNING. HOW ARE YOU?' }];
  t.deepEqual(told.translated, [{ userId: user.id, conversationId: id, segmentId, translations }]);
  const [stored] = await conversations.segments(user.id, [id]);
  t.deepEqual(stored?.translations, translations);
});

test('a translation pending at shutdown is made once its conversation has ended, and nothing twice', async t => {
  const {
    talk,
    settle,
    translated,
    told,
    asked,
    events,
    storage,
    clock,
    user,
    translations,
    given,
    ...domain
  } = await open(t);
  const { id, say } = await talk();
  await say('Good morning.');
  await settle(1);
  const { id: segmentId } = await say('How are you?');
  await translations.stop();
  clock.advance(60_000);
  const restarted = createTranslations({
    ...{ ...domain, storage, events, clock },
    ...{ translators: () => given.translators, models: () => [] },
  });
  restarted.start();
  t.teardown(restarted.stop);
  const later = await talk();
  const said = await later.say('Not yet settled.');
  for (const conversationId of [id, later.id]) {
    const conversation = await storage.conversations.get(user.id, conversationId);
    if (conversation) events.emit('conversation.processed', { userId: user.id, conversation });
  }
  await translated(2);
  t.is(told.translated[1]?.segmentId, segmentId);
  t.deepEqual(
    asked.map(({ text }) => text),
    ['Good morning.', 'How are you?'],
  );
  t.is((await storage.segments.get(user.id, said.id))?.translations, null, 'it waits for its own turn');
});

test('a segment that grows after its translation has none until it is translated again', async t => {
  const { talk, settle, told, conversations, user } = await open(t);
  const { id, say } = await talk();
  await say('Good morning.');
  await settle(1);
  await say('Sleep well?', { joins: true });
  t.is((await conversations.segments(user.id, [id]))[0]?.translations, null);
  await settle(2);
  t.is(told.translated[1]?.translations[0]?.text, 'GOOD MORNING. SLEEP WELL?');
});

test('segments are translated in order, one at a time, and none waits for a slow translator', async t => {
  const { talk, given, told, translated, clock } = await open(t);
  const { say } = await talk();
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  let running = 0;
  given.translate = async ({ text }) => {
    running += 1;
    t.is(running, 1);
    begun.resolve();
    await gates[calls++]?.promise;
    running -= 1;
    return text.toUpperCase();
  };
  const texts = ['One.', 'Two.', 'Three.'];
  const ids: string[] = [];
  for (const text of texts) ids.push((await say(text)).id); // each is stored although no translation exists yet
  await begun.promise;
  for (const gate of gates) gate.resolve();
  await translated(2);
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  await translated(3);
  t.deepEqual(
    told.translated.map(({ segmentId }) => segmentId),
    ids,
  );
});

test("speech in the reader's language is not translated, whether the connection or the text identifies it", async t => {
  const { talk, settle, asked, told } = await open(t);
  const multi = await talk(undefined, 'multi');
  await multi.say('Wir müssen morgen früh noch einmal zum Bahnhof fahren.'); // German, as its words show
  await multi.say('Where did you put the keys?');
  await settle(1);
  t.deepEqual(
    asked.map(({ text, from }) => [text, from]),
    [['Where did you put the keys?', 'en']],
  );
  await multi.say('hello');
  await settle(2);
  t.is(asked[1]?.from, null, 'the translator finds out');
  t.is(told.translated.length, 2);
});

test('a text is translated once, and each user has their own translations', async t => {
  const { talk, settle, asked, told, users, speechSettings } = await open(t);
  const { say } = await talk();
  await say('Good morning.');
  await settle(1);
  await say('Good morning.');
  await settle(2);
  t.is(asked.length, 1);
  const ben = await users.add('ben');
  const bens = await talk(ben.id);
  await bens.say('Hello Anna.'); // no language was chosen
  await speechSettings.change(ben.id, { translateTo: 'fr' });
  await bens.say('Good morning.');
  await settle(3);
  t.deepEqual(
    told.translated.map(({ userId, translations }) => [userId === ben.id, translations[0]?.lang]),
    [[false, 'de'], [false, 'de'], [true, 'fr'], ...(told.translated.length > 3 ? [[true, 'fr']] : [])],
  );
});

test('a failed translation is retried, then the segment is skipped, and none of its words is logged', async t => {
  const { talk, given, clock, translated, told, logged, asked } = await open(t);
  const { say } = await talk();
  let failures = 3;
  given.translate = async ({ text }) => {
    failures -= 1;
    if (failures >= 0) throw new AppError('upstream_error', 'the server is away');
    return text.toUpperCase();
  };
  await say('Nobody will ever read this sentence in German.');
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  for (const pause of [1000, 5000]) {
    await clock.asleep(pause);
    clock.advance(pause);
  }
  await say('This one they will.');
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  await translated(1);
  t.deepEqual(
    told.translated.map(({ translations }) => translations[0]?.text),
    ['THIS ONE THEY WILL.'],
  );
  t.is(asked.length, 4);
  t.is(logged.filter(({ msg }) => msg === 'a segment could not be translated').length, 3);
});

test('a translator that never answers is abandoned, and one with an invalid answer is not retried', async t => {
  const { talk, given, clock, translated, asked } = await open(t);
  const { say } = await talk();
  given.translate = () => new Promise(() => {});
  await say('One.');
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  for (const ms of [20_000, 1000, 20_000, 5000, 20_000]) {
    await clock.asleep(ms);
    clock.advance(ms);
  }
  given.translate = async () => 'x'.repeat(10_001);
  await say('Two.');
  await clock.asleep(SETTLED_MS);
  given.translate = async ({ text }) => (text === 'Two.' ? 'x'.repeat(10_001) : 'drei');
  await say('Three.'); // the second is due at once
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  await translated(1);
  t.deepEqual(
    asked.map(({ text }) => text),
    ['One.', 'One.', 'One.', 'Two.', 'Three.'],
  );
});

test('at most 200 segments of a user are queued; the oldest are skipped', async t => {
  const { talk, given, translated, told, clock } = await open(t);
  const { say } = await talk();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  given.translate = async ({ text }) => {
    begun.resolve();
    await gate.promise;
    return text.toUpperCase();
  };
  await say('first');
  await say('second');
  await begun.promise; // the first is being translated
  for (let number = 0; number < 210; number++) await say(`number ${number}`);
  gate.resolve();
  await translated(200);
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  await translated(201);
  t.is(told.translated.length, 201);
  t.is(told.translated[0]?.translations[0]?.text, 'FIRST');
  t.is(told.translated[1]?.translations[0]?.text, 'NUMBER 10');
});

test('corrected text is translated again, and an outdated translation is not stored', async t => {
  const { talk, settle, given, told, conversations, user } = await open(t);
  const { id, say } = await talk();
  const segment = await say('Good mourning.');
  await settle(1);
  await conversations.correct(user.id, id, segment.id, { text: 'Good morning.' });
  t.is((await conversations.segments(user.id, [id]))[0]?.translations, null);
  given.translate = async ({ text }) => {
    given.translate = async ({ text }) => text.toUpperCase();
    await conversations.correct(user.id, id, segment.id, { text: 'Good evening.' });
    return text.toUpperCase();
  };
  await settle(1);
  await settle(2);
  t.deepEqual(
    told.translated.map(({ translations }) => translations[0]?.text),
    ['GOOD MOURNING.', 'GOOD EVENING.'],
  );
});

test('without a translator, or one for the language, no request is made', async t => {
  const { talk, given, asked, speechSettings, user, clock, settle } = await open(t);
  const { say } = await talk();
  await speechSettings.change(user.id, { translateTo: 'ja' });
  await say('One.');
  await clock.asleep(SETTLED_MS);
  clock.advance(SETTLED_MS);
  const none = given.translators.splice(0);
  await say('Two.');
  given.translators.push(...none);
  await speechSettings.change(user.id, { translateTo: 'de' });
  await say('Three.');
  await settle(1);
  t.deepEqual(
    asked.map(({ text }) => text),
    ['Three.'],
  );
});
