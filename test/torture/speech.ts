/**
 * The torture with spoken sentences and a recogniser of words: compares word errors with those of an undisturbed run.
 */
import sentences from '../fixtures/sentences.json' with { type: 'json' };
import { speech } from '../helpers/sound.ts';
import { wordErrorRate } from '../helpers/word-error-rate.ts';
import type { Said } from './code.ts';
import { type Kind, LONG } from './crowd.ts';
import type { Stored } from './judge.ts';
import { type Cast, type Plan, type Played, type Stage, torture } from './run.ts';

const SENTENCES = Object.entries(sentences).map(([name, { text }]) => ({ sound: speech(name), text }));
const sentenceOf = ({ device, number }: Said) =>
  SENTENCES[(device + number) % SENTENCES.length] as (typeof SENTENCES)[0];

const PEOPLE = {
  pausesMs: [1600],
  timeoutS: LONG,
  startedAgoMs: 0,
  soundOf: (said: Said) => sentenceOf(said).sound,
};
const KINDS: Kind[] = [
  { client: 'careful', codec: 'pcm16', ...PEOPLE, hasty: false },
  { client: 'bridge', codec: 'opus_fs320', ...PEOPLE, hasty: false },
  { client: 'careful', codec: 'opus_fs320', ...PEOPLE, hasty: false },
];
/** Long enough for a sentence to be spoken and recognised now and then. */
const CAST: Cast = {
  config: { stt: ['pocketsphinx'], listen: { heartbeatMs: 2000 } },
  kinds: KINDS,
  lifeMs: { least: 2000, most: 12_000 },
};

/** Accepted increase of the word error rate, in points. */
const MOST_POINTS = 5;

export interface SpeechReport {
  sentences: number;
  undisturbed: number;
  disturbed: number;
  cuts: Record<string, number>;
  seconds: number;
}

/** Runs without faults, and with those of the plan. */
export async function speechTorture(stage: Stage, plan: Plan): Promise<SpeechReport> {
  const disturbed = await torture(stage, plan, CAST);
  const said = Math.max(...disturbed.spoken.map(({ places }) => places.length));
  stage.say(`once more, ${said} sentences each, undisturbed`);
  const undisturbed = await torture(stage, { ...plan, kills: 0, cuts: 0, numbers: said }, CAST);
  return {
    sentences: disturbed.spoken.reduce((sum, { places }) => sum + places.length, 0),
    undisturbed: percentWrong(undisturbed),
    disturbed: percentWrong(disturbed),
    cuts: disturbed.counted.cuts,
    seconds: disturbed.counted.seconds + undisturbed.counted.seconds,
  };
}

export function isUnderstood({ undisturbed, disturbed }: SpeechReport): boolean {
  return disturbed <= undisturbed + MOST_POINTS;
}

/** Computes the word error rate of all devices, in order of time. */
function percentWrong({ spoken, stored }: Played): number {
  const all = spoken.map(({ device, source, places }) => ({
    said: places.map((_, number) => sentenceOf({ device, number }).text).join(' '),
    heard: heardOf(stored, source),
  }));
  const words = (text: string) => text.split(' ').length;
  const wrong = all.reduce((sum, { said, heard }) => sum + wordErrorRate(said, heard) * words(said), 0);
  return Math.round((1000 * wrong) / all.reduce((sum, { said }) => sum + words(said), 0)) / 10;
}

function heardOf(stored: Stored, source: string): string {
  return stored
    .filter(conversation => conversation.source === source)
    .flatMap(({ started_at, transcript_segments }) =>
      transcript_segments.map(({ text, start }) => ({
        text,
        at: Date.parse(started_at ?? '') + start * 1000,
      })),
    )
    .sort((a, b) => a.at - b.at)
    .map(({ text }) => text)
    .join(' ');
}
