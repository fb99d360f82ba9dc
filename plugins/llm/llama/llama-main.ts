/**
 * The process in which the model runs: one question at a time, at the lowest priority. It ends when its parent is gone.
 */
import { constants, setPriority } from 'node:os';
import type { ChatWrapper, Llama, LlamaContext, LlamaGrammar, LlamaModel } from 'node-llama-cpp';
import type { Asked, FromChild, LoadOptions, ToChild } from './messages.ts';

/** Maximum tokens that the chat template adds to a question. */
const TEMPLATE_TOKENS = 128;
/** Minimum tokens that must be left for the answer. */
const LEAST_ANSWER_TOKENS = 128;
/** Maximum grammars in the cache; each kind of question has one. */
const MAX_GRAMMARS = 20;

interface Loaded {
  llama: Llama;
  model: LlamaModel;
  context: LlamaContext;
  sequence: ReturnType<LlamaContext['getSequence']>;
  /** Chat template, determined once because that takes almost a second. */
  chatWrapper: ChatWrapper;
}

const grammars = new Map<string, LlamaGrammar>();
let loaded: Loaded | null = null;
let running: AbortController | null = null;

// Ctrl-C and a stopping service manager signal the whole group; the parent decides when this process may go.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', () => process.exit());
process.on('message', (message: ToChild) => {
  if (message.type === 'load') void start(message.options);
  else if (message.type === 'cancel') running?.abort();
  else void answer(message.asked);
});

async function start({ path, threads, contextTokens }: LoadOptions): Promise<void> {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
    const { getLlama, LlamaLogLevel, resolveChatWrapper } = await import('node-llama-cpp');
    // Only the library that the package brings: nothing is compiled or downloaded.
    const llama = await getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      maxThreads: threads,
      logLevel: LlamaLogLevel.warn,
    });
    const model = await llama.loadModel({ modelPath: path });
    const contextSize = Math.min(contextTokens, model.trainContextSize);
    const context = await model.createContext({ contextSize, threads });
    const chatWrapper = resolveChatWrapper(model);
    loaded = { llama, model, context, sequence: context.getSequence(), chatWrapper };
    send({ type: 'ready' });
  } catch (error) {
    send({ type: 'refused', message: messageOf(error) });
  }
}

async function answer(asked: Asked): Promise<void> {
  const stopping = new AbortController();
  running = stopping;
  try {
    if (!loaded) throw new Error('it was asked before it was loaded');
    await say(loaded, asked, stopping.signal);
    send({ type: 'done' });
  } catch (error) {
    if (stopping.signal.aborted) send({ type: 'done' });
    else if (error instanceof TooLarge) send({ type: 'failed', code: 'too_large', message: error.message });
    else send({ type: 'failed', code: 'upstream_error', message: messageOf(error) });
  } finally {
    running = null;
  }
}

class TooLarge extends Error {}

async function say(
  { llama, model, context, sequence, chatWrapper }: Loaded,
  asked: Asked,
  signal: AbortSignal,
) {
  const { LlamaChatSession } = await import('node-llama-cpp');
  const { system, user, schema } = asked;
  const needed = model.tokenize(system).length + model.tokenize(user).length + TEMPLATE_TOKENS;
  const room = context.contextSize - needed;
  if (room < Math.min(asked.maxTokens, LEAST_ANSWER_TOKENS))
    throw new TooLarge(`the question has ${needed} tokens, and the model reads ${context.contextSize}`);
  const grammar = schema && (await grammarOf(llama, schema));
  await sequence.clearHistory();
  const session = new LlamaChatSession({
    contextSequence: sequence,
    chatWrapper,
    systemPrompt: system,
    autoDisposeSequence: false,
  });
  try {
    await session.prompt(user, {
      ...(grammar && { grammar }),
      maxTokens: Math.min(asked.maxTokens, room),
      temperature: grammar ? 0 : 0.3,
      signal,
      onTextChunk: text => text !== '' && send({ type: 'piece', text }),
    });
  } finally {
    session.dispose();
  }
}

async function grammarOf(llama: Llama, schema: object): Promise<LlamaGrammar> {
  const name = JSON.stringify(schema);
  const known = grammars.get(name);
  if (known) return known;
  const made = await llama.createGrammarForJsonSchema(schema as never); // `grammar.ts` has made it
  if (grammars.size >= MAX_GRAMMARS) grammars.clear();
  grammars.set(name, made);
  return made;
}

function send(message: FromChild): void {
  if (process.connected) process.send?.(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
