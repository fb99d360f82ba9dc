import test from 'ava';
import { createValueCounter } from '../../../core/runtime/json-values.ts';

/** The same count, by walking through the parsed value. */
function expected(json: string): number {
  const separators = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const inner = Object.values(value);
    return 1 + Math.max(0, inner.length - 1) + inner.reduce((sum: number, each) => sum + separators(each), 0);
  };
  return 1 + separators(JSON.parse(json));
}

const BODIES = [
  ...['1', '""', '[]', '{}', '[[],{}]', '[1,2,3]', '{"a":{"b":[null,true]},"c":"d"}'],
  JSON.stringify(['a,b', '[{"', '\\', '\\"', '"', '\\\\', '\n,', 'ä,😀[']),
  JSON.stringify({ '",[{\\': ['\\",', { '\\\\': '",[' }] }),
];

test('values are counted as by a parser, wherever the body is split into chunks', t => {
  for (const body of BODIES) {
    const bytes = Buffer.from(body);
    t.is(createValueCounter()(bytes), expected(body), body);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const count = createValueCounter();
      count(bytes.subarray(0, cut));
      t.is(count(bytes.subarray(cut)), expected(body), `${body} cut at ${cut}`);
    }
    const single = createValueCounter();
    for (const byte of bytes.subarray(0, -1)) single(Buffer.of(byte));
    t.is(single(bytes.subarray(-1)), expected(body), body);
  }
});
