import { EventEmitter } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';
import test from 'ava';
import type WebSocket from 'ws';
import { createInbox } from '../../../../core/listen/connection/inbox.ts';
import { createValve } from '../../../../core/listen/connection/pace.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';

const QUIET_MS = 2000;
const AUDIO = Buffer.alloc(320);

function open(maxBytes = 1_000_000) {
  const socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    isPaused: false,
    pause() {
      socket.isPaused = true;
    },
    resume() {
      socket.isPaused = false;
    },
  });
  const clock = manualClock();
  let spent = 0;
  const inbox = createInbox(socket as unknown as WebSocket, {
    maxBytes,
    quietMs: QUIET_MS,
    metrics: { watch: () => () => {} },
    valve: createValve(socket as unknown as WebSocket),
    pace: {
      spend(tokens) {
        spent += tokens;
        return undefined;
      },
    },
    clock,
    onMessage() {},
  });
  /** One character for each message that was taken: `a` for audio, `q` for a pause. */
  let taken = '';
  const read = async () => {
    for await (const message of inbox) taken += message === 'quiet' ? 'q' : 'a';
  };
  async function pass(ms: number) {
    for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
      clock.advance(100);
      await nextRound();
      await nextRound();
    }
  }
  const hear = () => socket.emit('message', AUDIO, true);
  return { socket, clock, inbox, read, pass, hear, taken: () => taken, spent: () => spent };
}

test('a pause is reported once, also before the first audio, and again after audio', async t => {
  const { inbox, read, pass, hear, taken } = open();
  void read();
  inbox.watchPauses();
  await pass(10 * QUIET_MS);
  t.is(taken(), 'q');
  hear();
  await pass(QUIET_MS / 2);
  hear();
  await pass(QUIET_MS / 2);
  t.is(taken(), 'qaa');
  await pass(10 * QUIET_MS);
  t.is(taken(), 'qaaq');
});

test('audio that waits to be read while the process is held up is no pause', async t => {
  const { clock, inbox, read, hear, taken } = open();
  void read();
  inbox.watchPauses();
  for (let count = 1; count <= 10; count++) {
    setImmediate(hear); // sockets are read after timers
    clock.advance(10 * QUIET_MS);
    await nextRound();
    await nextRound();
    t.is(taken(), 'a'.repeat(count));
  }
});

test('a socket that the server itself has paused is not quiet', async t => {
  const { socket, inbox, read, pass, hear, taken } = open(2 * AUDIO.length);
  inbox.watchPauses();
  for (const _ of 'abc') hear();
  t.true(socket.isPaused);
  await pass(10 * QUIET_MS);
  void read();
  await nextRound();
  t.false(socket.isPaused);
  t.is(taken(), 'aaa');
  await pass(10 * QUIET_MS);
  t.is(taken(), 'aaaq');
});

test('each message costs a token, also an empty one', t => {
  const { socket, spent } = open();
  for (let count = 0; count < 100; count++) socket.emit('message', Buffer.alloc(0), true);
  t.is(spent(), 100);
});
