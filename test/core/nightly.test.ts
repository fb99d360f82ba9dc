import test from 'ava';
import { pino } from 'pino';
import { startNightly } from '../../core/nightly.ts';

test('What clears away runs when it starts, one after the other; one that fails is logged and takes none with it', async t => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const ran: string[] = [];
  const nightly = startNightly({
    log,
    tasks: {
      async first() {
        ran.push('first');
        throw new Error('no disk');
      },
      async second() {
        ran.push('second');
      },
    },
  });
  await nightly.close();
  t.deepEqual(ran, ['first', 'second']);
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), { task: 'first', err: { message: 'no disk' } });
});
