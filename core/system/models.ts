/** Models of this machine: which there are, which are installed, and downloads of the others. */
import { readFile } from 'node:fs/promises';
import { nearest } from '../../config/nearest.ts';
import {
  fetchModel,
  isComplete,
  type Model,
  modelDirectory,
  removeModel,
  sizeOfModel,
} from '../../config/setup/model.mjs';
import { coresFor, memoryOf } from '../../config/setup/proposal.mjs';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';

/** `config/models.json`. */
export interface Catalogue {
  /** By plugin. */
  defaults: Record<string, string>;
  models: Record<string, Model>;
  /** For a second pass, the best one first. */
  proposals?: string[];
  /** Where the figures are from, and what they mean. */
  sources?: { wordErrors: string };
}

export async function readCatalogue(): Promise<Catalogue> {
  return JSON.parse(await readFile(new URL('../../config/models.json', import.meta.url), 'utf8'));
}

export type ModelEntry = Awaited<ReturnType<typeof listModels>>[number];

/** Lists all models of the catalogue, with what is known about each. */
export async function listModels(dataDir: string, { defaults, models }: Catalogue) {
  return Promise.all(
    Object.entries(models).map(async ([name, model]) => ({
      name,
      plugin: model.plugin,
      languages: model.languages,
      bytes: sizeOfModel(model),
      licence: model.licence,
      about: model.about,
      live: model.live ?? false,
      punctuation: model.punctuation ?? false,
      wordErrors: model.wordErrors ?? null,
      /** For planning, not measured. */
      memoryBytes: memoryOf(model),
      cores: coresFor(model),
      installed: await isComplete(model, modelDirectory(dataDir, name, model)),
      default: Object.values(defaults).includes(name),
    })),
  );
}

/** @throws {AppError} `not_found`, with the name that was meant */
export function findModel(name: string, { models }: Pick<Catalogue, 'models'>): Model {
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  if (model) return model;
  const meant = nearest(name, Object.keys(models));
  const hint = meant === null ? 'earshot models list shows what there is' : `did you mean ${meant}?`;
  throw new AppError('not_found', `there is no model ${name}; ${hint}`);
}

/** The last download of a model, since the start of the server. */
interface Download {
  isRunning: boolean;
  /** Bytes that have arrived. */
  bytes: number;
  /** Why it ended early; what has come is kept, and the next try goes on from there. */
  error: string | null;
}

export interface ListedModel extends ModelEntry {
  /** Null: none since the start of the server. */
  download: Download | null;
}

export type Models = ReturnType<typeof createModels>;

/**
 * Downloads and removes models of the running server, one download at a time.
 * @param chosen the model that the options of a plugin name; undefined: its default
 * @param installed called after each download
 */
export function createModels({
  dataDir,
  catalogue,
  log,
  chosen,
  installed,
}: {
  dataDir: string;
  catalogue: () => Promise<Catalogue>;
  log: Log;
  chosen(plugin: string): string | undefined;
  installed(): Promise<void>;
}) {
  const downloads = new Map<string, Download>();
  const stopping = new AbortController();
  const running = () => [...downloads].find(([, { isRunning }]) => isRunning)?.[0];

  async function run(name: string, model: Model, download: Download): Promise<void> {
    const directory = modelDirectory(dataDir, name, model);
    const progress = (bytes: number) => {
      download.bytes = bytes;
      if (stopping.signal.aborted) throw Object.assign(new Error('the server stops'), { final: true });
    };
    try {
      await fetchModel({ name, model, directory, say: () => {}, check: true, progress });
      download.bytes = sizeOfModel(model);
      log.info({ model: name }, 'model downloaded');
      await installed();
    } catch (error) {
      download.error = error instanceof Error ? error.message : String(error);
      log.warn({ model: name, err: error }, 'model not downloaded');
    } finally {
      download.isRunning = false;
    }
  }

  return {
    async list(): Promise<ListedModel[]> {
      const entries = await listModels(dataDir, await catalogue());
      return entries.map(entry => ({ ...entry, download: downloads.get(entry.name) ?? null }));
    },
    /** The model that a plugin takes, if that is not installed. */
    async missingOf(plugin: string): Promise<ModelEntry | null> {
      const known = await catalogue();
      const wanted = chosen(plugin) ?? known.defaults[plugin];
      const entries = await listModels(dataDir, known);
      return entries.find(({ name, installed }) => name === wanted && !installed) ?? null;
    },
    /** Begins a download; `list` tells how it goes. `not_found`; `conflict` while another one runs. */
    async download(name: string): Promise<void> {
      const model = findModel(name, await catalogue());
      const busy = running();
      if (busy !== undefined)
        throw new AppError(
          'conflict',
          `${busy} is being downloaded: wait for its end, there is one at a time`,
        );
      const download: Download = { isRunning: true, bytes: 0, error: null };
      downloads.set(name, download);
      void run(name, model, download);
    },
    /** Resolves to the bytes that are free again. `not_found` where it is not installed; `conflict` during its download. */
    async remove(name: string): Promise<number> {
      const model = findModel(name, await catalogue());
      if (running() === name) throw new AppError('conflict', `${name} is being downloaded: wait for its end`);
      const freed = await removeModel(model, modelDirectory(dataDir, name, model));
      if (freed === 0) throw new AppError('not_found', `${name} is not installed`);
      downloads.delete(name);
      return freed;
    },
    /** Ends a running download at the next bytes; what has come is kept. */
    stop(): void {
      stopping.abort();
    },
  };
}
