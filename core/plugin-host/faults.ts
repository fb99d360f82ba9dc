/**
 * Attributes what nobody caught to the plugin that it is from: an unhandled rejection, a throw in a timer, an `error`
 * event without a listener. Such a plugin is degraded and started again; the server goes on.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { PluginSource } from './loader.ts';

/** A plugin that has failed so often, within this time, is left out. */
const MAX_FAULTS = 3;
const WITHIN_MS = 10 * 60_000;

/** All code that a plugin runs, or begins, runs in its scope. */
export interface PluginScope {
  readonly name: string;
  run<T>(work: () => T): T;
  /** Whether the file is a module of the plugin. */
  owns(file: string): boolean;
  /** Told of each fault; of the run that is under way. */
  onFault: (error: AppError) => void;
  /** Something that nobody caught. */
  fault(thrown: unknown): void;
}

const current = new AsyncLocalStorage<PluginScope>();
const scopes = new Set<PluginScope>();

export function createPluginScope(
  source: PluginSource,
  { clock, log }: { clock: Pick<Clock, 'now'>; log: Log },
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
      scope.onFault(explain(source.name, thrown, isLeftOut));
    },
    close: () => void scopes.delete(scope),
  };
  scopes.add(scope);
  return scope;
}

function explain(name: string, cause: unknown, isLeftOut: boolean): AppError {
  const message = `${name} let an error go uncaught: ${cause instanceof Error ? cause.message : String(cause)}`;
  if (!isLeftOut) return new AppError('upstream_error', message, { cause });
  const minutes = WITHIN_MS / 60_000;
  return new AppError(
    'config_error',
    `${message}. That was the ${MAX_FAULTS}rd time within ${minutes} minutes: it is left out until Earshot is restarted`,
    { cause },
  );
}

/** A plugin `acme.mjs` has `acme/` as well, `acme/index.mjs` its folder, and a package all that is in it. */
function ownerOf({ module }: PluginSource): (file: string) => boolean {
  const path = module.startsWith('file:') ? fileURLToPath(module) : module;
  const stem = path.slice(0, path.length - extname(path).length);
  const folder = `${basename(stem) === 'index' ? dirname(stem) : stem}/`;
  const isPackage = !path.startsWith('/') && !/^[A-Za-z]:/.test(path);
  if (isPackage) return file => file.includes(`/node_modules/${path}/`);
  return file => file === path || file.startsWith(folder);
}

/** The same object, each function of it run in the scope. */
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

/** From now on faults of plugins do not end the process; any other one does, as ever. */
export function containFaults(log: Log): void {
  process.on('unhandledRejection', thrown => {
    // as in core itself, a rejection that nobody waits for has interrupted nothing
    const scope = scopeOf(thrown);
    if (scope) scope.fault(thrown);
    else end(log, thrown, 'unhandled rejection');
  });
  process.on('uncaughtException', thrown => {
    const scope = isThroughCore(thrown) ? null : scopeOf(thrown);
    if (scope) scope.fault(thrown);
    else end(log, thrown, 'uncaught exception');
  });
}

function end(log: Log, thrown: unknown, what: string): void {
  log.fatal({ err: thrown }, what);
  process.exit(1);
}

/** The plugin that a fault is from; null where it is ours, or nobody knows. */
export function scopeOf(thrown: unknown): PluginScope | null {
  const [file] = filesOf(thrown);
  const owner = file === undefined ? undefined : [...scopes].find(scope => scope.owns(file));
  if (owner) return owner;
  // a fault in a callback of ours is ours; a refusal, such as that of a key for its state, is the plugin's to handle
  if (file !== undefined && isOurs(file) && !(thrown instanceof AppError)) return null;
  const scope = current.getStore();
  return scope && scopes.has(scope) ? scope : null;
}

/** Thrown through a function of core that it has left half done. */
function isThroughCore(thrown: unknown): boolean {
  return filesOf(thrown, isCall).some(file => file.startsWith(CORE) && file !== import.meta.filename);
}

/** Not of something that only waits for it. */
function isCall(line: string): boolean {
  return !line.startsWith('    at async ');
}

const ROOT = join(import.meta.dirname, '../..');
const CORE = `${join(ROOT, 'core')}/`;
const OURS = ['core', 'bridge', 'config', 'plugins'].map(name => `${join(ROOT, name)}/`);

function isOurs(file: string): boolean {
  return OURS.some(folder => file.startsWith(folder));
}

/** Returns the files of its stack, the innermost first, without those of Node itself. */
function filesOf(thrown: unknown, isWanted = (_line: string) => true): string[] {
  const stack = thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : '';
  const lines = stack
    .split('\n')
    .filter(line => line.startsWith('    at ') && !line.includes('node:') && isWanted(line));
  return lines.flatMap(line => {
    const place = line.endsWith(')')
      ? line.slice(line.lastIndexOf('(') + 1, -1)
      : (line.split(' ').at(-1) ?? '');
    const file = place.replace(/:\d+:\d+$/, '');
    if (file.startsWith('file:')) return [fileURLToPath(file)];
    return file.startsWith('/') ? [file] : [];
  });
}
