import test from 'ava';
import type { SpokenSegment } from '../../../../core/contract/plugin.ts';
import { createBackgroundPace } from '../../../../plugins/kit/kit.ts';
import { memoriesOf } from '../../../../plugins/understanding/plain-understanding/memories.ts';

const pace = createBackgroundPace(new AbortController().signal);

type Line = readonly [speaker: string, text: string];

/** Returns the memories of these lines; Ben and Nora are known. */
function heard(language: string, ...lines: Line[]) {
  return heardBy([], language, ...lines);
}

/** @param known existing memories */
function heardBy(known: string[], language: string, ...lines: Line[]) {
  const transcript = lines.map(
    ([speaker, text], index): SpokenSegment => ({
      ...{ id: `s${index}`, text, speaker, isUser: speaker === 'Anna' },
      ...{ startAt: index * 5000, endAt: index * 5000 + 4000 },
    }),
  );
  const context = { owner: 'Anna', people: ['Ben', 'Nora'], languages: [language] };
  return memoriesOf(transcript, { ...context, memoriesNear: async () => known }, pace);
}

const texts = async (...given: Parameters<typeof heard>) => (await heard(...given)).map(({ text }) => text);

const FACTS: Record<string, Record<string, string>> = {
  en: {
    "I've only got one kidney.": 'Has only one kidney',
    'I train five mornings a week.': 'Trains five mornings a week',
    'My mother had osteoporosis.': 'Mother had osteoporosis',
    'I got the job at the library.': 'Has a job at the library',
    'My shoe size is forty two.': 'Shoe size is forty two',
    'My blood type is O negative.': 'Blood group is O negative',
    'We keep kosher.': 'Keeps kosher',
    'I grew up speaking Welsh.': 'Grew up speaking Welsh',
    'I run the bakery on Mill Lane.': 'Runs the bakery on Mill Lane',
    'I commute by bike.': 'Commutes by bike',
    "I'm studying to be a nurse.": 'Is studying to be a nurse',
    'I was brought up in Wales.': 'Was brought up in Wales',
    'I used to be a teacher': 'Was a teacher',
    'I used to live in Lisbon': 'Used to live in Lisbon',
    'we keep bees': 'Keeps bees',
    'I cycle to work': 'Cycles to work',
    'I hate coriander, it tastes like soap': 'Dislikes coriander',
    'I swim before work most mornings': 'Swims before work most mornings',
    "aspirin doesn't agree with me": 'Does not tolerate aspirin',
    "No nuts for me, I'm allergic.": 'Is allergic to nuts',
    "My mum's got dementia": 'Mum has dementia',
    "my wife's expecting in March": 'Wife is expecting a baby in March',
    "I'm training to be a nurse": 'Is training to be a nurse',
    'we separated last spring': 'Is separated',
    'I live on the fourth floor with no lift': 'Lives on the fourth floor',
    "I'm at Siemens now": 'Works at Siemens',
    'I never learned to drive': 'Never learned to drive',
    "my daughter becky's graduation": 'Daughter is called Becky',
    "I'm vegetarian by the way": 'Is vegetarian',
    'my sister lives in Leeds and she likes it': 'Sister lives in Leeds',
    'this is my wife, Lorraine.': 'Wife is called Lorraine',
    'we need food for Biscuit, our cat': 'Cat is called Biscuit',
    'no nuts because of my nut allergy': 'Has a nut allergy',
    "I'm there every day since I retired": 'Is retired',
    "I'm in banking these days": 'Works in banking',
    'my mum is eighty two': 'Mum is eighty two years old',
    'I work three days a week': 'Works three days a week',
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
    "I'm allergic to nuts": 'Is allergic to nuts',
    'my daughter is called Mia': 'Daughter is called Mia',
    'we moved to Lyon last spring': 'Lives in Lyon',
    'my mum has dementia': 'Mum has dementia',
    'I work in a bank': 'Works in a bank',
    'we have a house in Devon': 'Has a house in Devon',
    'my parents live in Hull': 'Parents live in Hull',
    'I had a heart attack in 2015': 'Had a heart attack',
    'my son is six': 'Son is six years old',
    "Ben's wife is called Sue": "Ben's wife is called Sue",
    "our cat's name is Minka": 'Cat is called Minka',
    'did you know Priya moved to Oslo': 'Priya lives in Oslo',
  },
  de: {
    'Ich habe nur eine Niere.': 'Hat nur eine Niere',
    'Ich trainiere fünfmal die Woche.': 'Trainiert fünfmal die Woche',
    'Meine Mutter hatte Osteoporose.': 'Mutter hatte Osteoporose',
    'Ich habe die Stelle in der Bibliothek bekommen.': 'Hat eine Stelle in der Bibliothek',
    'Ich bin auf dem linken Ohr fast taub.': 'Ist auf dem linken Ohr fast taub',
    'Meine Blutgruppe ist null negativ.': 'Blutgruppe ist null negativ',
    'Ich habe nie schwimmen gelernt.': 'Hat nie schwimmen gelernt',
    'Ich bin mit Polnisch aufgewachsen.': 'Ist mit Polnisch aufgewachsen',
    'Meine Frau sitzt im Rollstuhl.': 'Frau sitzt im Rollstuhl',
    'Ich bin die Jüngste von fünf.': 'Ist die Jüngste von fünf',
    'Ich leide unter Migräne.': 'Leidet unter Migräne',
    'Pilze mag ich überhaupt nicht.': 'Mag keine Pilze',
    'freitags hab ich immer frei': 'Hat freitags frei',
    'Ich stehe jeden Tag um fünf auf': 'Steht jeden Tag um fünf auf',
    'ich bin bei der freiwilligen Feuerwehr': 'Ist bei der freiwilligen Feuerwehr',
    'Ich fahr immer mit dem Rad zur Arbeit': 'Fährt immer mit dem Rad zur Arbeit',
    'ohne Nüsse bitte, ich vertrag die nicht mehr': 'Verträgt keine Nüsse',
    'ich bin auf dem linken Ohr taub': 'Ist auf dem linken Ohr taub',
    'mein Bruder ist Pilot bei der Lufthansa': 'Bruder ist Pilot',
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
    'wir sind letztes Jahr nach Lyon gezogen': 'Wohnt in Lyon',
    'ich gehe jeden Morgen joggen': 'Geht jeden Morgen joggen',
    'meine Mutter hat Demenz': 'Mutter hat Demenz',
    'meine Eltern kommen aus der Türkei': 'Eltern kommen aus der Türkei',
    'mein Sohn geht auf das Goethe-Gymnasium': 'Sohn geht auf das Goethe-Gymnasium',
    'ich wohne in der Lindenstraße': 'Wohnt in der Lindenstraße',
  },
  fr: {
    "Je n'ai qu'un rein.": 'N’a qu’un rein',
    "Je m'entraîne cinq fois par semaine.": 'S’entraîne cinq fois par semaine',
    'Je travaille le samedi au marché.': 'Travaille le samedi au marché',
    "Ma mère avait de l'ostéoporose.": "Mère avait de l'ostéoporose",
    "J'ai eu le poste à la bibliothèque.": 'A un poste à la bibliothèque',
    'Je fais du trente-huit.': 'Fait du trente-huit',
    'Mon groupe sanguin est O négatif.': 'Groupe sanguin : O négatif',
    'Je ne nage pas.': 'Ne nage pas',
    "J'ai toujours eu peur de l'eau.": "A peur de l'eau",
    'Notre anniversaire de mariage est le trois octobre.': 'Anniversaire est le trois octobre',
    'Je suis la plus jeune de cinq.': 'Est la plus jeune de cinq',
    "J'élève seule mes enfants.": 'Élève seule mes enfants',
    "j'ai arrêté de fumer": 'A arrêté de fumer',
    'je fais du yoga le mardi soir': 'Fait du yoga le mardi soir',
    'je vais au travail à vélo': 'Va au travail à vélo',
    'je travaille pas le mercredi': 'Ne travaille pas le mercredi',
    'gaucher je le suis oui': 'Est gaucher',
    'je suis allergique aux noix': 'Est allergique aux noix',
    "ma fille s'appelle Mia": "Fille s'appelle Mia",
    'on a déménagé à Lyon': 'Habite à Lyon',
    "j'ai deux enfants": 'A deux enfants',
    'je ne bois pas de café': 'Ne boit pas de café',
    "je n'aime pas les champignons": "N'aime pas les champignons",
    'mon mari travaille chez Airbus': 'Mari travaille chez Airbus',
    "ma meilleure amie s'appelle Claire": "Amie s'appelle Claire",
    'mes parents habitent à Brest': 'Parents habitent à Brest',
    'Ben est végétarien': 'Ben est végétarien',
    'je prends des cachets pour la tension': 'Prend des cachets pour la tension',
    "mon anniversaire c'est le quatre juillet": 'Anniversaire est le quatre juillet',
  },
  es: {
    'Solo tengo un riñón.': 'Solo tiene un riñón',
    'Entreno cinco veces por semana.': 'Entrena cinco veces por semana',
    'Mi madre tenía osteoporosis.': 'Madre tenía osteoporosis',
    'No tolero la leche.': 'No tolera la leche',
    'Mi grupo sanguíneo es cero negativo.': 'Grupo sanguíneo: cero negativo',
    'No sé nadar.': 'No sabe nadar',
    'Nunca aprendí a nadar.': 'Nunca aprendió a nadar',
    'Nuestro aniversario es el tres de octubre.': 'Aniversario es el tres de octubre',
    'Conduzco un Skoda.': 'Conduce un Skoda',
    'Mi mujer es matrona.': 'Mujer es matrona',
    'Soy la menor de cinco hermanos.': 'Es la menor de cinco hermanos',
    'No como cerdo.': 'No come cerdo',
    'Sufro de migrañas.': 'Sufre de migrañas',
    'la leche me sienta fatal': 'No tolera leche',
    'he dejado de fumar': 'Ha dejado de fumar',
    'los miércoles no trabajo': 'No trabaja los miércoles',
    'me levanto a las cinco todos los días': 'Se levanta a las cinco todos los días',
    'hago yoga los martes': 'Hace yoga los martes',
    'soy alérgico a las nueces': 'Es alérgico a las nueces',
    'mi hija se llama Mia': 'Hija se llama Mia',
    'nos hemos mudado a Valencia': 'Vive en Valencia',
    'tenemos tres hijas': 'Tiene tres hijas',
    'no bebo café': 'No bebe café',
    'me encanta el jazz': 'Le encanta el jazz',
    'trabajo en un hospital': 'Trabaja en un hospital',
    'mis padres viven en Cádiz': 'Padres viven en Cádiz',
    'mi cumpleaños es el cuatro de julio': 'Cumpleaños es el cuatro de julio',
    'Nora vive en Gante': 'Nora vive en Gante',
    'toco el piano desde niño': 'Toca el piano',
  },
};

const NO_FACTS: Record<string, string[]> = {
  en: [
    "I can't eat another bite",
    "I'm allergic to meetings",
    'my favourite part is the end',
    "I'm studying the menu",
    'I play the first part',
    'I never know what to say',
    'I have an idea',
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
    'ich trinke nur noch aus',
    'ich hab zwei Karten für Samstag',
    'ich bin beim Arzt',
    'ich bin müde',
    'ich habe einen Termin um zehn',
    'wenn ich in Rom wohne esse ich Pasta',
    'ich komme aus der Sitzung',
    'ich arbeite morgen von zu Hause',
    'er meinte ich wohne in Wien',
    'wir haben einen Hund gesehen',
    'ich mag nicht mehr',
    'ich arbeite in einer Stunde weiter',
    'die Milch ist gestorben teuer',
    'morgen gehe ich joggen',
    'meine Chefin kommt morgen',
  ],
  fr: [
    'je prends le bus',
    "j'ai deux places pour samedi",
    'je suis fatigué',
    'je vais à Lyon demain',
    "si j'habitais à Rome je mangerais des pâtes",
    'il a dit je suis allergique au travail',
    "j'ai faim",
    'on a rendez-vous à dix heures',
    'je travaille ce soir',
    "j'adore ça",
    'est-ce que tu habites à Lyon',
    'je dois appeler le dentiste',
  ],
  es: [
    'no como más',
    'tomo el autobús',
    'estoy cansada',
    'voy a Madrid mañana',
    'si viviera en Roma comería pasta',
    'dice que es de Bilbao',
    'tengo hambre',
    'tengo cita a las diez',
    'me encanta eso',
    'tengo que llamar al dentista',
    'esta noche trabajo',
  ],
};

for (const [language, facts] of Object.entries(FACTS))
  test(`lasting facts are noted in the third person (${language})`, async t => {
    for (const [said, text] of Object.entries(facts))
      t.deepEqual(await texts(language, ['Anna', said]), [text], said);
  });

for (const [language, sayings] of Object.entries(NO_FACTS))
  test(`tasks, moods, conditions, questions and reported speech are not facts (${language})`, async t => {
    for (const said of sayings) t.deepEqual(await texts(language, ['Anna', said]), [], said);
  });

test('answers without a verb, friends by name and what was given up are noted; opinions of oneself are not', async t => {
  t.deepEqual(
    await texts('fr', ['Speaker 3', 'Vous êtes allergique à quelque chose ?'], ['Anna', 'Au latex, oui.']),
    ['Est allergique : latex'],
  );
  t.deepEqual(
    await texts('de', ['Speaker 3', 'Isst du eigentlich noch vegan?'], ['Anna', 'Ja, seit drei Jahren.']),
    ['Lebt vegan'],
  );
  t.deepEqual(await texts('en', ['Speaker 3', 'Do you smoke?'], ['Anna', 'No, never.']), ['Does not smoke']);
  t.deepEqual(await texts('de', ['Anna', 'Die Emma ist meine beste Freundin.']), ['Freundin heißt Emma']);
  t.deepEqual(await texts('fr', ['Anna', "Moi j'ai arrêté l'alcool."]), ["A arrêté l'alcool"]);
  t.deepEqual(await texts('de', ['Anna', 'Meine Frau arbeitet in Graz.']), ['Frau arbeitet in Graz']);
  t.deepEqual(await texts('en', ['Anna', "I'm a terrible cook."]), []);
  t.deepEqual(await texts('en', ['Anna', "That's my uncle over there."]), []);
});

test('facts about known people are noted with their names, whoever states them; unknown people are not noted', async t => {
  t.deepEqual(await texts('en', ['Anna', 'hello'], ['Ben', "I can't stand dust"]), ["Ben can't stand dust"]);
  t.deepEqual(await texts('en', ['Ben', 'nuts'], ['Anna', "no you're allergic to nuts"]), [
    'Ben is allergic to nuts',
  ]);
  t.deepEqual(await texts('en', ['Speaker 3', 'I live in Rome'], ['Anna', 'turn it off']), []);
  t.deepEqual(await texts('en', ['Speaker 3', 'nuts'], ['Anna', "you're allergic to nuts"]), []);
  t.deepEqual(await texts('en', ['Ben', "you're allergic to hard work"], ['Anna', 'ha']), []);
  t.deepEqual(await texts('en', ['Anna', 'when is Nora back'], ['Ben', 'Sunday she teaches physics']), [
    'Nora teaches physics',
  ]);
});

test('a statement about the owner is noted if the owner confirms it, with both segments', async t => {
  const noted = [['s0', 's1']];
  const given: [language: string, asked: string, answer: string, text: string][] = [
    [
      'en',
      "You're allergic to penicillin, is that right?",
      'Yes, since I was small.',
      'Is allergic to penicillin',
    ],
    ['en', 'and are you diabetic', 'yes I am', 'Is diabetic'],
    ['de', 'sind Sie Diabetiker', 'ja', 'Ist Diabetiker'],
    ['fr', 'vous êtes allergique à la pénicilline', 'oui', 'Est allergique à la pénicilline'],
    ['es', 'es usted alérgico a la penicilina', 'sí', 'Es alérgico a la penicilina'],
  ];
  for (const [language, asked, answer, text] of given) {
    const found = await heard(language, ['Speaker 2', asked], ['Anna', answer]);
    t.deepEqual([found.map(each => each.text), found.map(({ from }) => from)], [[text], noted], asked);
    t.deepEqual(await texts(language, ['Speaker 2', asked], ['Anna', 'pardon']), [], asked);
  }
  t.deepEqual(await texts('en', ['Speaker 2', 'I live in Rome and you live in Pisa'], ['Anna', 'yes']), [
    'Lives in Pisa',
  ]);
});

test("a pronoun stands for the speaker's person mentioned before, if it can", async t => {
  t.deepEqual(await texts('en', ['Anna', "my sister lives in Leeds and she's a nurse"]), [
    'Sister lives in Leeds',
    'Sister is a nurse',
  ]);
  t.deepEqual(await texts('en', ['Ben', 'how is your brother'], ['Anna', 'fine he lives in Rome']), [
    'Brother lives in Rome',
  ]);
  t.deepEqual(await texts('en', ['Ben', 'how is your brother'], ['Anna', 'fine she lives in Rome']), []);
  t.deepEqual(await texts('fr', ['Anna', 'ma sœur est là, elle vit à Lisbonne']), ['Sœur habite à Lisbonne']);
  t.deepEqual(await texts('es', ['Anna', 'mi marido no viene, él trabaja de noche']), [
    'Marido trabaja de noche',
  ]);
  t.deepEqual(await texts('de', ['Anna', 'das ist meine Chefin, Frau Peters.']), [
    'Chefin heißt Frau Peters',
  ]);
  t.deepEqual(await texts('de', ['Speaker 3', 'das ist meine Chefin, Frau Peters.'], ['Anna', 'aha']), []);
});

test('a pronoun stands for a parent called by name, and for somebody named in a question', async t => {
  t.deepEqual(
    await texts(
      'de',
      ['Ben', 'Ich wollte wegen Mama reden.'],
      ['Anna', 'Ja.'],
      ['Ben', 'Sie verträgt kein Penicillin.'],
    ),
    ["Ben's Mama verträgt kein Penicillin"],
  );
  t.deepEqual(await texts('fr', ['Ben', 'Élodie mange du gluten ?'], ['Anna', 'Non, elle est cœliaque.']), [
    'Élodie est cœliaque',
  ]);
  t.deepEqual(
    await texts(
      'en',
      ['Anna', 'Mum and Dad are here.'],
      ['Ben', 'Is your sister ill?'],
      ['Anna', 'It rains.'],
    ),
    [],
  );
});

test('an answer is noted with its question', async t => {
  const answers: [language: string, asked: string, answer: string, text: string][] = [
    ['en', 'What are you taking at the moment?', 'Metformin, twice a day.', 'Takes Metformin'],
    ['en', 'Any conditions we should know of?', 'Type two diabetes.', 'Has Type two diabetes'],
    ['en', 'Where are you from?', 'Leicester, originally.', 'Is from Leicester'],
    ['de', 'Nehmen Sie regelmäßig Medikamente?', 'Ja, Blutverdünner.', 'Nimmt Blutverdünner'],
    ['de', 'Haben Sie Kinder?', 'Ja, zwei Töchter.', 'Hat zwei Töchter'],
    ['fr', 'Vous venez d’où ?', 'De Nantes.', 'Vient de Nantes'],
    ['es', '¿Tiene alguna alergia?', 'Sí, al polen.', 'Es alérgico a polen'],
  ];
  for (const [language, asked, answer, text] of answers) {
    const found = await heard(language, ['Speaker 2', asked], ['Anna', answer]);
    t.deepEqual(
      found.map(each => [each.text, each.from]),
      [[text, ['s0', 's1']]],
      asked,
    );
  }
  t.deepEqual(await heard('en', ['Speaker 2', 'Any allergies?'], ['Anna', 'Yes, penicillin.']), [
    { text: 'Is allergic to penicillin', from: ['s0', 's1'] },
  ]);
  const asked = await heard('en', ['Ben', "when is Nora's birthday"], ['Anna', 'the third of June']);
  t.deepEqual(asked, [
    { text: "Nora's birthday is on the third of June", topic: 'Nora: birthday: day', from: ['s0', 's1'] },
  ]);
});

test('facts of which only one can be true have a topic, and the last statement counts', async t => {
  const [memory, ...others] = await heard(
    'en',
    ['Anna', 'I live in Rome'],
    ['Anna', 'no sorry I live in Pisa'],
  );
  t.deepEqual([memory?.text, memory?.topic, others], ['Lives in Pisa', 'home', []]);
  t.is((await heard('en', ['Anna', 'hi'], ['Ben', 'I live in Rome']))[0]?.topic, 'Ben: home');
});

test('at most four are noted, however long the conversation', async t => {
  const lines = Array.from(
    { length: 5000 },
    (_, at): Line => ['Anna', `I collect stones${at} and I speak Danish`],
  );
  t.is((await heard('en', ...lines)).length, 4);
  t.is((await heard('en', ['Anna', 'I '.repeat(50_000)])).length, 0);
});

test('sisters, children and pets are noted if their name or number is said, once, unless they are known', async t => {
  t.deepEqual(await texts('en', ['Anna', 'my daughter Mia has a cold'], ['Anna', 'my daughter is in bed']), [
    'Daughter is called Mia',
  ]);
  t.deepEqual(await texts('es', ['Anna', 'voy con mis dos hijos']), ['Tiene dos hijos']);
  t.deepEqual(await texts('de', ['Anna', 'ich hole nachher meinen Bruder ab']), []);
  t.deepEqual(await texts('fr', ['Anna', "j'emmène mon fils à l'école"]), []);
  t.deepEqual(await texts('en', ['Anna', 'if my two sisters call, say hello']), []);
  t.deepEqual(await heardBy(['Has two sisters'], 'en', ['Anna', 'my two sisters are late']), []);
});

test('facts behind adverbs, modal verbs of another clause and other words are noted', async t => {
  const facts: [string, string, string][] = [
    ['en', "today would be brilliant I work from home so there'll be somebody in", 'Works from home'],
    ['en', "no I don't even own a car", 'Does not own a car'],
    ['en', "I've had asthma since I was four", 'Has asthma'],
    ['en', 'no, I come out in lumps with penicillin', 'Is allergic to penicillin'],
    ['de', 'ich wohne schon ewig in Kassel', 'Wohnt in Kassel'],
    ['de', 'aber ohne Mandeln, die vertrag ich selber nicht', 'Verträgt keine Mandeln'],
    ['fr', 'au fait le mercredi je ne travaille pas', 'Ne travaille pas le mercredi'],
  ];
  for (const [language, said, memory] of facts)
    t.deepEqual(await texts(language, ['Anna', said]), [memory], said);
  t.deepEqual(await texts('de', ['Anna', 'Wir landen am zwanzigsten Dezember um neun Uhr morgens.']), []);
});

test('a name and a fact about its bearer are one memory', async t => {
  t.deepEqual(await texts('en', ['Anna', 'I live here with Bruno who is a dog']), ['Dog is called Bruno']);
  t.deepEqual(await texts('en', ['Anna', 'my sister Carmen is a nurse']), ['Sister Carmen is a nurse']);
  t.deepEqual(await texts('fr', ['Anna', 'mon voisin Raymond est plombier']), [
    'Voisin Raymond est plombier',
  ]);
  t.deepEqual(await texts('fr', ['Ben', 'ma sœur Élodie, elle vit à Lisbonne'], ['Anna', 'ah']), [
    'Sœur de Ben, Élodie, habite à Lisbonne',
  ]);
});

test('an example of a fact in the same segment is no second memory', async t => {
  t.deepEqual(await texts('en', ['Anna', "I'm a night person really I write best after eleven"]), [
    'Is a night person',
  ]);
});
