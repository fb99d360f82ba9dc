import test from 'ava';
import { isUnharmed, LIBRARIES, radioTorture } from './radio.ts';

process.setMaxListeners(1000); // every instance of the library listens for the process's exit

/** A short form of `npm run torture -- radio`. */
const PLAN = { seed: 2026, packets: 20_000 };

for (const library of LIBRARIES) {
  test.serial(`${library}: mutated radio packets end neither the bridge nor its reception`, async t => {
    const stage = {
      teardown: (step: () => unknown) => t.teardown(async () => void (await step())),
      say() {},
    };
    const report = await radioTorture(stage, library, PLAN);
    t.log(report);
    t.true(isUnharmed(report), JSON.stringify(report));
    const { advertisement = 0, pairing = 0, answer = 0, data = 0, event = 0 } = report.malformed;
    for (const count of [advertisement, pairing, answer, data, event]) t.true(count > 0);
  });
}
