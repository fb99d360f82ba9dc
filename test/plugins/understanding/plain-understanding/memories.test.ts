import test from 'ava';
import type { SpokenSegment } from '../../../../core/contract/plugin.ts';
import { memoriesOf } from '../../../../plugins/understanding/plain-understanding/memories.ts';

type Line = readonly [speaker: string, text: string];

/** Of what Anna and others said; Ben and Nora are known. */
function heard(language: string, ...lines: Line[]) {
  const transcript = lines.map(
    ([speaker, text], index): SpokenSegment => ({
      ...{ id: `s${index}`, text, speaker, isUser: speaker === 'Anna' },
      ...{ startAt: index * 5000, endAt: index * 5000 + 4000 },
    }),
  );
  return memoriesOf(transcript, { owner: 'Anna', people: ['Ben', 'Nora'], languages: [language] });
}

const texts = (...given: Parameters<typeof heard>) => heard(...given).map(({ text }) => text);

const FACTS: Record<string, Record<string, string>> = {
  en: {
    "I'm vegetarian by the way": 'Is vegetarian',
    "my sister lives in Leeds and she's a nurse": 'Sister lives in Leeds',
    'my daughter Lily is coming on Friday': 'Daughter is called Lily',
    "I've got a bad back so I can't lift that": 'Has a bad back',
    "I've been working at the hospital for twenty years": 'Has been working at the hospital for twenty years',
    'we have two cats and a parrot': 'Has two cats',
    "I don't like mushrooms": 'Does not like mushrooms',
    "my wife's Dutch": 'Wife is Dutch',
    'I take metformin for my diabetes': 'Takes metformin for diabetes',
    'we go to the market every Saturday': 'Goes to the market every Saturday',
    'I grew up on a farm': 'Grew up on a farm',
    "my brother's a plumber": 'Brother is a plumber',
    'Ben has three children': 'Ben has three children',
    'Nora moved to Lyon': 'Nora lives in Lyon',
    'my birthday is on the third of June': 'Birthday is on the third of June',
    "Nora's birthday is the third of June": "Nora's birthday is on the third of June",
    'our dog is called Pixel': 'Dog is called Pixel',
    "I'm colour blind so which one is red": 'Is colour blind',
  },
  de: {
    'ich bin ja allergisch gegen Nüsse': 'Ist allergisch gegen Nüsse',
    'weil ich doch Linkshänder bin': 'Ist Linkshänder',
    'meine Tochter heißt Lena': 'Tochter heißt Lena',
    'wir haben einen Hund': 'Hat einen Hund',
    'ich hab leider Heuschnupfen': 'Hat Heuschnupfen',
    'ich arbeite seit zehn Jahren bei der Post': 'Arbeitet seit zehn Jahren bei der Post',
    'ich esse kein Fleisch': 'Isst kein Fleisch',
    'mein Vater war Bäcker': 'Vater war Bäcker',
    'ich bin in Graz aufgewachsen': 'Ist in Graz aufgewachsen',
    'jetzt wohnen wir in Bonn': 'Wohnt in Bonn',
    'ich spiele seit zwanzig Jahren Klavier': 'Spielt Klavier',
    'ich gehe jeden Dienstag schwimmen': 'Geht jeden Dienstag schwimmen',
    'Ben verträgt keine Milch': 'Ben verträgt keine Milch',
    'bin Rentner': 'Ist Rentner',
  },
};

const NO_FACTS: Record<string, string[]> = {
  en: [
    "I'll call the dentist tomorrow",
    "I'm so tired today",
    "if I lived in Rome I'd eat pasta every day",
    'he said I live in a dream world',
    'do I have two brothers or what',
    'do you think I live in Rome?',
    'I have to take one every day',
    'I love it',
    "I can't come tomorrow",
    "I've been waiting for ages",
    "I don't like the way he talks",
    "I'm a bit late sorry",
    'my boss Monday was furious',
    'she goes "I live in Paris" and leaves',
    "I've got a car outside waiting",
    'I never want to see that again',
    'a year ago I told you that I live in Hamburg',
  ],
  de: [
    'ich bin müde',
    'ich habe einen Termin um zehn',
    'wenn ich in Rom wohne esse ich Pasta',
    'ich komme aus der Sitzung',
    'ich arbeite morgen von zu Hause',
    'er meinte ich wohne in Wien',
    'wir haben einen Hund gesehen',
    'ich mag nicht mehr',
  ],
};

for (const [language, facts] of Object.entries(FACTS))
  test(`lasting facts are noted in the third person (${language})`, t => {
    for (const [said, text] of Object.entries(facts))
      t.deepEqual(texts(language, ['Anna', said]), [text], said);
  });

for (const [language, sayings] of Object.entries(NO_FACTS))
  test(`tasks, moods, conditions, questions and what others said are no facts (${language})`, t => {
    for (const said of sayings) t.deepEqual(texts(language, ['Anna', said]), [], said);
  });

test('known people are named, whoever speaks of them; those who are not known are not noted', t => {
  t.deepEqual(texts('en', ['Anna', 'hello'], ['Ben', "I can't stand dust"]), ["Ben can't stand dust"]);
  t.deepEqual(texts('en', ['Ben', 'nuts'], ['Anna', "no you're allergic to nuts"]), [
    'Ben is allergic to nuts',
  ]);
  t.deepEqual(texts('en', ['Speaker 3', 'I live in Rome'], ['Anna', 'turn it off']), []);
  t.deepEqual(texts('en', ['Speaker 3', 'nuts'], ['Anna', "you're allergic to nuts"]), []);
  t.deepEqual(texts('en', ['Ben', "you're allergic to hard work"], ['Anna', 'ha']), []);
  t.deepEqual(texts('en', ['Anna', 'when is Nora back'], ['Ben', 'Sunday she teaches physics']), [
    'Nora teaches physics',
  ]);
});

test('an answer is noted with its question', t => {
  t.deepEqual(heard('en', ['Speaker 2', 'Any allergies?'], ['Anna', 'Yes, penicillin.']), [
    { text: 'Is allergic to penicillin', from: ['s0', 's1'] },
  ]);
  const asked = heard('en', ['Ben', "when is Nora's birthday"], ['Anna', 'the third of June']);
  t.deepEqual(asked, [
    { text: "Nora's birthday is on the third of June", topic: 'Nora: birthday: day', from: ['s0', 's1'] },
  ]);
});

test('what there is only one of has a topic, and of what is said twice the last counts', t => {
  const [memory, ...others] = heard('en', ['Anna', 'I live in Rome'], ['Anna', 'no sorry I live in Pisa']);
  t.deepEqual([memory?.text, memory?.topic, others], ['Lives in Pisa', 'home', []]);
  t.is(heard('en', ['Anna', 'hi'], ['Ben', 'I live in Rome'])[0]?.topic, 'Ben: home');
});

test('at most four are noted, of however long a talk', t => {
  const lines = Array.from(
    { length: 5000 },
    (_, at): Line => ['Anna', `I collect stones${at} and I speak Danish`],
  );
  t.is(heard('en', ...lines).length, 4);
  t.is(heard('en', ['Anna', 'I '.repeat(50_000)]).length, 0);
});
