import test from 'ava';
import { isUnharmed, LIBRARIES, radioTorture } from './radio.ts';

process.setMaxListeners(1000); // every library instance listens for the end of the process

/** Plan of `npm run torture -- --radio`, in short. */
const PLAN = { seed: 2026, packets: 20_000 };

for (const library of LIBRARIES) {
  test.serial(`${library}: mutated packets of the radio end neither the bridge nor its hearing`, async t => {
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
