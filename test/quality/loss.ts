import type { Table } from '../bench/benchmark.ts';
import sentences from '../fixtures/sentences.json' with { type: 'json' };
import { evenly, hearThrough, inBursts, type Loss, SENDERS, type Sender } from '../helpers/lossy-radio.ts';
import type { TestServer } from '../helpers/services.ts';
import { join, silence, speech } from '../helpers/sound.ts';
import { wordErrorRate } from '../helpers/word-error-rate.ts';

const SENTENCES = Object.entries(sentences);
const RATES = [0.01, 0.05, 0.1];
/** Repetitions with different losses: a single one over five sentences is off by 5 points or more. */
const DRAWS = 3;
const KINDS: [string, Loss][] = [
  ['evenly', evenly],
  ['in bursts', inBursts],
];

export const ALL_SENDERS = Object.keys(SENDERS) as Sender[];

/** Measures the effect of lost radio packets. */
export async function loss(server: TestServer, senders: readonly Sender[] = ALL_SENDERS): Promise<Table> {
  const rows: Table['rows'] = [];
  for (const sender of senders) {
    const whole = await wordsWrong(server, sender, evenly, 0);
    for (const [kind, lose] of KINDS) {
      const row: (string | number)[] = [`${sender}, ${kind}`, whole.wrong];
      let [made, told] = [0, 0];
      for (const rate of RATES) {
        const found = await wordsWrong(server, sender, lose, rate);
        row.push(found.wrong);
        made += found.madeMs;
        told += found.toldMs;
      }
      rows.push([...row, Math.round(made), told]);
    }
  }
  const columns = ['packets lost', ...['0 %', '1 %', '5 %', '10 %'], 'lost, ms', 'told, ms'];
  return { title: 'Wrong words with lost packets, %', columns, rows };
}

/** Word errors over all sentences, with different lost packets for each sentence and repetition. */
async function wordsWrong(server: TestServer, sender: Sender, lose: Loss, rate: number) {
  const found: { wrong: number; madeMs: number; toldMs: number }[] = [];
  const draws = rate === 0 ? 1 : DRAWS;
  for (let seed = 1; seed <= draws * SENTENCES.length; seed++) {
    const [name, { text }] = SENTENCES[(seed - 1) % SENTENCES.length] as (typeof SENTENCES)[number];
    const sound = join(silence(0.5), speech(name), silence(1));
    const lost = (count: number) => lose(count, rate, seed);
    const heard = await hearThrough(server, { sound, sender, lost });
    found.push({ wrong: wordErrorRate(text, heard.text), madeMs: heard.made.ms, toldMs: heard.told.ms });
  }
  const sum = (of: (one: (typeof found)[number]) => number) => found.reduce((all, one) => all + of(one), 0);
  return {
    wrong: Math.round((sum(one => one.wrong) / found.length) * 100),
    madeMs: sum(one => one.madeMs),
    toldMs: sum(one => one.toldMs),
  };
}
