import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Clock } from '../../../core/contract/model.ts';
import type { Plugin, PluginContext, SttProvider } from '../../../core/contract/plugin.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createLog } from '../../../core/runtime/log.ts';

export interface Logged {
  level: string;
  message: string;
  fields: Record<string, unknown>;
}

/** A plugin that runs as under core: its capability, its reports, and a way to stop it. */
export interface Running {
  stt: SttProvider;
  /** Resolves to the plugin's report through `fail`. */
  failed: Promise<Error>;
  /** Log of the plugin, newest last. */
  logged: Logged[];
  stop(): Promise<void>;
}

const realClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};

/** Gives plugins ten times their time limits: on a busy machine a recogniser's process is slow. */
export const unhurriedClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => realClock.sleep(10 * ms, signal),
};

/** Builds the context of a plugin; `stop` runs its handlers, newest first. */
export function contextOf(clock: Clock = realClock) {
  const undo: (() => void | Promise<void>)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const failed = Promise.withResolvers<Error>();
  const logged: Logged[] = [];
  const level = (name: string) => (fields: Record<string, unknown>, message: string) =>
    void logged.push({ level: name, message, fields });
  const context: Omit<PluginContext<never>, 'options' | 'dataDir'> = {
    log: Object.assign(createLog({ level: 'silent', format: 'json' }), {
      debug: level('debug'),
      info: level('info'),
      warn: level('warn'),
      error: level('error'),
    }),
    clock,
    signal: new AbortController().signal,
    state: {
      get: async () => null,
      compareAndSet: async () => false,
      list: async () => [],
      delete: async () => undefined,
    },
    fetch,
    fetchUser: async () => {
      throw new Error('recognisers have no addresses of users');
    },
    onStop: step => void undo.push(step),
    error: (code, message, more) => new AppError(code, message, more),
    fail: failed.resolve,
  };
  return { context, failed: failed.promise, logged, stop };
}

/** Sets a recogniser up as core does: options parsed, resources released when setup throws. */
export async function run<Options>(
  plugin: Plugin<Options>,
  options: unknown = {},
  dataDir?: string,
  clock?: Clock,
): Promise<Running> {
  const { context, failed, logged, stop } = contextOf(clock);
  const ownDir = await mkdtemp(join(tmpdir(), 'earshot-stt-'));
  context.onStop(() => rm(ownDir, { recursive: true }));
  const schema = plugin.options?.(z);
  if (schema === undefined) throw new Error(`${plugin.name} has no options`);
  try {
    const { stt } = await plugin.setup({
      ...context,
      dataDir: dataDir ?? ownDir,
      options: schema.parse(options),
    });
    if (stt === undefined) throw new Error(`${plugin.name} recognises no speech`);
    return { stt, failed, logged, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const FIXTURES = new URL('../../fixtures/', import.meta.url);

/** A recording of the fixtures with its transcript. */
export async function fixture(name: string): Promise<{ samples: Int16Array; text: string }> {
  const sentences: Record<string, { text: string }> = JSON.parse(
    await readFile(new URL('sentences.json', FIXTURES), 'utf8'),
  );
  const wav = await readFile(new URL(`${name}.wav`, FIXTURES));
  const text = sentences[name]?.text;
  if (text === undefined) throw new Error(`sentences.json says nothing of ${name}`);
  return {
    samples: new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.byteLength)),
    text,
  };
}

/** Kills the plugin's latest process, as a crash would. */
export function crash({ logged }: Running): void {
  process.kill(pidOf(logged), 'SIGKILL');
}

/** Returns the id of the latest process. */
export function pidOf(logged: Logged[]): number {
  const pid = logged.findLast(({ fields }) => typeof fields.pid === 'number')?.fields.pid;
  if (typeof pid !== 'number') throw new Error('no process was logged');
  return pid;
}
