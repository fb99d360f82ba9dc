/** Asks for a valid answer: in a format that the server supports, with one correction, within the time limit. */
import { toJSONSchema, type z } from 'zod';
import type { PluginContext, Prompt } from '../../../core/contract/plugin.ts';
import { createThoughtFilter, jsonIn } from './answer.ts';
import {
  complaintOf,
  type Format,
  formatOf,
  isTooLong,
  type JsonSchema,
  messagesOf,
  orderOf,
  type Question,
} from './question.ts';
import { type Asked, isRefusal, type Requester } from './request.ts';

export interface Chat {
  object<T>(model: string, schema: z.ZodType<T>, question: Question): Promise<T>;
  text(model: string, prompt: Prompt): AsyncGenerator<string>;
}

interface Options {
  /** Ways to request JSON, the best first. */
  formats: readonly Format[];
  timeoutMs: number;
}

export function createChat(
  server: Requester,
  { formats, timeoutMs }: Options,
  error: PluginContext<never>['error'],
): Chat {
  /** Index in `formats` of the best one that the server supports. */
  let known = 0;

  async function object<T>(model: string, schema: z.ZodType<T>, question: Question): Promise<T> {
    const time = startTime(question);
    const shape = toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema; // the same type, declared twice
    const messages = messagesOf({ ...question, system: `${question.system}\n\n${orderOf(shape)}` });
    const asked = { model, messages, maxTokens: question.maxTokens, signals: time.signals };
    try {
      const answer = await ask(asked, shape);
      const first = schema.safeParse(jsonIn(answer));
      if (first.success) return first.data;
      const mended = await ask(
        { ...asked, messages: [...messages, ...complaintOf(answer, first.error)] },
        shape,
      );
      const second = schema.safeParse(jsonIn(mended));
      if (second.success) return second.data;
    } finally {
      time.stop();
    }
    throw error(
      'upstream_error',
      `openai-llm: ${model} does not answer in the form it is asked for; try a larger model`,
    );
  }

  /** Falls back to the next format when the server refuses one, and remembers that. */
  async function ask(asked: Asked, shape: JsonSchema): Promise<string> {
    for (let place = known; ; place += 1) {
      try {
        let answer = '';
        for await (const piece of said({ ...asked, ...formatOf(formats[place] ?? 'text', shape) }))
          answer += piece;
        known = place;
        return answer;
      } catch (thrown) {
        if (!isRefusal(thrown) || place + 1 >= formats.length) throw thrown;
      }
    }
  }

  async function* text(model: string, prompt: Prompt): AsyncGenerator<string> {
    const time = startTime(prompt);
    let isEmpty = true;
    try {
      const asked = {
        model,
        messages: messagesOf(prompt),
        maxTokens: prompt.maxTokens,
        signals: time.signals,
      };
      for await (const piece of said(asked)) {
        isEmpty = false;
        yield piece;
      }
    } finally {
      time.stop();
    }
    if (isEmpty) throw error('upstream_error', `openai-llm: ${model} gave no answer`);
  }

  /** Yields the answer without reasoning; no piece is empty. */
  async function* said(asked: Asked): AsyncGenerator<string> {
    const filter = createThoughtFilter();
    for await (const piece of server.ask(asked)) {
      const rest = filter.push(piece);
      if (rest !== '') yield rest;
    }
    const rest = filter.end();
    if (rest !== '') yield rest;
  }

  /** Time limit of a whole call. */
  function startTime(question: Question) {
    question.signal.throwIfAborted();
    if (isTooLong(question)) {
      throw error(
        'too_large',
        'openai-llm: a question has at most 1,000,000 characters, and 20 MiB of pictures',
      );
    }
    const over = new AbortController();
    const late = error('timeout', `openai-llm: no whole answer within ${timeoutMs} ms`);
    const timer = setTimeout(() => over.abort(late), timeoutMs);
    return { signals: [question.signal, over.signal], stop: () => clearTimeout(timer) };
  }

  return { object, text };
}
