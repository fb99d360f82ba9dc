/** Measures llm-understanding with the model that the environment names, or with a scripted one. */

import { z } from 'zod';
import words from '../../plugins/embedder/words/index.ts';
import openai from '../../plugins/llm/openai-llm/index.ts';
import { createEvidence } from '../../plugins/understanding/llm-understanding/evidence.ts';
import type { Table } from '../bench/benchmark.ts';
import { openNoteTaker, openUnderstanding } from '../helpers/note-taker.ts';
import { contextOf } from '../plugins/stt/context.ts';
import { readConversations } from './conversations.ts';
import { understandingQuality } from './understanding.ts';

/** Characters per token, for servers that do not report their tokens. */
const CHARACTERS_PER_TOKEN = 4;

/** The tables of understanding, with calls, tokens and seconds in the titles. */
export async function modelQuality(env: NodeJS.ProcessEnv): Promise<Table[]> {
  const {
    EARSHOT_QUALITY_LLM_URL: url,
    EARSHOT_QUALITY_LLM_MODEL: model,
    EARSHOT_QUALITY_LLM_KEY: apiKey,
  } = env;
  const undo: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown) => void undo.push(fn) };
  try {
    const scripted = url === undefined ? await openNoteTaker(t) : null;
    const { context, stop } = contextOf();
    undo.push(stop);
    const cost = { asked: 0, answered: 0, calls: 0 };
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (typeof init?.body !== 'string' || response.body === null) return response;
      cost.calls += 1;
      cost.asked += init.body.length;
      const count = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          cost.answered += contentOf(Buffer.from(chunk).toString('utf8'));
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(count), response);
    };
    const given = { baseUrl: url ?? scripted?.server.baseUrl, model, apiKey };
    const options = openai
      .options(z)
      .parse(Object.fromEntries(Object.entries(given).filter(([, value]) => value)));
    const { llm } = await openai.setup({ ...context, fetch: counting, options, dataDir: '' });
    const { understanding } = openUnderstanding(t);
    const began = performance.now();
    const name = url === undefined ? 'a scripted model' : llm.model;
    const found = await understandingQuality(`with ${name}`, understanding, [llm]);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const tokens = (characters: number) => Math.round(characters / CHARACTERS_PER_TOKEN).toLocaleString('en');
    const costs = `${cost.calls} calls, about ${tokens(cost.asked)} tokens asked and ${tokens(cost.answered)} answered (${CHARACTERS_PER_TOKEN} characters each), ${seconds} s`;
    return found.map(table => ({ ...table, title: `${table.title}: ${costs}` }));
  } finally {
    for (const fn of undo.reverse()) await fn();
  }
}

/** Characters of an answer in server-sent events. */
function contentOf(events: string): number {
  const pieces = events.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g);
  return [...pieces].reduce((sum, [, piece = '']) => sum + piece.length, 0);
}

/**
 * Measures the check whether segments support a text, with texts that were said there and texts that were
 * not.
 */
export async function citationQuality(): Promise<Table> {
  const { context, stop } = contextOf();
  try {
    const { embedder } = await words.setup({ ...context, options: undefined as never, dataDir: '' });
    const rows = [];
    for (const [name, used] of [
      ['words', null],
      ['words and meaning', embedder],
    ] as const) {
      const sum = { right: 0, kept: 0, wrong: 0, dropped: 0 };
      for (const { segments, expected, owner, people } of readConversations()) {
        if (segments.length > 1000) continue; // filled up with other segments
        const texts = segments.map(({ text }) => text);
        const signal = new AbortController().signal;
        const names = [owner, ...Object.values(people)];
        const evidence = createEvidence(texts, { names, embedder: used, signal });
        for (const { what, from } of [...expected.tasks, ...expected.memories]) {
          const text = what.map(stem => stem.split('|')[0]).join(' ');
          const numbers = from.map(index => index + 1);
          sum.right += 1;
          if (await evidence.carries(text, numbers)) sum.kept += 1;
          const elsewhere = [((numbers[0] ?? 0) + Math.floor(texts.length / 2)) % texts.length || 1];
          sum.wrong += 1;
          if (!(await evidence.carries(text, elsewhere))) sum.dropped += 1;
        }
      }
      rows.push([name, sum.right, (sum.kept / sum.right).toFixed(2), (sum.dropped / sum.wrong).toFixed(2)]);
    }
    return {
      title:
        'Citations: tasks and memories of the corpus by their stems, with correct citations and with ones half a conversation away',
      columns: ['checked by', 'texts', 'rightly cited kept', 'wrongly cited dropped'],
      rows,
    };
  } finally {
    await stop();
  }
}
