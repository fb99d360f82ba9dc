/**
 * Measures how well voices are separated and named: scenes of synthetic voices through the domain and a real
 * database.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { SpeakerModel } from '../../core/contract/plugin.ts';
import { speakerOf } from '../../core/domain/conversations/segments.ts';
import { newId } from '../../core/domain/ids.ts';
import { createVoices } from '../../core/domain/speech/voices.ts';
import sherpa from '../../plugins/speakers/sherpa-speakers/index.ts';
import type { Table } from '../bench/benchmark.ts';
import { openDomain } from '../helpers/domain.ts';
import { atRms, mix, type Sound } from '../helpers/sound.ts';
import { patient, sentence, type VoiceName, voiceModelOptions } from '../helpers/voices.ts';
import { contextOf } from '../plugins/stt/context.ts';
import { measureLikeness } from './likeness.ts';

interface Turn {
  name: VoiceName;
  /** Mean loudness, dB of full scale. */
  level?: number;
  /** Loudness of another voice from a television. */
  television?: number;
  /** Hours that pass before it. */
  hours?: number;
}

const loud = (name: VoiceName): Turn => ({ name, level: -18 });
const far = (name: VoiceName): Turn => ({ name, level: -30 });

/** Scenes of one conversation each; `slt` and `rms` are known by name, the others are strangers. */
const SCENES: Readonly<Record<string, readonly Turn[]>> = {
  'two in turn': [loud('slt-2'), loud('rms-2'), loud('slt-1'), loud('rms-1')],
  'they swap seats': [loud('slt-2'), far('rms-2'), far('slt-1'), loud('rms-1'), far('slt-2'), loud('rms-2')],
  'a voice comes back after hours': [loud('slt-2'), loud('rms-2'), { ...loud('slt-1'), hours: 3 }],
  'television in the background': [
    { ...loud('slt-2'), television: -38 },
    { ...loud('rms-2'), television: -38 },
    { ...loud('slt-1'), television: -38 },
  ],
  'strangers alone': [loud('awb-1'), loud('annie-1'), loud('awb-2')],
  'a stranger among them': [loud('slt-2'), loud('awb-1'), loud('rms-2'), loud('awb-2'), loud('slt-1')],
};
const KNOWN = ['slt', 'rms'] as const;

interface Score {
  seconds: number;
  /** Seconds under the label of another voice. */
  wrongLabel: number;
  named: number;
  wrongNames: number;
  /** Pieces spoken by known people. */
  nameable: number;
}

/** Measures each scene; `total` comes last. */
export async function measureSpeakers(model: SpeakerModel): Promise<Record<string, Score>> {
  const undo: (() => unknown)[] = [];
  const domain = await openDomain({ teardown: (step: () => unknown) => void undo.push(step) });
  try {
    const { storage, conversations, people, users, speechSettings, log } = domain;
    const { id: userId } = await users.add('ada');
    const voices = createVoices({ storage, speechSettings, speakers: () => model, clock: patient, log });
    let hour = 0;

    async function play(turns: readonly Turn[]) {
      const source = { userId, source: 'phone', deviceId: newId(Date.now()), language: 'en', timeoutMs: 1e9 };
      const { id: conversationId } = await conversations.open(source);
      const labeller = voices.open(userId, { withProfile: false });
      const spans: { voice: string; seconds: number }[] = [];
      for (const [i, turn] of turns.entries()) {
        hour += turn.hours ?? 0;
        const samples = soundOf(turn);
        const seconds = samples.length / 16_000;
        const { signal } = new AbortController();
        const analysis = labeller.analyse(async () => samples, signal);
        const labelled = await labeller.label(conversationId, null, analysis, signal);
        if (!labelled) throw new Error('the speaker model does not work');
        const startAt = hour * 3_600_000 + i * 60_000;
        const voice = labelled.voice ? { voice: labelled.voice } : {};
        const speaker = speakerOf(labelled.speakerId);
        const piece = { text: `${i}`, startAt, endAt: startAt + seconds * 1000, speaker, sttProvider: null };
        await conversations.append({
          ...{ userId, conversationId, stream: null, startedAt: hour * 3_600_000 },
          pieces: [{ ...piece, ...voice }],
        });
        spans.push({ voice: turn.name.split('-')[0] ?? '', seconds });
      }
      const segments = await storage.segments.page(userId, conversationId, null, 100);
      await conversations.finish(userId, conversationId);
      return { conversationId, segments, spans };
    }

    const ids = new Map<string, string>();
    const { conversationId } = await play([loud('slt-1'), loud('rms-1')]);
    for (const [speakerId, voice] of KNOWN.entries()) {
      const person = await people.create(userId, voice);
      ids.set(person.id, voice);
      await conversations.assignSpeaker(userId, conversationId, { speakerId, personId: person.id });
    }
    const scores: Record<string, Score> = {};
    for (const [title, turns] of Object.entries(SCENES)) {
      const { segments, spans } = await play(turns);
      const heard = spans.map((span, i) => ({ ...span, label: segments[i]?.speakerId ?? -1 }));
      const nameOf = (i: number) => ids.get(segments[i]?.personId ?? '');
      scores[title] = {
        seconds: sum(spans.map(({ seconds }) => seconds)),
        wrongLabel: wrongSeconds(heard),
        named: spans.filter(({ voice }, i) => nameOf(i) === voice).length,
        wrongNames: spans.filter(({ voice }, i) => nameOf(i) !== undefined && nameOf(i) !== voice).length,
        nameable: spans.filter(({ voice }) => KNOWN.some(known => known === voice)).length,
      };
    }
    return { ...scores, total: totalOf(Object.values(scores)) };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Command-line options: path of a model, thresholds, and a folder of recordings to compare. */
export interface SpeakerWishes {
  model?: string | undefined;
  same?: string | undefined;
  named?: string | undefined;
  voices?: string | undefined;
}

/** Measures the model in `file`, or the tests' model, and shows the thresholds used. */
export async function speakerQuality({ model: file, same, named, voices }: SpeakerWishes): Promise<Table[]> {
  const undo: (() => unknown)[] = [];
  const { context, stop } = contextOf();
  undo.push(stop);
  try {
    const own = file === undefined ? await voiceModelOptions({ teardown: step => void undo.push(step) }) : {};
    const sha256 =
      file &&
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex');
    const given = {
      ...(file === undefined ? {} : { file, sha256 }),
      ...(same === undefined ? {} : { sameVoice: Number(same) }),
      ...(named === undefined ? {} : { namedVoice: Number(named) }),
    };
    const options = sherpa.options(z).parse({ ...own, ...given });
    const { speakers } = await sherpa.setup({ ...context, dataDir: '', options });
    if (voices !== undefined) return await measureLikeness(speakers, voices);
    return [tableOf(speakers, await measureSpeakers(speakers))];
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

function tableOf({ id, sameVoice, namedVoice }: SpeakerModel, scores: Record<string, Score>): Table {
  const rows = Object.entries(scores).map(([title, score]) => [
    title,
    `${((100 * score.wrongLabel) / score.seconds).toFixed(1)} %`,
    ((3600 * score.wrongNames) / score.seconds).toFixed(1),
    `${score.named} of ${score.nameable}`,
  ]);
  return {
    title: `Voices (${id}; sameVoice ${sameVoice}, namedVoice ${namedVoice})`,
    columns: ['scene', 'diarisation error', 'wrong names per hour', 'names found'],
    rows,
  };
}

function soundOf({ name, level = -18, television }: Turn): Sound {
  const sound = atRms(level, sentence(name));
  return television === undefined ? sound : mix(sound, atRms(television, sentence('annie-1')));
}

/**
 * Seconds outside the voice to which their label belongs: a label belongs to the voice that it covers most.
 */
function wrongSeconds(heard: readonly { voice: string; seconds: number; label: number }[]): number {
  const byLabel = Map.groupBy(heard, ({ label }) => label);
  const taken = new Map<string, number>();
  let right = 0;
  for (const spans of byLabel.values()) {
    const voices = [...Map.groupBy(spans, ({ voice }) => voice)].map(([voice, own]) => ({
      voice,
      seconds: sum(own.map(({ seconds }) => seconds)),
    }));
    const best = voices.sort((a, b) => b.seconds - a.seconds)[0];
    if (!best) continue;
    const before = taken.get(best.voice) ?? 0; // a voice has one label, the one that covers most of it
    right += Math.max(0, best.seconds - before);
    taken.set(best.voice, Math.max(before, best.seconds));
  }
  return sum(heard.map(({ seconds }) => seconds)) - right;
}

function totalOf(scores: readonly Score[]): Score {
  const of = (key: keyof Score) => sum(scores.map(score => score[key]));
  return {
    seconds: of('seconds'),
    wrongLabel: of('wrongLabel'),
    named: of('named'),
    wrongNames: of('wrongNames'),
    nameable: of('nameable'),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
