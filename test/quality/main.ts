/** How well Earshot hears and understands. */
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
import { speakerQuality } from './speakers.ts';
import { understandingQuality } from './understanding.ts';

const HELP = `Measures how well Earshot hears (the whole server, pocketsphinx, recordings of flite's voices) and understands.

  npm run quality                       some minutes
  npm run quality -- --meaning          only what needs no recogniser: some seconds
  npm run quality -- --understanding    only tasks, events, categories, overviews and memories of written conversations;
                                         with a language model as well: EARSHOT_QUALITY_LLM_URL (its OpenAI endpoint,
                                         http://127.0.0.1:11434/v1), EARSHOT_QUALITY_LLM_MODEL and _KEY, else a scripted
                                         one that only shows that the measure works
  npm run quality -- --speakers         only how well voices are told apart and named; with a model of yours:
                                         --model FILE --same LIKENESS --named LIKENESS
  npm run quality -- --loss             only what lost radio packets cost
  npm run quality -- --loss --sender S  the same of some: ${ALL_SENDERS.join('; ')}
  npm run quality -- --json FILE        the figures for programs as well
`;

const CODECS: SentCodec[] = ['pcm8', 'pcm16', 'opus', 'opus_fs320', 'lc3', 'lc3_fs1030'];
const SENTENCES = Object.entries(sentences);
/** Ratios of speech to white noise, dB. */
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
  const { values } = parseArgs({
    options: {
      json: { type: 'string' },
      meaning: { type: 'boolean' },
      loss: { type: 'boolean' },
      sender: { type: 'string', multiple: true },
      understanding: { type: 'boolean' },
      speakers: { type: 'boolean' },
      model: { type: 'string' },
      same: { type: 'string' },
      named: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const where = machine();
  process.stdout.write(`${JSON.stringify(where, null, 2)}\n\n`);
  const tables: Table[] = [];
  const show = (table: Table) => {
    tables.push(table);
    process.stdout.write(`${renderTable(table)}\n\n`);
  };
  const isUnderstandingOnly = values.understanding === true;
  if (values.speakers) show(await speakerQuality(values));
  else if (isUnderstandingOnly) {
    for (const table of [...(await understandingQuality()), ...(await memoryQuality())]) show(table);
    show(await citationQuality());
    for (const table of await modelQuality(process.env)) show(table);
  }
  if (!values.loss && !values.speakers && !isUnderstandingOnly)
    for (const table of await meaning()) show(table);
  if (!values.meaning && !values.speakers && !isUnderstandingOnly)
    await hearing(
      values.loss
        ? [instance => loss(instance, sendersOf(values.sender))]
        : [byCodec, inNoise, ofNoise, loss],
      show,
    );
  if (values.json) await writeFile(values.json, `${JSON.stringify({ machine: where, tables }, null, 2)}\n`);
}

function sendersOf(names: readonly string[] | undefined) {
  const unknown = names?.find(name => !ALL_SENDERS.some(sender => sender === name));
  if (unknown !== undefined) throw new Error(`there is no sender "${unknown}"; --help lists them`);
  return names && ALL_SENDERS.filter(sender => names.includes(sender));
}

async function hearing(
  measures: ((instance: TestServer) => Promise<Table>)[],
  show: (table: Table) => void,
): Promise<void> {
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
  return { title: 'Words wrong by codec at 16 kHz, %', columns: ['sentence', ...CODECS], rows };
}

async function inNoise(instance: TestServer): Promise<Table> {
  const rows = await inTurn(SENTENCES, async ([name, { text }]) => [
    name,
    ...(await inTurn(RATIOS, async db =>
      wrong(text, await heard(instance, noisy(spoken(name), db), 'pcm16')),
    )),
  ]);
  const columns = ['sentence', ...RATIOS.map(db => `${db} dB`)];
  return { title: 'Words wrong in white noise so far below the speech, %', columns, rows };
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
  return { title: 'Utterances in what is no speech', columns, rows };
}

function spoken(name: string): sound.Sound {
  return sound.join(sound.silence(0.5), sound.speech(name), sound.silence(1));
}

function noisy(speech: sound.Sound, db: number): sound.Sound {
  const level = 20 * Math.log10(sound.rms(speech) / 32767) - db;
  return sound.mix(speech, sound.atRms(level, sound.whiteNoise(speech.length / 16_000)));
}

/** Its text, as the server has it. */
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

/** One after the other: each has the machine for itself. */
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
