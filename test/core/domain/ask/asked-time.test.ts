import test from 'ava';
import { askedTime } from '../../../../core/domain/ask/asked-time.ts';

/** A Wednesday, 11:00 in Berlin. */
const NOW = Date.parse('2026-11-25T10:00:00Z');
const BERLIN = 'Europe/Berlin';

/** Returns the period in Berlin winter time, and the rest of the question. */
function read(question: string, now = NOW): string {
  const local = (at: number) => new Date(at + 3_600_000).toISOString().slice(5, 16).replace('T', ' ');
  const { spans, words } = askedTime(question, now, BERLIN);
  return [...spans.map(({ from, to }) => `${local(from)} – ${local(to)}`), words.join(' ')].join(' | ');
}

const QUESTIONS: Readonly<Record<string, string>> = {
  'What did I do last Tuesday?': '11-24 00:00 – 11-25 00:00 | what did i do',
  'Who called yesterday evening?': '11-24 17:00 – 11-25 00:00 | who called',
  'What was said last night?': '11-24 17:00 – 11-25 05:00 | what was said',
  'Trains in the last 3 days': '11-23 00:00 – 11-26 00:00 | trains in',
  'What have I to do on Friday?': '11-20 00:00 – 11-21 00:00 | 11-27 00:00 – 11-28 00:00 | what have i to do',
  'on Wednesday': '11-18 00:00 – 11-19 00:00 | 11-25 00:00 – 11-26 00:00 | ',
  'What did we decide last week?': '11-16 00:00 – 11-23 00:00 | what did we decide',
  'at the weekend': '11-21 00:00 – 11-23 00:00 | ',
  'on November 3rd': '11-03 00:00 – 11-04 00:00 | on',
  'on 2026-11-03': '11-03 00:00 – 11-04 00:00 | on',
  'Was war letzten Dienstag beim Zahnarzt?': '11-24 00:00 – 11-25 00:00 | was war beim zahnarzt',
  'Was habe ich gestern Abend gesagt?': '11-24 17:00 – 11-25 00:00 | was habe ich gesagt',
  'Was war gestern Morgen?': '11-24 05:00 – 11-24 12:00 | was war',
  'Was ist morgen?': '11-26 00:00 – 11-27 00:00 | was ist',
  'am Montagabend': '11-23 17:00 – 11-24 00:00 | 11-30 17:00 – 12-01 00:00 | am',
  'vor zwei Wochen': '11-11 00:00 – 11-12 00:00 | ',
  'am 3. November': '11-03 00:00 – 11-04 00:00 | ',
  'Qu’est-ce que j’ai dit mardi dernier ?': '11-24 00:00 – 11-25 00:00 | qu est ce que j ai dit',
  'il y a trois jours': '11-22 00:00 – 11-23 00:00 | ',
  'hier soir': '11-24 17:00 – 11-25 00:00 | ',
  'le 3 novembre': '11-03 00:00 – 11-04 00:00 | le',
  '¿Qué dije ayer por la tarde?': '11-24 12:00 – 11-24 18:00 | que dije',
  'el martes pasado': '11-24 00:00 – 11-25 00:00 | ',
  'hace dos días': '11-23 00:00 – 11-24 00:00 | ',
  'esta mañana': '11-25 05:00 – 11-25 12:00 | ',
  // not times
  'I march on': 'i march on',
  'Where he sat down': 'where he sat down',
  'What did Dr. May say about 24/7?': 'what did dr may say about 24 7',
  'between 3 and 4, on 3/4': 'between 3 and 4 on 3 4',
  '': '',
};

test('The period of a question is found in English, German, French and Spanish', t => {
  for (const [question, expected] of Object.entries(QUESTIONS)) t.is(read(question), expected, question);
});

test('A month means the last one; a date without a year means the last or the next one', t => {
  const days = (question: string) =>
    askedTime(question, NOW, 'UTC').spans.map(({ from, to }) =>
      [from, to].map(at => new Date(at).toISOString().slice(0, 10)),
    );
  for (const question of ['in October', 'im Oktober', 'en octobre', 'en octubre'])
    t.deepEqual(days(question), [['2026-10-01', '2026-11-01']], question);
  t.deepEqual(days('in December'), [['2025-12-01', '2026-01-01']]);
  t.deepEqual(days('on 24 December'), [
    ['2025-12-24', '2025-12-25'],
    ['2026-12-24', '2026-12-25'],
  ]);
  t.deepEqual(days('on 24 December 2024'), [['2024-12-24', '2024-12-25']]);
});

test('The length of a day follows the clock changes of the time zone', t => {
  const after = Date.parse('2026-10-26T10:00:00Z'); // the day after clocks went back
  const [span] = askedTime('yesterday', after, BERLIN).spans;
  t.is((span?.to ?? 0) - (span?.from ?? 0), 25 * 3_600_000);
});
