import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'plugins/README.md',
  'bridge/README.md',
  ...globSync('docs/**/*.md', { cwd: ROOT }),
];
const MAX_WORDS = 35;

/** Metaphors and coinages of this project, each with the word to use. */
const BANNED: [pattern: RegExp, instead: string][] = [
  [/\bfurnish(es|ed|ing)?\b/i, 'create'],
  [/\bhouses?\b/i, 'services, server or network'],
  [/\bears\b/i, 'channels'],
  [/\bnursery\b/i, 'sandbox'],
  [/\b(put|set|laid) aside\b/i, 'quarantine, or save as a file'],
  [/\btell-off\b/i, 'notify'],
  [/\bhell\b/i, 'faulty'],
  [/\bwho is late\b/i, 'a lagging stream'],
  [/\bthose that there are\b/i, 'existing'],
  [/\bwhoever has much\b/i, 'a busy client'],
  [/\bit is seen to\b/i, 'a verb of the field'],
  [/\bhas not said anything\b/i, 'stays silent'],
];

/** Openings that turn a statement into a riddle: a sentence names its subject first. */
const OPENINGS = /^(Who|Whom|Of|Those)\b|^What\b(?=[^?]*\.$)/;

/** Sentences of a page: paragraphs, list items, headings and cells of tables, without code. */
function sentencesOf(markdown: string): string[] {
  const text = markdown
    .replace(/<!--.*?-->/gs, '')
    .replace(/^( *)```.*?^\1```$/gms, '\n')
    .replace(/`[^`\n]*`/g, 'x')
    .replace(/\]\([^)\n]*\)/g, ']')
    .replace(/^\s*\|?[-:| ]+\|\s*$/gm, '');
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|#+|\|)\s)|(?<=\|[^\n]*)\n/)
    .flatMap(block => block.split('|'))
    .map(block => block.replace(/^\s*(?:[-*]|\d+\.|#+)\s+(\[ \] )?/, '').replaceAll(/[*[\]]/g, ''))
    .flatMap(block => block.replaceAll(/\s+/g, ' ').split(/(?<=[.!?])\s+/))
    .map(sentence => sentence.trim())
    .filter(sentence => sentence !== '');
}

function complaintsAbout(markdown: string): string[] {
  return sentencesOf(markdown).flatMap(sentence => {
    const words = sentence.split(' ').filter(word => /[\p{L}\p{N}]/u.test(word)).length;
    return [
      ...(words > MAX_WORDS ? [`${words} words: ${sentence}`] : []),
      ...(OPENINGS.test(sentence) ? [`opening: ${sentence}`] : []),
      ...BANNED.filter(([pattern]) => pattern.test(sentence)).map(
        ([pattern, instead]) => `${pattern.source}, say ${instead}: ${sentence}`,
      ),
    ];
  });
}

for (const page of PAGES)
  test(`${page} keeps to plain English`, t => {
    const markdown = readFileSync(join(ROOT, page), 'utf8');
    t.true(sentencesOf(markdown).length > 5, 'the page has sentences to check');
    t.deepEqual(complaintsAbout(markdown), []);
  });

test('the check finds long sentences, riddling openings and banned words, wherever they stand', t => {
  const long = `The server ${'really '.repeat(MAX_WORDS)}works`;
  const bad = ['Who is late waits.', 'Of a stream, the end is kept.', 'Those that fail are tried again.'];
  const banned = ['It is put aside.', 'It opens the house.', 'What is sent waits.', `${long}.`];
  for (const sentence of [...bad, ...banned]) {
    for (const page of [
      sentence,
      `Well. ${sentence}`,
      `- ${sentence}`,
      `| Cell | ${sentence} |`,
      `## ${sentence}`,
    ])
      t.true(complaintsAbout(page).length > 0, page);
    t.deepEqual(complaintsAbout(`\`\`\`text\n${sentence}\n\`\`\``), []);
  }
  t.deepEqual(complaintsAbout('What does it cost? The server answers. It says what is wrong.'), []);
});

const SOURCES = ['{bridge,config,core,plugins,test}/**/*.{ts,tsx,mjs,mts}'];
const RIDDLING_COMMENT = /\/\*\*\s+(?:\*\s+)?(?:Of|What|Who|Whom|Whose|Those|That)\b[^\n]*/g;

function riddlesIn(source: string): string[] {
  return source.match(RIDDLING_COMMENT) ?? [];
}

test('doc comments open with a verb or a noun of the field', t => {
  const files = globSync(SOURCES, { cwd: ROOT });
  t.true(files.length > 1000);
  const found = files.flatMap(file =>
    riddlesIn(readFileSync(join(ROOT, file), 'utf8')).map(comment => `${file}: ${comment}`),
  );
  t.deepEqual(found, []);
});

test('the check finds a riddling doc comment, on one line or several', t => {
  const open = '/'.concat('**'); // this file is checked, too
  const bad = `${open} Of the answer. */\n${open}\n * What is sent.\n */\n${open} Whose it is. */`;
  t.is(riddlesIn(bad).length, 3);
  t.deepEqual(
    riddlesIn(`${open} Offers what there is. */\n// Of no concern.\n${open} Whatever fails. */`),
    [],
  );
});

/** A title that names its subject by a clause has to be translated before a failure can be understood. */
const RIDDLING_TITLE = /^(?:who|whoever|whom|what|whatever|which|whose|those|of those|of what)\b/i;
const TITLE = /\b(?:test\w*|macro)(?:\.\w+)*\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

function riddlingTitlesIn(source: string): string[] {
  return [...source.matchAll(TITLE)]
    .map(([, , title = '']) => title)
    .filter(title => {
      const subject = title.replace(/^(?:\$\{[^}]*\}|[\w ,-])+: /, '');
      return RIDDLING_TITLE.test(subject) || BANNED.some(([pattern]) => pattern.test(title));
    });
}

test('test titles name their subject first, in plain words', t => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT });
  t.true(files.length > 200);
  const found = files.flatMap(file =>
    riddlingTitlesIn(readFileSync(join(ROOT, file), 'utf8')).map(title => `${file}: ${title}`),
  );
  t.deepEqual(found, []);
});

test('the check finds a riddling title', t => {
  const titled = (title: string) => ['test', `('${title}', t => {})`].join('');
  const named = ['test.serial', '(`$', '{name}: What is old leaves the list`, t => {})'].join('');
  const bad = [titled('who searches does not wait'), titled('a file is put aside'), named];
  t.is(riddlingTitlesIn(bad.join('\n')).length, bad.length);
  t.deepEqual(riddlingTitlesIn(titled('a search does not wait for pending writes')), []);
});

/** Texts of commands: literals of more than one word, without code in templates. */
function textsIn(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ [^\n]*/g, '');
  return [...code.matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g)]
    .map(([, , text = '']) => text)
    .filter(text => /\w \w/.test(text));
}

test('commands print none of the banned words', t => {
  const files = globSync(['{core/cli,bridge/commands,config/setup}/**/*.ts'], { cwd: ROOT });
  t.true(files.length > 50);
  const found = files.flatMap(file =>
    textsIn(readFileSync(join(ROOT, file), 'utf8'))
      .filter(text => BANNED.some(([pattern]) => pattern.test(text)))
      .map(text => `${file}: ${text}`),
  );
  t.deepEqual(found, []);
  t.deepEqual(textsIn("print('It is put aside.'); // 'not this one'"), ['It is put aside.']);
});

test('README.md fits on 200 lines', t => {
  const lines = readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n');
  t.true(lines.length <= 200, `${lines.length} lines`);
});
