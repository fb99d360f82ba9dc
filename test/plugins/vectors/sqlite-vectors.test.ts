import test from 'ava';
import { vectorsChecks } from '../../../core/conformance/vectors.ts';
import sqliteVectors from '../../../plugins/vectors/sqlite-vectors.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { startIndex } from './context.ts';

for (const check of vectorsChecks)
  test(`an index in a file ${check.title}`, async t => {
    const dataDir = await temporaryDirectory(t);
    let running = await startIndex(sqliteVectors, dataDir);
    t.teardown(() => running.stop());
    const restart = async () => {
      await running.stop();
      running = await startIndex(sqliteVectors, dataDir);
      return running.index;
    };
    await t.notThrowsAsync(check.run({ index: running.index, restart }));
  });
