import test from 'ava';
import fc from 'fast-check';
import { createSampleBuffer } from '../../../core/audio/sample-buffer.ts';

/** One call on one of several buffers. */
const CALL = fc.record({
  buffer: fc.nat(2),
  append: fc.nat(20_000),
  release: fc.nat(30_000),
  isNew: fc.boolean(),
});

test('a buffer contains its own samples, whatever others did with its store', t => {
  const holds = fc.property(fc.array(CALL, { maxLength: 40 }), calls => {
    let next = 0;
    const made = () => ({ buffer: createSampleBuffer(0), samples: [] as number[] });
    const all = [made(), made(), made()];
    for (const { buffer: index, append, release, isNew } of calls) {
      if (isNew) {
        all[index]?.buffer.release(Number.POSITIVE_INFINITY);
        all[index] = made();
      }
      const { buffer, samples } = all[index] ?? made();
      const added = Int16Array.from({ length: append }, () => next++);
      buffer.append(added);
      samples.push(...added);
      buffer.release(Math.min(release, buffer.end));
      for (const one of all) {
        const { start, end } = one.buffer;
        const expected = Int16Array.from(one.samples.slice(start));
        if (end !== one.samples.length) return false;
        if (Buffer.compare(Buffer.from(one.buffer.slice(start, end).buffer), Buffer.from(expected.buffer)))
          return false;
      }
    }
    return true;
  });
  t.notThrows(() => fc.assert(holds));
});

test('a store that is free is used by the next buffer that needs as much', t => {
  const first = createSampleBuffer(0);
  first.append(new Int16Array(100_000));
  const { buffer } = first.view(0, 100_000);
  first.release(100_000);

  const second = createSampleBuffer(0);
  second.append(new Int16Array(100_000).fill(7));

  t.is(second.view(0, 1).buffer, buffer);
  t.true(second.slice(0, 100_000).every(sample => sample === 7));
  t.is(first.bytes, 4096);
});
