import test from 'ava';
import { ConfigSchema } from '../../../config/schema.ts';
import { BUILTIN_PLUGINS, builtinsOf, localRecognisers } from '../../../core/plugin-host/builtin.ts';

test('recognisers that send speech to another machine are not local, and all others are', async t => {
  const names = builtinsOf('stt');
  const local = localRecognisers(ConfigSchema.parse({ stt: [...names, 'mine'] }));
  t.true(local.includes('mine'));
  for (const name of names) {
    const { default: plugin } = await import(String(BUILTIN_PLUGINS[name]));
    t.is(local.includes(name), !plugin.title.endsWith('Speech is sent there'), plugin.title);
  }
  t.throws(() => localRecognisers(ConfigSchema.parse({ stt: ['openai'] })), { code: 'config_error' });
});
