import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { type LoadedConfig, sttNames } from '../../config/load.ts';
import {
  fetchModel,
  isLanguageModel,
  type Model,
  megabytes,
  modelDirectory,
  recognisesSpeech,
  removeModel,
  sizeOfModel,
} from '../../config/setup/model.mjs';
import { proposalFor, tellProposal, thisMachine } from '../../config/setup/proposal.mjs';
import { AppError } from '../runtime/errors.ts';
import { type Catalogue, findModel, listModels, type ModelEntry, readCatalogue } from '../system/models.ts';
import { JSON_OPTION, type Output, print, settingsOf } from './in-process.ts';
import { table } from './table.ts';

/** `models list`, `models pull`, `models remove`: models for the recognisers of this machine. */
export function addModels(program: Command): void {
  const models = program
    .command('models')
    .description('models: list, download and remove them')
    .addHelpText('after', '\nExample: earshot models list');
  addList(models);
  addPull(models);
  addRemove(models);
}

function addList(models: Command): void {
  models
    .command('list', { isDefault: true })
    .description('list available and installed models')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot models list')
    .action(async ({ json }: Output, command: Command) => {
      const { dataDir } = (await settingsOf(command, { orHere: true })).config;
      const catalogue = await readCatalogue();
      const entries = await listModels(dataDir, catalogue);
      print(json, { models: entries, sources: catalogue.sources }, tell(entries, catalogue));
    });
}

function addPull(models: Command): void {
  models
    .command('pull <name>')
    .description('download a model; an interrupted download is resumed')
    .option('--into <dir>', 'target directory (default: in the data directory)')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot models pull whisper-base')
    .action(async (name: string, { into, json }: Output & { into?: string }, command: Command) => {
      const loaded = await settingsOf(command, { orHere: true });
      const { model, isDefault } = await find(name);
      const directory = resolve(into ?? modelDirectory(loaded.config.dataDir, name, model));
      await pull(name, model, directory);
      const next = into === undefined ? `\n${useOf(name, model, isDefault, loaded)}` : '';
      const answer = { name, plugin: model.plugin, directory, bytes: sizeOfModel(model) };
      print(json, answer, `${name} is in ${directory}.${next}`);
    });
}

function addRemove(models: Command): void {
  models
    .command('remove <name>')
    .description('delete a model from the data directory')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot models remove whisper-base')
    .action(async (name: string, { json }: Output, command: Command) => {
      const { dataDir } = (await settingsOf(command, { orHere: true })).config;
      const { model } = await find(name);
      const directory = modelDirectory(dataDir, name, model);
      const freed = await removeModel(model, directory);
      if (freed === 0) throw new AppError('not_found', `${name} is not in ${directory}`);
      print(json, { name, freed }, `Removed ${name}: ${megabytes(freed)} MB are free again.`);
    });
}

const HEADINGS = ['name', 'plugin', 'text', 'languages', 'wrong words', 'size', 'memory', 'cores'];

function tell(entries: readonly ModelEntry[], catalogue: Catalogue): string {
  const machine = thisMachine();
  const proposal = proposalFor(catalogue, machine);
  return [
    table(
      [...HEADINGS, 'licence', ''],
      entries.map(entry => rowOf(entry, catalogue.models[entry.name])),
    ),
    '',
    'Text appears live, or after each utterance. *: with capitals and punctuation. Memory and cores are estimates.',
    ...(catalogue.sources ? [`Wrong words: ${catalogue.sources.wordErrors}`] : []),
    ...(proposal === null ? [] : ['', tellProposal(proposal, machine, 'earshot')]),
  ].join('\n');
}

function rowOf(entry: ModelEntry, model: Model | undefined): string[] {
  const isRecogniser = model !== undefined && recognisesSpeech(model);
  const [textComes, wrongWords] = isRecogniser ? recognitionOf(entry) : ['–', '–'];
  return [
    entry.name,
    entry.plugin,
    textComes,
    languagesOf(entry.languages),
    wrongWords,
    `${megabytes(entry.bytes)} MB`,
    `${megabytes(entry.memoryBytes)} MB`,
    String(entry.cores),
    entry.licence,
    [entry.installed && 'installed', entry.default && 'default'].filter(Boolean).join(', '),
  ];
}

function recognitionOf({
  wordErrors,
  live,
  punctuation,
}: ModelEntry): [textComes: string, wrongWords: string] {
  const wrongWords = wordErrors === null ? 'unknown' : `${wordErrors} %`;
  return [`${live ? 'live' : 'after'}${punctuation ? '*' : ''}`, wrongWords];
}

/** Longer lists are shown as a number. */
const LANGUAGES_SHOWN = 6;

function languagesOf(languages: readonly string[]): string {
  if (languages.length <= LANGUAGES_SHOWN) return languages.join(' ');
  const isDetected = languages.includes('multi');
  return `${languages.length - Number(isDetected)}${isDetected ? ', detected' : ''}`;
}

async function find(name: string): Promise<{ model: Model; isDefault: boolean }> {
  const catalogue = await readCatalogue();
  const isDefault = Object.values(catalogue.defaults).includes(name);
  return { model: findModel(name, catalogue), isDefault };
}

/** Errors of this machine, for which copying files by hand would not help. */
const LOCAL_FAULTS = /^E(ACCES|NOSPC|NOTDIR|PERM|ROFS)$/;

async function pull(name: string, model: Model, directory: string): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  try {
    await fetchModel({ name, model, directory, say, check: true, lines: true });
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    const { code, resumable } = cause as Error & { code?: string; resumable?: boolean };
    if (LOCAL_FAULTS.test(code ?? '')) throw cause;
    const next = resumable
      ? 'the part that was downloaded is kept, and the next attempt resumes there; '
      : '';
    const message = `${cause.message}; ${next}or copy it here by hand: ${filesByHand(model, directory)}`;
    throw new AppError('unavailable', message, { cause });
  }
}

/** Where the files of a model come from, and where to put them. */
function filesByHand({ files }: Model, directory: string): string {
  const all = Object.values(files).map(({ url = '', name }) => ({ url, name }));
  const bases = new Set(
    all.map(({ url, name }) => (url.endsWith(`/${name}`) ? url.slice(0, -name.length) : null)),
  );
  const [base] = bases;
  if (all.length === 1 || bases.size > 1 || !base)
    return all.map(({ url, name }) => `${url} to ${join(directory, name)}`).join(', ');
  return `${all.map(({ name }) => name).join(', ')} from ${base} to ${directory}`;
}

/** Describes the configuration, if any, that makes the server use the model. */
function useOf(name: string, model: Model, isDefault: boolean, loaded: LoadedConfig): string {
  const plugin = model.runBy ?? model.plugin;
  const options = z.looseObject({ model: z.string().optional() });
  const chosen = z
    .object({ model: z.string().optional() })
    .parse(loaded.pluginOptions(plugin, options).values).model;
  const isUsed = chosen === undefined ? isDefault : chosen === name;
  const key = isLanguageModel(model) ? 'llm' : recognisesSpeech(model) ? 'stt' : 'speakers';
  const present = key === 'stt' ? sttNames(loaded.config) : loaded.config[key];
  const order =
    plugin === model.plugin
      ? `${key}: [${[plugin, ...present].join(', ')}]`
      : `stt: { live: [${present.join(', ')}], final: ${plugin} }`;
  const lines = [
    ...(present.includes(plugin) ? [] : [order]),
    ...(isUsed ? [] : [`plugins:\n  ${plugin}:\n    model: ${name}`]),
  ];
  if (lines.length === 0) return 'No configuration is needed: the next start uses it.';
  return `The next start uses it with this in ${loaded.file ?? 'earshot.yaml'}:\n\n${lines.join('\n')}`;
}
