import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, extname, join } from 'node:path';
import { toJSONSchema, type z } from 'zod';
import type { LanguageModel, Plugin, PluginContext, Prompt } from '../../../core/contract/plugin.ts';
import {
  fetchRemedy,
  type KnownFile,
  problemOf,
  readCatalogue,
  shownPath,
} from '../../kit/engine/model-file.ts';
import { createEngine, type Engine } from './engine.ts';
import { formOf } from './grammar.ts';

interface Options {
  model?: string | undefined;
  threads?: number | undefined;
  contextTokens: number;
  idleMs: number;
  timeoutMs: number;
}

type Context = PluginContext<Options>;

/** Model that the options select. */
interface Choice {
  name: string;
  path: string;
  /** Absent: the operator's own file, which the catalogue does not know. */
  known?: KnownFile;
  remedy: string;
}

/** Optional, because of its size: operators who want it install it. The version must match package.json. */
export const PACKAGE = 'node-llama-cpp@3.21.1';

/**
 * Part of the 30 seconds that a plugin's setup may take. A larger model continues to load, and the first question
 * waits for it.
 */
const SETUP_MS = 8000;
const LOAD_MS = 300_000;
const ANSWER_TOKENS = 2000;
/** Maximum characters of a question: more than fits the context of any model that runs here. */
const MAX_CHARACTERS = 200_000;
/** Maximum characters of an invalid answer that is sent back for correction. */
const MAX_WRONG = 4000;

export default {
  name: 'llama',
  api: 1,
  title: 'A small language model on this machine, without a second server (llama.cpp)',
  options: z =>
    z.strictObject({
      model: z
        .string()
        .min(1)
        .optional()
        .describe('A name in config/models.json, or the path of a GGUF file; absent: the default there'),
      threads: z.coerce
        .number()
        .int()
        .min(1)
        .max(64)
        .optional()
        .describe('Processor threads; absent: all but one, four at most'),
      contextTokens: z.coerce
        .number()
        .int()
        .min(1024)
        .max(131_072)
        .default(8192)
        .describe('Context size in tokens: a question with its answer; more tokens need more memory'),
      idleMs: z.coerce
        .number()
        .int()
        .min(1000)
        .default(300_000)
        .describe('Time without a question after which the model is unloaded, in milliseconds'),
      timeoutMs: z.coerce
        .number()
        .int()
        .min(1000)
        .max(3_600_000)
        .default(900_000)
        .describe('Time limit for a complete answer, in milliseconds'),
    }),
  async setup(context) {
    const { clock, error, options } = context;
    checkPackage(error);
    const { name, path, known, remedy } = await choose(context);
    const problem = await problemOf(path, known?.size === undefined ? {} : { size: known.size }); // the checksum was verified by the download
    const refusal = problem ?? ((await isGguf(path)) ? null : 'is no model in the GGUF format');
    if (refusal !== null)
      throw error('config_error', `llama: ${shownPath(path, context.dataDir)} ${refusal}; ${remedy}`);
    const engine = createEngine(
      {
        entry: new URL(`./llama-main${extname(import.meta.filename)}`, import.meta.url),
        load: {
          path,
          threads: options.threads ?? Math.min(4, Math.max(1, availableParallelism() - 1)),
          contextTokens: options.contextTokens,
        },
        timeoutMs: options.timeoutMs,
        loadMs: LOAD_MS,
        idleMs: options.idleMs,
        remedy,
      },
      context,
    );
    await Promise.race([engine.start(), clock.sleep(SETUP_MS, context.signal)]);
    return { llm: languageModel(name, engine, error) };
  },
} satisfies Plugin<Options>;

function checkPackage(error: Context['error']): void {
  try {
    import.meta.resolve('node-llama-cpp');
  } catch (cause) {
    const message = `llama: its package is not installed; install it with: npm install ${PACKAGE}`;
    throw error('config_error', message, { cause });
  }
}

/** Checks the first bytes, because the library hangs on a file that is no GGUF model. */
async function isGguf(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(GGUF_HEAD_BYTES));
    const isKnown = GGUF_VERSIONS.includes(buffer.readUInt32LE(4));
    return bytesRead === GGUF_HEAD_BYTES && buffer.toString('latin1', 0, 4) === 'GGUF' && isKnown;
  } finally {
    await file.close();
  }
}

const GGUF_HEAD_BYTES = 24;
const GGUF_VERSIONS = [2, 3];

async function choose({ dataDir, error, options: { model } }: Context): Promise<Choice> {
  if (model !== undefined && /[/\\]|\.gguf$/.test(model)) {
    const remedy = 'name another file in plugins.llama.model';
    return { name: basename(model, '.gguf'), path: model, remedy };
  }
  const catalogue = await readCatalogue<{ files: { model: KnownFile } }>('llama');
  const name = model ?? catalogue.default;
  const known = catalogue.models[name]?.files.model;
  if (known === undefined) {
    const names = Object.keys(catalogue.models).join(', ');
    throw error(
      'config_error',
      `llama: there is no model ${name}; known are ${names}, or the path of a file`,
    );
  }
  return { name, path: join(dataDir, name, known.name), known, remedy: fetchRemedy(name) };
}

function languageModel(model: string, engine: Engine, error: Context['error']): LanguageModel {
  async function object<T>(schema: z.ZodType<T>, prompt: Prompt): Promise<T> {
    const shape = toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
    const system = `${prompt.system}\n\nAnswer with JSON that matches this schema, and with nothing else:\n${JSON.stringify(shape)}`;
    const form = formOf(shape as Record<string, unknown>); // the same type, declared twice
    const answer = await whole({ ...prompt, system }, form);
    const first = schema.safeParse(parse(answer));
    if (first.success) return first.data;
    const user = `${prompt.user}\n\nAn answer to this was refused:\n${answer.slice(0, MAX_WRONG)}\n${faultsOf(first.error)}`;
    const second = schema.safeParse(parse(await whole({ ...prompt, system, user }, form)));
    if (second.success) return second.data;
    throw error(
      'upstream_error',
      `llama: ${model} does not answer in the form it is asked for; try a larger model`,
    );
  }

  async function whole(prompt: Prompt, form: object): Promise<string> {
    let answer = '';
    for await (const piece of ask(prompt, form)) answer += piece;
    return answer;
  }

  async function* text(prompt: Prompt): AsyncGenerator<string> {
    let isEmpty = true;
    for await (const piece of ask(prompt, null)) {
      isEmpty = false;
      yield piece;
    }
    if (isEmpty) throw error('upstream_error', `llama: ${model} gave no answer`);
  }

  function ask({ system, user, maxTokens = ANSWER_TOKENS, signal }: Prompt, schema: object | null) {
    signal.throwIfAborted();
    if (system.length + user.length > MAX_CHARACTERS)
      throw error('too_large', `llama: a question has at most ${MAX_CHARACTERS} characters`);
    const asked = { system: system.toWellFormed(), user: user.toWellFormed(), schema, maxTokens };
    return engine.ask(asked, signal);
  }

  return { model, object, text };
}

function faultsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 10)
    .map(({ path, message }) => `- ${path.join('.') || 'the whole'}: ${message}`)
    .join('\n');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // it ran out of tokens
  }
}
