/** Measures how well Earshot recognises and understands. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { SentCodec } from '../../core/cli/stream/recording.ts';
import type { Table } from '../bench/benchmark.ts';
import { machine } from '../bench/machine.ts';
import { renderTable } from '../bench/report.ts';
import sentences from '../fixtures/sentences.json' with { type: 'json' };
import { connectListen } from '../helpers/listen-client.ts';
import { messagesOf } from '../helpers/packets.ts';
import { buildServer, type TestServer } from '../helpers/services.ts';
import * as sound from '../helpers/sound.ts';
import { wordErrorRate } from '../helpers/word-error-rate.ts';
import { citationQuality, modelQuality } from './language-model.ts';
import { ALL_SENDERS, loss } from './loss.ts';
import { meaning } from './meaning.ts';
import { memoryQuality } from './memories.ts';
import { type SpeakerWishes, speakerQuality } from './speakers.ts';
import { understandingQuality } from './understanding.ts';

const HELP = `Measures how well Earshot hears (the whole server, pocketsphinx, recordings of flite's voices) and understands.

  npm run quality                       meaning, hearing and loss; some minutes
  npm run quality -- meaning            what needs no recogniser: some seconds
  npm run quality -- hearing            wrong words by codec and in noise, and noise mistaken for speech
  npm run quality -- loss               what lost radio packets cost
  npm run quality -- loss --sender S    the same of some: ${ALL_SENDERS.join('; ')}
  npm run quality -- understanding      tasks, events, categories, overviews and memories of written conversations;
                                         with a language model as well: EARSHOT_QUALITY_LLM_URL (its OpenAI endpoint,
                                         http://127.0.0.1:11434/v1), EARSHOT_QUALITY_LLM_MODEL and _KEY, else a scripted
                                         one that only shows that the measure works
  npm run quality -- speakers           how well voices are told apart and named; with a model of yours:
                                         --model FILE --same LIKENESS --named LIKENESS
  npm run quality -- speakers --voices DIR   how alike recordings of yours are, a folder for each person, and which
                                         thresholds they suggest for --model FILE
  npm run quality -- --json FILE        the figures for programs as well
`;

interface Wishes extends SpeakerWishes {
  sender?: string[] | undefined;
}
type Show = (table: Table) => void;

const MEASURES: Readonly<Record<string, (wishes: Wishes, show: Show) => Promise<void>>> = {
  meaning: async (_, show) => (await meaning()).forEach(show),
  hearing: (_, show) => hearing([byCodec, inNoise, ofNoise], show),
  loss: ({ sender }, show) => hearing([instance => loss(instance, sendersOf(sender))], show),
  understanding: async (_, show) => {
    for (const table of [...(await understandingQuality()), ...(await memoryQuality())]) show(table);
    show(await citationQuality());
    for (const table of await modelQuality(process.env)) show(table);
  },
  speakers: async (wishes, show) => (await speakerQuality(wishes)).forEach(show),
};
const USUAL = ['meaning', 'hearing', 'loss'];

const CODECS: SentCodec[] = ['pcm8', 'pcm16', 'opus', 'opus_fs320', 'lc3', 'lc3_fs1030'];
const SENTENCES = Object.entries(sentences);
/** Signal-to-noise ratios of speech and white noise, dB. */
const RATIOS = [30, 20, 15, 10];
const NOISES: Record<string, ArrayLike<number>> = {
  'white noise': sound.whiteNoise(60),
  'pink noise': sound.pinkNoise(60),
  'brown noise': sound.brownNoise(60),
  'hum of 50 Hz': sound.hum(60, 50),
  'plucked string': sound.pluckedString(60, 220),
};
/** Peaks, dB of full scale. */
const PEAKS = [-40, -25, -12];

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'string' },
      sender: { type: 'string', multiple: true },
      model: { type: 'string' },
      same: { type: 'string' },
      named: { type: 'string' },
      voices: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const measures = (positionals.length > 0 ? positionals : USUAL).map(measureOf);
  const where = machine();
  process.stdout.write(`${JSON.stringify(where, null, 2)}\n\n`);
  const tables: Table[] = [];
  for (const measure of measures)
    await measure(values, table => {
      tables.push(table);
      process.stdout.write(`${renderTable(table)}\n\n`);
    });
  if (values.json) await writeFile(values.json, `${JSON.stringify({ machine: where, tables }, null, 2)}\n`);
}

function measureOf(name: string) {
  const measure = MEASURES[name];
  if (measure) return measure;
  throw new Error(`there is no measure "${name}": name some of ${Object.keys(MEASURES).join(', ')}`);
}

function sendersOf(names: readonly string[] | undefined) {
  const unknown = names?.find(name => !ALL_SENDERS.some(sender => sender === name));
  if (unknown !== undefined) throw new Error(`there is no sender "${unknown}"; --help lists them`);
  return names && ALL_SENDERS.filter(sender => names.includes(sender));
}

async function hearing(measures: ((instance: TestServer) => Promise<Table>)[], show: Show): Promise<void> {
  const instance = await buildServer({ stt: ['pocketsphinx'] });
  try {
    for (const measure of measures) show(await measure(instance));
  } finally {
    await instance.stop();
  }
}

async function byCodec(instance: TestServer): Promise<Table> {
  const rows = await inTurn(SENTENCES, async ([name, { text }]) => [
    name,
    ...(await inTurn(CODECS, async codec => wrong(text, await heard(instance, spoken(name), codec)))),
  ]);
  return { title: 'Wrong words by codec at 16 kHz, %', columns: ['sentence', ...CODECS], rows };
}

async function inNoise(instance: TestServer): Promise<Table> {
  const rows = await inTurn(SENTENCES, async ([name, { text }]) => [
    name,
    ...(await inTurn(RATIOS, async db =>
      wrong(text, await heard(instance, noisy(spoken(name), db), 'pcm16')),
    )),
  ]);
  const columns = ['sentence', ...RATIOS.map(db => `${db} dB`)];
  return { title: 'Wrong words by white noise this far below the speech, %', columns, rows };
}

async function ofNoise(instance: TestServer): Promise<Table> {
  const rows = await inTurn(Object.entries(NOISES), async ([name, noise]) => [
    name,
    ...(await inTurn(PEAKS, async db => {
      const before = await utterances(instance);
      await heard(instance, sound.atPeak(db, noise), 'pcm16');
      return (await utterances(instance)) - before;
    })),
  ]);
  const columns = ['60 s of', ...PEAKS.map(db => `${db} dBFS`)];
  return { title: 'Utterances in audio without speech', columns, rows };
}

function spoken(name: string): sound.Sound {
  return sound.join(sound.silence(0.5), sound.speech(name), sound.silence(1));
}

function noisy(speech: sound.Sound, db: number): sound.Sound {
  const level = 20 * Math.log10(sound.rms(speech) / 32767) - db;
  return sound.mix(speech, sound.atRms(level, sound.whiteNoise(speech.length / 16_000)));
}

/** Returns the text that the server stored. */
async function heard(instance: TestServer, what: sound.Sound, codec: SentCodec): Promise<string> {
  const client = await connectListen(instance.url, instance.key, {
    codec,
    sample_rate: 16_000,
    conversation_timeout: 600,
    client_device_id: codec,
  });
  for (const message of messagesOf(what, codec)) client.socket.send(message);
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client.until('conversation_finished');
  client.socket.close();
  return client
    .segments()
    .map(({ text }) => text)
    .join(' ');
}

async function utterances(instance: TestServer): Promise<number> {
  const text = await (await fetch(new URL('/metrics', instance.url))).text();
  const counts = [...text.matchAll(/^earshot_utterances_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

function wrong(said: string, text: string): number {
  return Math.round(wordErrorRate(said, text) * 100);
}

/** Processes one item after the other, so that each has the machine to itself. */
async function inTurn<T, R>(items: readonly T[], what: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await what(item));
  return results;
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  },
);
