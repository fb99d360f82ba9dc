/**
 * Attributes uncaught errors to the plugin that caused them: an unhandled rejection, a throw in a timer, an `error`
 * event without a listener. That plugin is degraded and started again; the server continues.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { PluginSource } from './loader.ts';

/** A plugin that fails this often within this time is left out. */
const MAX_FAULTS = 3;
const WITHIN_MS = 10 * 60_000;

/** An asynchronous scope in which all code of one plugin runs, including what it starts. */
export interface PluginScope {
  readonly name: string;
  run<T>(work: () => T): T;
  /** Whether the file is part of the plugin. */
  owns(file: string): boolean;
  /** Called for each uncaught error while the plugin runs. */
  onFault: (error: AppError) => void;
  /** An error that nothing caught. */
  fault(thrown: unknown): void;
  /** An error that ends the process. */
  crash(thrown: unknown): void;
}

const current = new AsyncLocalStorage<PluginScope>();
const scopes = new Set<PluginScope>();

export function createPluginScope(
  source: PluginSource,
  {
    clock,
    log,
    onCrash = () => {},
  }: { clock: Pick<Clock, 'now'>; log: Log; onCrash?: (thrown: unknown) => void },
): PluginScope & { close(): void } {
  const owns = ownerOf(source);
  let faults: number[] = [];
  const scope = {
    name: source.name,
    run: <T>(work: () => T): T => current.run(scope, work),
    owns,
    onFault: (_error: AppError) => {},
    fault(thrown: unknown) {
      const now = clock.now();
      faults = [...faults.filter(at => now - at < WITHIN_MS), now].slice(-MAX_FAULTS);
      const isLeftOut = faults.length >= MAX_FAULTS;
      log[isLeftOut ? 'debug' : 'warn'](
        { plugin: source.name, err: thrown },
        'plugin let an error go uncaught',
      );
      scope.onFault(explain(source.name, thrown, { isLeftOut, place: placeOf(thrown, owns) }));
    },
    crash: onCrash,
    close: () => void scopes.delete(scope),
  };
  scopes.add(scope);
  return scope;
}

function explain(
  name: string,
  cause: unknown,
  { isLeftOut, place }: { isLeftOut: boolean; place: string | null },
): AppError {
  const where = place === null ? '' : ` at ${place}`;
  const message = `${name} let an error go uncaught${where}: ${cause instanceof Error ? cause.message : String(cause)}`;
  if (!isLeftOut) return new AppError('upstream_error', message, { cause });
  const minutes = WITHIN_MS / 60_000;
  return new AppError(
    'config_error',
    `${message}. That was the ${MAX_FAULTS}rd time within ${minutes} minutes: it is left out until Earshot is restarted`,
    { cause },
  );
}

/**
 * The files of a plugin: for `acme.mjs` also `acme/`, for `acme/index.mjs` its folder, and for a package everything
 * in it.
 */
export function ownerOf({ module }: Pick<PluginSource, 'module'>): (file: string) => boolean {
  const path = module.startsWith('file:') ? fileURLToPath(module) : module;
  const stem = path.slice(0, path.length - extname(path).length);
  const folder = `${basename(stem) === 'index' ? dirname(stem) : stem}/`;
  const isPackage = !path.startsWith('/') && !/^[A-Za-z]:/.test(path);
  if (isPackage) return file => file.includes(`/node_modules/${path}/`);
  return file => file === path || file.startsWith(folder);
}

/** Wraps an object so that each of its functions runs in the scope. */
export function inScope<T extends object>(scope: PluginScope, object: T): T {
  const wrap = (value: unknown) =>
    typeof value === 'function' ? (...args: unknown[]) => scope.run(() => value.apply(object, args)) : value;
  return new Proxy({} as T, {
    get: (_target, key) => wrap(Reflect.get(object, key, object)),
    has: (_target, key) => Reflect.has(object, key),
    ownKeys: () => Reflect.ownKeys(object),
    getOwnPropertyDescriptor(_target, key) {
      const found = Reflect.getOwnPropertyDescriptor(object, key);
      if (!found) return;
      return {
        value: wrap(Reflect.get(object, key, object)),
        enumerable: found.enumerable === true,
        configurable: true,
      };
    },
  });
}

/** Keeps uncaught errors of plugins from ending the process from now on. Any other error still does. */
export function containFaults(log: Log): void {
  process.on('unhandledRejection', thrown => {
    // harmless to core: an unhandled rejection has not interrupted other code
    const scope = scopeOf(thrown);
    if (scope) scope.fault(thrown);
    else end(log, thrown, 'unhandled rejection');
  });
  process.on('uncaughtException', thrown => {
    const scope = isThroughCore(thrown) ? null : scopeOf(thrown);
    if (scope) scope.fault(thrown);
    else end(log, thrown, 'uncaught exception');
  });
  process.on('exit', status => current.getStore()?.crash(`it ended the process with status ${status}`));
}

function end(log: Log, thrown: unknown, what: string): void {
  log.fatal({ err: thrown }, what);
  const files = filesOf(thrown);
  [...scopes].find(scope => files.some(scope.owns))?.crash(thrown);
  process.exit(1);
}

/** Returns the plugin that caused an error; null where it was core, or the cause is unknown. */
export function scopeOf(thrown: unknown): PluginScope | null {
  const [file] = filesOf(thrown);
  const owner = file === undefined ? undefined : [...scopes].find(scope => scope.owns(file));
  if (owner) return owner;
  // an error thrown by a callback of core is core's; a refusal, such as that of a key for the plugin's state, is for
  // the plugin to handle
  if (file !== undefined && isOurs(file) && !(thrown instanceof AppError)) return null;
  const scope = current.getStore();
  return scope && scopes.has(scope) ? scope : null;
}

/** Whether it was thrown through a function of core that did not finish because of it. */
function isThroughCore(thrown: unknown): boolean {
  return filesOf(thrown, isCall).some(file => file.startsWith(CORE) && file !== import.meta.filename);
}

/** Functions that only wait for the plugin do not count. */
function isCall(line: string): boolean {
  return !line.startsWith('    at async ');
}

const ROOT = join(import.meta.dirname, '../..');
const CORE = `${join(ROOT, 'core')}/`;
const OURS = ['core', 'bridge', 'config', 'plugins'].map(name => `${join(ROOT, name)}/`);

function isOurs(file: string): boolean {
  return OURS.some(folder => file.startsWith(folder));
}

/** The line of a plugin's own files that an error comes from, as `file:line`; null: its stack names none. */
export function placeOf(thrown: unknown, owns: (file: string) => boolean): string | null {
  const frame = framesOf(thrown).find(({ file }) => owns(file));
  return frame ? `${frame.file}:${frame.line}` : null;
}

function filesOf(thrown: unknown, isWanted?: (line: string) => boolean): string[] {
  return framesOf(thrown, isWanted).map(({ file }) => file);
}

/** Returns the places of an error's stack, the innermost first, without those of Node itself. */
function framesOf(thrown: unknown, isWanted = (_line: string) => true): { file: string; line: string }[] {
  const stack = thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : '';
  const lines = stack
    .split('\n')
    .filter(line => line.startsWith('    at ') && !line.includes('node:') && isWanted(line));
  return lines.flatMap(line => {
    const place = line.endsWith(')')
      ? line.slice(line.lastIndexOf('(') + 1, -1)
      : (line.split(' ').at(-1) ?? '');
    const found = /:(\d+):\d+$/.exec(place);
    const file = place.slice(0, found?.index);
    const at = found?.[1] ?? '';
    if (file.startsWith('file:')) return [{ file: fileURLToPath(file), line: at }];
    return file.startsWith('/') ? [{ file, line: at }] : [];
  });
}
