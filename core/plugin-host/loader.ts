import { stat } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Plugin } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';
import { PluginShape, problemsIn } from './shapes.ts';

export type LoadedPlugin = Plugin<unknown>;

/** Location of a plugin's module: a file URL (built in), an absolute path, or a package resolved from `dir`. */
export interface PluginSource {
  name: string;
  module: string;
  dir: string;
}

/**
 * Imports a plugin's module and checks its shape, and that its name is the configured one.
 * @throws {AppError} `invalid_request` that names the wrong field and the module; trying again cannot help
 */
export async function importPlugin(source: PluginSource): Promise<LoadedPlugin> {
  const plugin = await importUnnamed(source);
  if (plugin.name === source.name) return plugin;
  throw broken(source, `its name is "${plugin.name}", but the configuration calls it "${source.name}"`);
}

/**
 * Imports a plugin whose name is not known yet.
 * @throws {AppError} `invalid_request`
 */
export async function importUnnamed(source: Omit<PluginSource, 'name'>): Promise<LoadedPlugin> {
  const module: unknown = await importModule(source);
  const plugin: unknown = Object(module).default;
  if (plugin === undefined) throw broken(source, 'it has no default export');
  const result = PluginShape.safeParse(plugin);
  if (!result.success) throw broken(source, problemsIn(result.error, 'its default export'));
  return plugin as LoadedPlugin; // checked by PluginShape
}

/**
 * Returns the schema of a plugin's options; a plugin without one takes no options.
 * @throws {AppError} `invalid_request`
 */
export function optionsSchema(plugin: LoadedPlugin): z.core.$ZodType {
  if (plugin.options === undefined) return z.strictObject({});
  const schema: unknown = plugin.options(z);
  if (schema instanceof z.core.$ZodType) return schema;
  throw new AppError('invalid_request', 'options must return a schema made with the zod that it is given');
}

async function importModule(source: Omit<PluginSource, 'name'>): Promise<unknown> {
  try {
    if (source.module.startsWith('file:')) return await import(source.module);
    if (!isAbsolute(source.module)) return await importPackage(source);
    if (await isFile(source.module)) return await import(pathToFileURL(source.module).href);
  } catch (cause) {
    throw isNotInstalled(source, cause) ? await noPackage(source) : broken(source, remedy(cause), cause);
  }
  throw new AppError('not_found', `${source.module}: there is no such file`);
}

/** Tells whether the package itself is missing, and not one that it imports. */
function isNotInstalled({ module, dir }: Omit<PluginSource, 'name'>, thrown: unknown): boolean {
  if (isAbsolute(module) || !(thrown instanceof Error) || !('code' in thrown)) return false;
  return thrown.code === 'ERR_MODULE_NOT_FOUND' && thrown.message.endsWith(importerIn(dir));
}

/** Names of files that can be imported. */
const MODULE_NAME = /\.[cm]?[jt]s$/;

async function noPackage({ module, dir }: Omit<PluginSource, 'name'>): Promise<AppError> {
  const isThere = await isFile(join(dir, module));
  if (!isThere && MODULE_NAME.test(module))
    return new AppError(
      'not_found',
      `there is neither a file ${module} in ${dir} nor an installed package of that name`,
    );
  const remedy = isThere
    ? `did you mean ./${module}?`
    : `install it there, or give a file as a path, such as ./${module}.mjs`;
  return new AppError('not_found', `no package ${module} is installed in ${dir}; ${remedy}`);
}

/** File from which packages are resolved; it need not exist. */
function importerIn(dir: string): string {
  return join(dir, 'earshot.yaml');
}

/** Resolves a package from the directory of the configuration, whichever way it declares its exports. */
function importPackage({ module, dir }: Omit<PluginSource, 'name'>): Promise<unknown> {
  const parentURL = pathToFileURL(importerIn(dir)).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(
        specifier,
        specifier === module && context.parentURL === import.meta.url ? { ...context, parentURL } : context,
      ),
  });
  try {
    return import(module); // the file was resolved before import() settles
  } finally {
    hooks.deregister();
  }
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ?? false;
}

function remedy(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') {
    return 'a package must hold JavaScript: Node strips types outside of node_modules only';
  }
  if (code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' && message.includes("'./plugin'"))
    return "earshot/plugin has nothing but types: write `import type { Plugin } from 'earshot/plugin'`";
  if (!(thrown instanceof SyntaxError)) return message;
  const [first = ''] = thrown.stack?.split('\n') ?? [];
  const line = first.startsWith('file:') ? first.slice(first.lastIndexOf(':') + 1) : '';
  return /^\d+$/.test(line) ? `${message} on line ${line}` : `${message} (node --check shows the line)`;
}

function broken(source: Pick<PluginSource, 'module'>, reason: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `${reason}, in ${source.module}`, { cause });
}
