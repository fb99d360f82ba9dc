import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';
import test from 'ava';
import { inRounds } from '../../../core/http/rounds.ts';

function requests(count: number): IncomingMessage[] {
  return Array.from({ length: count }, () => new IncomingMessage(new Socket()));
}

test('requests that come at once are begun in several rounds of the event loop, in order', async t => {
  const begun: IncomingMessage[] = [];
  const answer = inRounds(2, request => begun.push(request));
  const all = requests(5);
  for (const request of all) answer(request, new ServerResponse(request));
  t.is(begun.length, 2);
  await nextRound();
  t.is(begun.length, 4);
  await nextRound();
  t.deepEqual(
    begun.map(request => all.indexOf(request)),
    [0, 1, 2, 3, 4],
  );
  await nextRound();
  await nextRound();
  const [later] = requests(1);
  if (later) answer(later, new ServerResponse(later));
  t.is(begun.at(-1), later, 'and then at once again');
});

test('a request whose client has gone while it waited is not begun, and takes no place', async t => {
  const begun: IncomingMessage[] = [];
  const answer = inRounds(1, request => begun.push(request));
  const all = requests(4);
  for (const request of all) answer(request, new ServerResponse(request));
  for (const gone of all.slice(1, 3)) gone.destroy();
  await nextRound();
  t.deepEqual(begun, [all[0], all[3]]);
});
