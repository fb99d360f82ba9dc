import { registerHooks } from 'node:module';
import test from 'ava';
import { connectListen } from '../../helpers/listen-client.ts';
import { buildServer } from '../../helpers/services.ts';

/** Simulates a machine without the optional package. */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== '@audio/decode-aac') return next(specifier, context);
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});

test('AAC without its package is refused with 1003 and instructions, and other codecs work', async t => {
  const server = await buildServer({ stt: [] });
  t.teardown(() => server.stop());
  for (let attempt = 0; attempt < 2; attempt++) {
    const client = await connectListen(server.url, server.key, { codec: 'aac', custom_stt: 'enabled' });
    t.deepEqual(await client.closed, {
      code: 1003,
      reason:
        'AAC cannot be decoded here: npm install @audio/decode-aac on the server, or send opus or pcm16',
    });
  }
  const client = await connectListen(server.url, server.key, { codec: 'lc3', custom_stt: 'enabled' });
  await client.until('service_status', event => event.status === 'ready');
  client.socket.close();
});
