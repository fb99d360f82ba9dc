import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { proposedModel, stepsOf } from '../../../config/setup/language-model.mjs';
import { thisMachine } from '../../../config/setup/proposal.mjs';
import type { Embedder, LanguageModel } from '../../contract/plugin.ts';
import type { Check } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';
import { excuseOf, withPlugin } from './trial.ts';

const { good, note, doubt } = findingsOf('Meaning');

const Answer = z.object({ legs: z.number() });
const ORDER = 'You are asked for a number of legs. Give it.';
/** Time limit for an answer, as summaries and new memories wait for it. */
const SLOW_MS = 5000;
const LATE = 'check that the model server works, and its load';
const [ONE, LIKE, UNLIKE] = [
  'He repairs cars for a living',
  'His job is fixing automobiles',
  'Bread is baked from flour',
];

/** Asks each chosen model a question without private data. */
export const languageModelCheck: Check = {
  group: 'Meaning',
  what: 'language model',
  limitMs: 90_000,
  cure: LATE,
  async look(patient, signal) {
    const { llm } = patient.loaded.config;
    if (llm.length === 0)
      return [note('language model', `none; rules write titles, overviews and memories${await proposal()}`)];
    const findings: Finding[] = [];
    for (const name of llm) {
      const trial = withPlugin(name, patient, host => ask(name, host.get('llm', name), signal));
      findings.push(await trial.catch(error => doubt(name, ...excuseOf(name, error))));
    }
    return findings;
  },
};

/** Proposes a language model that this machine could run, if any. */
async function proposal(): Promise<string> {
  const { models } = JSON.parse(await readFile(CATALOGUE, 'utf8'));
  const name = proposedModel(models, thisMachine());
  return name === null ? '' : `. This machine can run ${name}: ${stepsOf(name, 'earshot')}`;
}

const CATALOGUE = new URL('../../../config/models.json', import.meta.url);

async function ask(name: string, llm: LanguageModel, signal: AbortSignal): Promise<Finding> {
  const began = performance.now();
  await llm.object(Answer, { system: ORDER, user: 'A dog.', maxTokens: 1000, signal });
  const tookMs = performance.now() - began;
  const detail = `${llm.model} answers as requested, in ${(tookMs / 1000).toFixed(1)} s`;
  if (tookMs <= SLOW_MS) return good(name, detail);
  return doubt(name, detail, 'choose a smaller model, or a faster machine, unless it was only being loaded');
}

export const embedderCheck: Check = {
  group: 'Meaning',
  what: 'embedder',
  limitMs: 30_000,
  cure: LATE,
  async look(patient, signal) {
    const name = patient.loaded.config.embedder;
    const trial = withPlugin(name, patient, host => compare(name, host.get('embedder', name), signal));
    return [await trial.catch(error => doubt(name, ...excuseOf(name, error)))];
  },
};

async function compare(name: string, embedder: Embedder, signal: AbortSignal): Promise<Finding> {
  const [one, like, unlike] = await embedder.embed([ONE, LIKE, UNLIKE], signal);
  const detail = `${embedder.id}: ${embedder.dimensions} numbers for each text`;
  if (cosine(one, like) > cosine(one, unlike)) return good(name, detail);
  return doubt(
    name,
    `${detail}, but texts of similar meaning are not closer than others`,
    'choose another model',
  );
}

function cosine(one: Float32Array | undefined, other: Float32Array | undefined): number {
  return one?.reduce((sum, number, at) => sum + number * (other?.[at] ?? 0), 0) ?? 0;
}
