/** A search thread of the tests: it answers, ends, fails or says nothing, as the question has it. */
import { parentPort } from 'node:worker_threads';
import type { Asked } from '../../../plugins/storage/sql/sqlite-search.ts';

parentPort?.on('message', (asked: Asked | 'close') => {
  if (asked === 'close') return parentPort?.close();
  const { number, question } = asked;
  if (question.text === 'end') process.exit(1);
  if (question.text === 'say nothing') return;
  parentPort?.postMessage({ number, ids: question.text === 'fail' ? null : ['found aside'] });
});
