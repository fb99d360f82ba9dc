import test from 'ava';
import { createAnswerText } from '../../../../core/domain/ask/answer-text.ts';

/** Returns the displayed text of an answer that arrives in pieces of any size. */
function read(whole: string, size: number, count = 9) {
  const filter = createAnswerText(count);
  const pieces = whole.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
  const told = [...pieces.map(piece => filter.push(piece)), filter.end()];
  return { header: told.at(-1)?.header, text: told.map(({ text }) => text).join('') };
}

const SIZES = [1, 2, 3, 7, 1000];

test('Citation numbers refer to the sources in the first line, however the answer is split', t => {
  const answer = 'SOURCES: 3, 7, 12\nAt seven [7], by train [3][9]. Twice [3, 7]; array[i] stays.';
  for (const size of SIZES)
    t.deepEqual(
      read(answer, size),
      { header: [2, 6], text: 'At seven [2], by train [1]. Twice [1][2]; array[i] stays.' },
      `pieces of ${size}`,
    );
});

test('Without a first line of sources nothing is shown', t => {
  for (const answer of ['At seven.', 'At seven.\nSOURCES: 1', `${'x'.repeat(400)}\nSOURCES: 1`, ''])
    for (const size of SIZES) t.deepEqual(read(answer, size), { header: undefined, text: '' });
  for (const none of ['SOURCES: none\nNobody said.', 'Sources: none', 'SOURCES: 10\nx'])
    for (const size of SIZES) t.deepEqual(read(none, size, 9).header, []);
});

test('Images, links and invisible characters are removed, as they could leak the question', t => {
  const answer =
    'SOURCES: 1\nHi ![x](https://evil.example/?q=secret) and [here](https://evil.example) \u202e!\u0007';
  for (const size of SIZES) {
    const { text } = read(answer, size);
    for (const bad of ['![', '](', '\u0007', '\u202e']) t.false(text.includes(bad), text);
    t.true(text.includes('[x] (https'), text);
  }
});

test('An answer with an unclosed bracket is still shown', t => {
  const rest = `[${'1'.repeat(500)}`;
  for (const size of SIZES) t.is(read(`SOURCES: 1\n${rest}`, size).text, rest);
});
