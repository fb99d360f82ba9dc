/** A thread that answers, ends, fails or hangs, as the query demands. */
import { parentPort } from 'node:worker_threads';
import type { Asked } from '../../../../plugins/storage/sql/sqlite-thread.ts';

parentPort?.on('message', (asked: Asked | 'close') => {
  if (asked === 'close') return parentPort?.close();
  const { number, task } = asked;
  const text = typeof task === 'object' ? task.question.text : task;
  if (text === 'end') process.exit(1);
  if (text === 'say nothing') return;
  parentPort?.postMessage({ number, found: text === 'fail' ? null : ['found aside'] });
});
