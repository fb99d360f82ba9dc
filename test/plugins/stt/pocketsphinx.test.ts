import test from 'ava';
import pocketsphinx from '../../../plugins/stt/pocketsphinx.ts';
import { sttChecks } from '../../conformance/stt.ts';
import { crash, fixture, run } from './context.ts';

for (const check of sttChecks) {
  test.serial(`pocketsphinx ${check.title}`, async t => {
    const running = await run(pocketsphinx);
    t.teardown(running.stop);
    const speech = await Promise.all(['tomorrow', 'garden'].map(fixture));
    await t.notThrowsAsync(
      check.run({
        provider: running.stt,
        language: 'en',
        speech: speech.map(each => ({ ...each, wordErrors: 0.15 })),
        crash: () => crash(running),
      }),
    );
  });
}
