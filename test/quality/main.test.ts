import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, 'main.ts');

test('a measurement is selected by its name, and an unknown one is rejected with the known ones', async t => {
  const error = await t.throwsAsync<Error & { code: number; stderr: string }>(
    run(process.execPath, [MAIN, 'speakers', 'nonsense']),
  );
  t.is(error?.code, 1);
  t.is(
    error?.stderr,
    'error: there is no measure "nonsense": name some of meaning, hearing, loss, understanding, speakers\n',
  );
});
