import anyTest, { type TestFn } from 'ava';
import sentences from './fixtures/sentences.json' with { type: 'json' };
import { evenly, hearThrough, inBursts, type Loss, type Sender } from './helpers/lossy-radio.ts';
import { buildServer, type TestServer } from './helpers/services.ts';
import { join, silence, speech } from './helpers/sound.ts';
import { wordErrorRate } from './helpers/word-error-rate.ts';

const test = anyTest as TestFn<{ server: TestServer }>;
/** Recording that is recognised perfectly without losses, and badly if each loss ends the utterance. */
const SAID = 'health';
const sound = join(silence(0.5), speech(SAID), silence(1));
const SEED = 1;

/** `npm run quality -- loss` measures all of it. */
const LOSSES: [Sender, kind: string, lose: Loss, rate: number, maxWer: number][] = [
  ['opus 20 ms', 'one by one', evenly, 0.05, 0.15],
  ['pcm, 4 fragments', 'in bursts', inBursts, 0.1, 0.2],
];

test.before(async t => {
  t.context.server = await buildServer({ stt: ['pocketsphinx'] });
});
test.after.always(t => t.context.server?.stop());

for (const [sender, kind, lose, rate, maxWer] of LOSSES)
  test.serial(
    `of ${sender} with ${rate * 100} % of the packets lost ${kind} at most ${maxWer * 100} % of the words are wrong, and all losses are reported`,
    async t => {
      const lost = (count: number) => lose(count, rate, SEED);
      const { text, made, told } = await hearThrough(t.context.server, { sound, sender, lost });
      const wer = wordErrorRate(sentences[SAID].text, text);
      t.log(`${(wer * 100).toFixed(0)} %, ${made.packets} packets lost: ${text}`);
      t.true(made.packets > 10);
      t.true(Math.abs(told.ms - made.ms) <= 0.5, `${made.ms} ms were lost, ${told.ms} ms told`);
      t.true(wer <= maxWer, `${(wer * 100).toFixed(0)} % of words wrong: ${text}`);
    },
  );
