import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { loadConfig } from '../../../config/load.ts';
import { BUILTIN_PLUGINS, builtinsOf } from '../../../core/plugin-host/builtin.ts';
import { localRecognisers } from '../../../core/plugin-host/selection.ts';

test('recognisers that send speech to another machine are not local, and all others are', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-selection-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const uses: string[] = [];
  for (const [name, sends] of [
    ['near', ''],
    ['far', "sends: 'Speech',"],
  ]) {
    const file = join(dir, `${name}.mjs`);
    writeFileSync(file, `export default { name: '${name}', api: 1, title: 'Test', ${sends} setup() {} };`);
    uses.push(`  ${name}: { use: ${file} }`);
  }
  const local = (names: readonly string[]) => {
    const lines = [`stt: [${names.join(', ')}]`, 'plugins:', ...uses, `  broken: { use: ${dir}/none.mjs }`];
    writeFileSync(join(dir, 'earshot.yaml'), lines.join('\n'));
    return localRecognisers({ builtin: BUILTIN_PLUGINS, config: loadConfig({ cwd: dir, env: {} }) });
  };
  const remote = ['custom-stt', 'deepgram', 'openai', 'vosk', 'wyoming'];
  const expected = builtinsOf('stt').filter(name => !remote.includes(name));
  t.deepEqual(await local([...builtinsOf('stt'), 'far', 'near', 'broken']), [...expected, 'near', 'broken']);
  await t.throwsAsync(local(['openai', 'far']), { code: 'config_error', message: /works on this machine/ });
});
