import test from 'ava';
import { createBackgroundPace } from '../../../../plugins/kit/kit.ts';
import {
  isBroadcast,
  presentersIn,
} from '../../../../plugins/understanding/plain-understanding/broadcast.ts';
import { saysNothing } from '../../../../plugins/understanding/plain-understanding/nothing.ts';

const of = (...texts: string[]) => saysNothing(texts.map(text => ({ text })));

test('Hesitation sounds and backchannels have no content', t => {
  for (const text of [
    '',
    ' ',
    'Um.',
    'Uh-huh, mhm.',
    'Hmm… ok',
    'Okay. Yeah.',
    'Äh, ähm',
    'Oh!',
    'Hm-hm',
    '… — !',
  ])
    t.true(of(text), text);
  t.true(of('Um', 'uh', '', 'Mm-hmm'));
  t.true(of());
});

test("Recognisers' output for silence has no content", t => {
  for (const text of [
    '[Music]',
    '(laughs) [BLANK_AUDIO]',
    '*coughs* um',
    '♪ ♪',
    '<noise>',
    '(speaking foreign language)',
  ])
    t.true(of(text), text);
});

test('One word that may mean something is enough, in any language', t => {
  for (const text of [
    'Milk',
    'No.',
    'Yes',
    'Um, Eve',
    '[Music] Seven',
    'ja',
    'да',
    '嗯',
    'はい',
    '7',
    'x',
    '🙂',
    '(aside) Buy tea',
    'Okay then',
  ])
    t.false(of(text), text);
  t.false(of('Um', 'uh', 'tomorrow'));
});

test('Greetings, small talk about weather and fragments of several speakers are not worth keeping', t => {
  t.true(of('the', 'you you you', 'okay', 'all right then', 'and a'));
  t.true(of('morning', 'good morning', 'cold today', 'bye then'));
  t.true(of('Guten Morgen', 'hallo', 'es regnet ja schon wieder', 'tschüss'));
  t.true(of('Bonjour', 'bonjour', 'il pleut', 'merci au revoir'));
  t.true(of('Hola', 'qué tal', 'buenos días', 'gracias adiós'));
  t.false(of('morning', 'good morning', 'the flat is sold', 'bye then'));
  t.false(of('Guten Morgen', 'hallo', 'Opa liegt im Krankenhaus', 'tschüss'));
});

test('Subtitle credits, which recognisers write for silence, have no content', t => {
  for (const text of [
    'Thanks for watching!',
    'Untertitel im Auftrag des ZDF, 2021',
    "Sous-titres réalisés par la communauté d'Amara.org",
    '¡Gracias por ver el vídeo!',
  ])
    t.true(of(text), text);
  t.false(
    of(
      'Thanks for watching the children, I will bring you the money for it tomorrow, and the keys of the car.',
    ),
  );
});

const lines = (...said: (readonly [speaker: string, text: string])[]) =>
  said.map(([speaker, text]) => ({ speaker, text, isUser: speaker === 'Ada' }));
const isOnAir = (heard: ReturnType<typeof lines>) =>
  isBroadcast(heard, createBackgroundPace(new AbortController().signal));

test('A broadcast that nobody in the room answers is told by what presenters say', async t => {
  const narrated = lines(
    ['Speaker 1', 'Nobody has ever seen the source of this river.'],
    ['Speaker 2', 'We walked for nine days. I will call the office tomorrow, I said.'],
    ['Speaker 1', 'Next week: the bridge that fell twice.'],
  );
  t.true(await isOnAir(narrated));
  t.false(await isOnAir([...narrated, ...lines(['Ada', 'turn it off please'])]), 'the owner talks');
  t.false(await isOnAir([...narrated, ...lines(['Ben', 'I saw that one'])]), 'a known person talks');
  t.false(await isOnAir(lines(...narrated.map(({ text }) => ['Speaker 1', text] as const))), 'one voice');
  t.false(
    await isOnAir(
      lines(
        ['Speaker 1', 'Ladies and gentlemen, who takes the minutes?'],
        ['Speaker 2', 'Okay, I can do that.'],
        ['Speaker 1', 'Thanks. Next point.'],
      ),
    ),
    'people who answer each other',
  );
  for (const [first, second] of [
    ['Guten Abend, meine Damen und Herren.', 'Der Minister ist zurückgetreten.'],
    ['Mesdames et messieurs, voici les titres.', 'Le ministre a démissionné.'],
    ['Señoras y señores, buenas noches.', 'El ministro ha dimitido.'],
  ] as const)
    t.true(await isOnAir(lines(['Speaker 1', first], ['Speaker 2', second], ['Speaker 1', second])), first);
});

test('Series, matches and shopping channels among strangers are told by their words', async t => {
  const crime = lines(
    ['Speaker 1', 'Detective, the suspect has an alibi.'],
    ['Speaker 2', 'Then get me that warrant.'],
    ['Speaker 1', 'He will be here tomorrow at nine.'],
  );
  t.true(await isOnAir(crime));
  t.true(await isOnAir([...crime, ...lines(['Ada', 'Hm.'])]), 'the owner only hums');
  t.false(await isOnAir([...crime, ...lines(['Ada', 'Who is that actor?'])]), 'the owner talks');
  for (const [first, second] of [
    ["Carton jaune, l'arbitre n'a pas hésité.", 'Coup franc juste avant la mi-temps.'],
    ['Only twenty nine ninety nine, today only.', 'And free delivery, while stocks last.'],
  ] as const)
    t.true(await isOnAir(lines(['Speaker 1', first], ['Speaker 2', second], ['Speaker 1', 'Oh.'])), first);
  t.false(
    await isOnAir(
      lines(
        ['Speaker 1', 'The referee was blind.'],
        ['Speaker 2', 'My brother is a goalkeeper.'],
        ['Speaker 1', 'I play on Sunday.'],
      ),
    ),
    'two words may come up among friends',
  );
});

test('Announcements and microphone tests have no content', t => {
  t.true(of('Nächster Halt Rathaus.', 'hm', 'Ausstieg in Fahrtrichtung links.', 'Entschuldigung.'));
  t.true(of('Your call is important to us. You are number four in the queue.'));
  t.true(of('Hello? Is this thing on?', "Testing, one two three. Okay, it's working."));
  t.true(of('hola hola uno dos tres', 'probando sí sí'));
  t.false(of('Hello? Is this thing on?', 'I will call Ben.'));
  t.false(of('Next stop we get off and buy bread, all of us.', 'Your ticket costs nine euros.'));
});

test('Presenters are strangers, and only where the owner is known', t => {
  const news = lines(
    ['Speaker 3', 'This is the news. The strike begins on Monday.'],
    ['Speaker 4', 'Pass the salt.'],
  );
  t.deepEqual([...presentersIn([...news, ...lines(['Ada', "that's my train"])])], ['Speaker 3']);
  t.deepEqual([...presentersIn(news)], []);
  t.deepEqual([...presentersIn(lines(['Ada', 'stay tuned, I said'], ['Ben', 'stay tuned']))], []);
});
