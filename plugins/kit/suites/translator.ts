/** Requirements for every translator, as plain checks that throw. They do not judge the quality of translations. */
import assert from 'node:assert/strict';
import type { LanguageModel, Translator } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface TranslatorSubject {
  translator: Translator;
  /** For a translator that uses a language model; empty: there is none. */
  models: readonly LanguageModel[];
}

type TranslatorCheck = SuiteCheck<TranslatorSubject>;

export const translatorChecks: readonly TranslatorCheck[] = [
  { title: 'answers with a text', isBasis: true, run: answers },
  { title: 'accepts a text of unknown language', run: detects },
  { title: 'accepts languages with a region', run: takesRegions },
  { title: 'accepts any Unicode', run: takesOddities },
  { title: 'serves several at once, each with its own text', run: servesSideBySide },
  { title: 'rejects with the reason when it is aborted', run: stops },
];

const never = new AbortController().signal;
/** Sentences whose names and numbers are the same in every language. */
const SENTENCES = ['The train 4711 leaves at 9.', 'Her number is 8052.', 'The room is 306.'];
const NUMBERS = [/4711/, /8052/, /306/];

/** Returns a language that it can translate into. */
function target({ languages }: Translator): string {
  return languages === 'any' ? 'es' : (languages.find(code => code !== 'en') ?? languages[0] ?? 'es');
}

async function ask({ translator, models }: TranslatorSubject, text: string, from: string | null = 'en') {
  const answer: unknown = await translator.translate({ text, from, to: target(translator), models }, never);
  assert.ok(typeof answer === 'string', `it answered with ${typeof answer}`);
  assert.ok(answer.trim() !== '', 'its answer is empty');
  assert.ok(answer.length <= 10_000, 'its answer has more than 10,000 characters');
  return answer;
}

async function answers(subject: TranslatorSubject): Promise<void> {
  await ask(subject, 'Good morning. Where is the station?');
}

async function detects(subject: TranslatorSubject): Promise<void> {
  await ask(subject, 'Good morning. Where is the station?', null);
}

async function takesRegions(subject: TranslatorSubject): Promise<void> {
  await ask(subject, 'Good morning.', 'en-GB');
}

async function takesOddities(subject: TranslatorSubject): Promise<void> {
  await ask(subject, 'Tea \ud800 🧑‍🚀 שלום 你好 a\u202eb e\u0301 <b>&amp;</b>');
}

async function servesSideBySide(subject: TranslatorSubject): Promise<void> {
  const answers = await Promise.all(SENTENCES.map(text => ask(subject, text)));
  for (const [index, answer] of answers.entries())
    assert.match(answer, NUMBERS[index] ?? /^$/, 'it mixed up concurrent calls');
}

async function stops({ translator, models }: TranslatorSubject): Promise<void> {
  const reason = new Error('nobody waits any more');
  const request = { text: 'Good morning.', from: 'en', to: target(translator), models };
  const stopper = new AbortController();
  const asking = translator.translate(request, stopper.signal);
  stopper.abort(reason);
  await assert.rejects(asking, (thrown: unknown) => {
    assert.equal(thrown, reason, 'it does not reject with the reason of the signal');
    return true;
  });
}
