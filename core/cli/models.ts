import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { type LoadedConfig, sttNames } from '../../config/load.ts';
import { nearest } from '../../config/nearest.ts';
import {
  fetchModel,
  isComplete,
  type Model,
  megabytes,
  modelDirectory,
  removeModel,
  sizeOfModel,
} from '../../config/setup/model.mjs';
import { AppError } from '../runtime/errors.ts';
import { print, settingsOf } from './in-process.ts';

interface Catalogue {
  /** By plugin. */
  defaults: Record<string, string>;
  models: Record<string, Model>;
}

interface Output {
  json?: boolean;
}

const CATALOGUE = new URL('../../config/models.json', import.meta.url);

/** `models list`, `models pull`, `models remove`: what the recognisers of this machine need. */
export function addModels(program: Command): void {
  const models = program
    .command('models')
    .description('speech models: what there is, and what of it is on this machine')
    .addHelpText('after', '\nExample: earshot models list');
  addList(models);
  addPull(models);
  addRemove(models);
}

function addList(models: Command): void {
  models
    .command('list')
    .description('list the models that Earshot knows')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot models list')
    .action(async ({ json }: Output, command: Command) => {
      const { dataDir } = (await settingsOf(command, { orHere: true })).config;
      const entries = await list(dataDir);
      print(json, { models: entries }, table(entries));
    });
}

function addPull(models: Command): void {
  models
    .command('pull <name>')
    .description('fetch a model; a download that broke off goes on where it stopped')
    .option('--into <dir>', 'where to, instead of into the data directory')
    .option('--json', 'answer as one JSON object')
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
    .option('--json', 'answer as one JSON object')
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

async function list(dataDir: string) {
  const { defaults, models } = await readCatalogue();
  return Promise.all(
    Object.entries(models).map(async ([name, model]) => ({
      name,
      plugin: model.plugin,
      languages: model.languages,
      bytes: sizeOfModel(model),
      licence: model.licence,
      about: model.about,
      installed: await isComplete(model, modelDirectory(dataDir, name, model)),
      default: defaults[model.plugin] === name,
    })),
  );
}

function table(entries: Awaited<ReturnType<typeof list>>): string {
  const rows = entries.map(({ name, plugin, languages, bytes, licence, installed, default: isDefault }) => [
    name,
    plugin,
    languages.join(' '),
    `${megabytes(bytes)} MB`,
    licence,
    [installed && 'installed', isDefault && 'default'].filter(Boolean).join(', '),
  ]);
  const all = [['NAME', 'PLUGIN', 'LANGUAGES', 'SIZE', 'LICENCE', ''], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0))) ?? [];
  return all
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

async function find(name: string): Promise<{ model: Model; isDefault: boolean }> {
  const { defaults, models } = await readCatalogue();
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  if (model) return { model, isDefault: defaults[model.plugin] === name };
  const meant = nearest(name, Object.keys(models));
  const hint = meant === null ? 'earshot models list shows what there is' : `did you mean ${meant}?`;
  throw new AppError('not_found', `there is no model ${name}; ${hint}`);
}

async function readCatalogue(): Promise<Catalogue> {
  return JSON.parse(await readFile(CATALOGUE, 'utf8'));
}

/** What is wrong with this machine, where carrying files here would not help. */
const LOCAL_FAULTS = /^E(ACCES|NOSPC|NOTDIR|PERM|ROFS)$/;

async function pull(name: string, model: Model, directory: string): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  try {
    await fetchModel({ name, model, directory, say, check: true, lines: true });
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    const { code, resumable } = cause as Error & { code?: string; resumable?: boolean };
    if (LOCAL_FAULTS.test(code ?? '')) throw cause;
    const files = Object.values(model.files).map(file => `${file.url} to ${join(directory, file.name)}`);
    const next = resumable ? 'what has come is kept, and the next try goes on from there; ' : '';
    const message = `${cause.message}; ${next}or carry it here by hand: ${files.join(', ')}`;
    throw new AppError('unavailable', message, { cause });
  }
}

/** What to configure, if anything, so that the model is used. */
function useOf(name: string, { plugin }: Model, isDefault: boolean, loaded: LoadedConfig): string {
  const stt = sttNames(loaded.config);
  const options = z.looseObject({ model: z.string().optional() });
  const chosen = z
    .object({ model: z.string().optional() })
    .parse(loaded.pluginOptions(plugin, options).values).model;
  const lines = [
    ...(stt.includes(plugin) ? [] : [`stt: [${[plugin, ...stt].join(', ')}]`]),
    ...((chosen === undefined ? isDefault : chosen === name)
      ? []
      : [`plugins:\n  ${plugin}:\n    model: ${name}`]),
  ];
  if (lines.length === 0) return 'Nothing is left to configure: the next start uses it.';
  return `The next start uses it with this in ${loaded.file ?? 'earshot.yaml'}:\n\n${lines.join('\n')}`;
}
