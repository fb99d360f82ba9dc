/** Files of a sherpa-onnx model, and checks of them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import { type KnownFile, problemOf, shownPath } from '../engine/model-file.ts';
import {
  kindOf,
  MODEL_FILES,
  MODEL_KINDS,
  type ModelFile,
  type ModelKind,
  type Paths,
} from './sherpa-kinds.ts';

/** A model in the form that the engine loads: paths by their role. */
export interface SherpaModel {
  kind: ModelKind;
  files: Paths;
}

/** Paths of a model that adds capitals and punctuation. */
export interface Punctuation {
  model: string;
  vocabulary: string;
}

/** A model of the catalogue, or of the operator. */
export interface KnownModel {
  kind: ModelKind;
  languages: string[];
  /** Whether its text has capitals and punctuation. Absent: unknown. */
  punctuation?: boolean;
  files: Partial<Record<ModelFile, KnownFile>>;
}

/** Options of a model that the catalogue does not know. */
export function ownModelSchema(zod: typeof z) {
  const kinds = Object.keys(MODEL_KINDS) as ModelKind[];
  return zod.strictObject({
    kind: zod.enum(kinds).describe('What the model is'),
    languages: zod.array(zod.string().min(2)).min(1).describe('ISO 639-1 codes'),
    files: zod
      .partialRecord(zod.enum(MODEL_FILES), zod.string().min(1))
      .describe('Names of the files in the directory'),
    sha256: zod
      .union([
        zod.literal('unchecked'),
        zod.partialRecord(zod.enum(MODEL_FILES), zod.string().regex(/^[0-9a-f]{64}$/)),
      ])
      .describe(
        'SHA-256 of each file; unchecked: load them without a check, although a damaged file ends the recogniser',
      ),
  });
}

export type OwnModel = z.infer<ReturnType<typeof ownModelSchema>>;

/** Converts an operator's own model to the form of the catalogue. */
export function knownFrom(own: OwnModel): KnownModel {
  const files = Object.entries(own.files).map(([role, name]) => {
    const checked =
      own.sha256 === 'unchecked' ? {} : { sha256: own.sha256[role as ModelFile] ?? '(not given)' };
    return [role, { name, ...checked }];
  });
  return { kind: own.kind, languages: own.languages, files: Object.fromEntries(files) };
}

/**
 * Checks that all files are there, and are the right ones: a corrupt one would end the process that loads it.
 * @param remedy how to get the files again, for the message
 * @throws `config_error` that names the file and its problem, or says that the whole model is missing
 */
export async function checkModel(
  known: KnownModel,
  directory: string,
  remedy: string,
  { dataDir, error }: Pick<PluginContext<never>, 'dataDir' | 'error'>,
): Promise<SherpaModel> {
  const files: Paths = {};
  const roles = kindOf(known.kind).files;
  const found: string[] = await readdir(directory).catch(() => []);
  const isFetched = Object.values(known.files).every(({ url }) => url !== undefined);
  if (isFetched && roles.every(role => !found.includes(known.files[role]?.name ?? '')))
    throw refuse('its model is missing');
  for (const role of roles) {
    const file = known.files[role];
    if (file === undefined) throw refuse(`a ${known.kind} model needs a file "${role}"`);
    const path = join(directory, file.name);
    const problem = await problemOf(path, file);
    if (problem !== null) throw refuse(`${shownPath(path, dataDir)} ${problem}`);
    files[role] = path;
  }
  return { kind: known.kind, files };

  function refuse(what: string): Error {
    return error('config_error', `sherpa-onnx: ${what}; ${remedy}`);
  }
}
