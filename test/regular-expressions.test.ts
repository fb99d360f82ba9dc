import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parseSync, Visitor } from 'oxc-parser';
import { check } from 'recheck';
import { isThorough } from './helpers/thorough.ts';

const ROOT = join(import.meta.dirname, '..');
/** Time limit for one expression; most take a few milliseconds. */
const CHECK_MS = 600_000;
/** Steps are counted instead of timed: what a busy machine delays is not slow. */
const COUNTED = { attackTimeout: null, incubationTimeout: null };
/**
 * List of expressions with linear time, by their text. `npm run torture -- tests` checks them again, and
 * writes this list.
 */
const CHECKED = join(import.meta.dirname, 'fixtures/linear-expressions.json');

interface Expression {
  place: string;
  pattern: string;
  flags: string;
}

/** Every literal, and the places of those that are built at run time. */
function expressionsIn(file: string, source: string): { literals: Expression[]; built: string[] } {
  const literals: Expression[] = [];
  const built: string[] = [];
  const placeOf = (at: number) => `${file}:${source.slice(0, at).split('\n').length}`;
  const noteCall = (call: { start: number; callee: { type: string; name?: string } }) => {
    if (call.callee.name === 'RegExp') built.push(placeOf(call.start));
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) literals.push({ place: placeOf(node.start), ...node.regex });
    },
    NewExpression: noteCall as never,
    CallExpression: noteCall as never,
  }).visit(parseSync(file, source).program);
  return { literals, built };
}

async function slowOnes(expressions: readonly Expression[]): Promise<string[]> {
  const slow: string[] = [];
  for (const { place, pattern, flags } of expressions) {
    const result = await check(pattern, flags, { ...COUNTED, timeout: CHECK_MS, randomSeed: 1 });
    const why = result.status === 'vulnerable' ? result.complexity.summary : result.status;
    if (result.status !== 'safe') slow.push(`${place} /${pattern}/${flags}: ${why}`);
  }
  return slow;
}

test('every regular expression takes linear time, whatever its input', async t => {
  const files = globSync('{core,plugins,bridge,config}/**/*.{ts,tsx,mjs,js}', {
    cwd: ROOT,
    exclude: path => path.endsWith('/built'), // by others, and run in browsers
  });
  const found = files.map(file => expressionsIn(file, readFileSync(join(ROOT, file), 'utf8')));
  const distinct = new Map(
    found.flatMap(({ literals }) => literals).map(each => [`/${each.pattern}/${each.flags}`, each]),
  );
  t.true(distinct.size > 100);
  const checked = new Set<string>(isThorough ? [] : JSON.parse(readFileSync(CHECKED, 'utf8')));
  const others = [...distinct].filter(([expression]) => !checked.has(expression));
  t.log(`${others.length} of ${distinct.size} are checked`);
  t.deepEqual(await slowOnes(others.map(([, expression]) => expression)), []);
  if (isThorough) writeFileSync(CHECKED, `${JSON.stringify([...distinct.keys()].sort(), null, 2)}\n`);
  t.deepEqual(
    found.flatMap(({ built }) => built),
    [],
    'built at run time: it cannot be checked',
  );
});

test('an expression of quadratic or exponential time, or one built at run time, is found', async t => {
  const source = [
    'const a: string[] = text.split(/\\[[^\\]]*\\]/u);',
    'if (/^json\\s*;?\\s*$/.test(text)) return;',
    '/^(a+)+$/.exec(text);',
    '/^a+$/.exec(text);',
    'new RegExp(text);',
  ].join('\n');
  const { literals, built } = expressionsIn('sample.ts', source);
  const places = (await slowOnes(literals)).map(line => line.split(' ')[0]);
  t.deepEqual(places, ['sample.ts:1', 'sample.ts:2', 'sample.ts:3']);
  t.deepEqual(built, ['sample.ts:5']);
});
