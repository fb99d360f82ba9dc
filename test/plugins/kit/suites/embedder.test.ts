import test from 'ava';
import { type EmbedderSubject, embedderChecks } from '../../../../plugins/kit/suites/embedder.ts';

type Fault =
  | 'gives vectors of any length'
  | 'has other dimensions than it says'
  | 'turns the order around'
  | 'depends on the company of a text'
  | 'rolls dice'
  | 'uses its buffers again'
  | 'knows no meaning'
  | 'chokes on an empty text'
  | 'takes 100 texts'
  | 'chokes on a long text'
  | 'chokes on odd Unicode'
  | 'serves one at a time'
  | 'goes on though aborted';

const TOPICS = [
  /dog|puppy|nap|sleep|basket/,
  /violin|orchestra/,
  /bread|flour/,
  /bank|interest/,
  /job|living|repair|fix/,
  /tomato|sun/,
  /ill\b|bed|fever/,
  /train|London/,
];

/** Knows what the checks talk about; with `fault`, wrong in one way. */
function topical(fault?: Fault): EmbedderSubject {
  const buffers = Array.from({ length: 256 }, () => new Float32Array(TOPICS.length));
  let busy = false;
  return {
    embedder: { id: 'topics', dimensions: fault === 'has other dimensions than it says' ? 7 : 8, embed },
  };

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    if (fault !== 'goes on though aborted') signal.throwIfAborted();
    if (fault === 'serves one at a time' && busy) throw new Error('busy');
    if (fault === 'takes 100 texts' && texts.length > 100) throw new Error('too many');
    busy = true;
    await new Promise(resolve => setImmediate(resolve));
    busy = false;
    const vectors = texts.map((text, index) => vectorOf(text, texts, buffers[index]));
    return fault === 'turns the order around' ? vectors.reverse() : vectors;
  }

  function vectorOf(text: string, company: readonly string[], buffer = new Float32Array(8)): Float32Array {
    if (fault === 'chokes on an empty text' && text.trim() === '') throw new Error('empty');
    if (fault === 'chokes on a long text' && text.length > 100_000) throw new Error('long');
    if (fault === 'chokes on odd Unicode' && !text.isWellFormed()) throw new Error('odd');
    const vector = fault === 'uses its buffers again' ? buffer : new Float32Array(8);
    const read = fault === 'depends on the company of a text' ? company.join() : text;
    vector.set(TOPICS.map((topic, index) => (topic.test(read) ? 1 : 0.1 / (index + 1))));
    if (fault === 'rolls dice') for (const index of vector.keys()) vector[index] = Math.random() - 0.5;
    if (fault === 'knows no meaning')
      vector.set(Array.from(vector, (_, index) => (text.length * (index + 1)) % 7));
    const length = fault === 'gives vectors of any length' ? 0.5 : Math.hypot(...vector);
    for (const [index, number] of vector.entries()) vector[index] = number / length;
    return vector;
  }
}

const MEASURES = 'returns for each text a vector of its dimensions and of length 1';
const ORDER = 'answers in the order of the texts, in a batch as one by one';

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'gives vectors of any length': MEASURES,
  'has other dimensions than it says': MEASURES,
  'turns the order around': ORDER,
  'depends on the company of a text': ORDER,
  'rolls dice': 'returns the same vector for the same text, and never changes one later',
  'uses its buffers again': 'returns the same vector for the same text, and never changes one later',
  'knows no meaning': 'finds texts of similar meaning more similar than others',
  'chokes on an empty text': 'accepts texts without content, and an empty list',
  'takes 100 texts': 'accepts 256 texts at once',
  'chokes on a long text': 'accepts a text of 200,000 characters, which it may cut',
  'chokes on odd Unicode': 'accepts any Unicode',
  'serves one at a time': 'serves several calls at once',
  'goes on though aborted': 'rejects with the reason when it is aborted',
};

test('an embedder without fault passes every check', async t => {
  for (const check of embedderChecks) await t.notThrowsAsync(check.run(topical()), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`an embedder that ${fault} is caught`, async t => {
    const check = embedderChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(topical(fault as Fault)));
  });
}
