/** A language model that takes notes by rules, on a server that speaks OpenAI's protocol on a real socket. */
import type { ExecutionContext } from 'ava';
import { z } from 'zod';
import type { LanguageModel } from '../../core/contract/plugin.ts';
import openai from '../../plugins/llm/openai-llm/index.ts';
import llmUnderstanding from '../../plugins/understanding/llm-understanding/index.ts';
import { contextOf } from '../plugins/stt/context.ts';
import { type AskedChat, type ChatServer, say, startChatServer } from './chat-server.ts';

interface Line {
  number: number;
  speaker: string;
  mark: string;
  text: string;
}

/** Extracts the data between the fences of a question. */
export function dataOf({ messages }: AskedChat): string {
  const text = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.map(part => part.text ?? ''),
  );
  return /<data>\n([\s\S]*)\n<\/data>/.exec(text.join('\n'))?.[1] ?? '';
}

export function linesIn(asked: AskedChat): Line[] {
  return dataOf(asked)
    .split('\n')
    .flatMap(line => {
      const [, number, speaker = '', mark = '', text = ''] =
        /^(\d+) (.*?)(?: \((owner|known)\))?: (.*)$/.exec(line) ?? [];
      return number === undefined ? [] : [{ number: Number(number), speaker, mark, text }];
    });
}

/** Returns the notes of an obedient model: every sentence becomes a line, every "I'll" of the owner a task. */
function takeNotes(asked: AskedChat): Record<string, unknown> {
  const keys = Object.keys(asked.response_format?.json_schema?.schema.properties ?? {});
  const lines = linesIn(asked);
  const cited = ({ text, number }: Line) => ({ text: text.slice(0, 200), from: [number] });
  const telling = lines.filter(({ text }) => text.split(' ').length > 2);
  const [first] = telling;
  const whole: Record<string, unknown> = {
    discard: telling.length === 0,
    title: first ? cited(first) : { text: '', from: [] },
    overview: telling.slice(0, 4).map(cited),
    category: 'work',
    folder: null,
    tasks: lines
      .filter(({ mark, text }) => mark === 'owner' && /\bI['’]ll\b/.test(text))
      .map(line => ({ ...cited(line), who: 'owner', due: null })),
    events: [],
    memories: [],
  };
  if (keys.includes('done')) return joined(asked);
  if (keys.length === 1) return { overview: dataLines(asked).slice(0, 1) };
  return Object.fromEntries(keys.map(key => [key, whole[key]]));
}

function joined(asked: AskedChat) {
  const notes = dataLines(asked);
  return {
    title: notes[0],
    overview: notes.slice(0, 3),
    category: 'work',
    folder: null,
    done: [],
    memories: [],
  };
}

function dataLines(asked: AskedChat) {
  return (
    dataOf(asked)
      .split(/\n\ntasks:/)[0]
      ?.split('\n')
      .flatMap(line => {
        const [, number, text] = /^(\d+) (.*)$/.exec(line) ?? [];
        return number === undefined ? [] : [{ text, from: [Number(number)] }];
      }) ?? []
  );
}

/** Opens the server, and the real plugins that use it. */
export async function openNoteTaker(
  t: Pick<ExecutionContext, 'teardown'>,
  options: Record<string, unknown> = {},
) {
  const server: ChatServer = await startChatServer();
  t.teardown(() => server.close());
  server.chat = (asked, response) => say(response, JSON.stringify(takeNotes(asked)));
  const { partCharacters, ...ofServer } = options;
  const llm = await openModel(t, { baseUrl: server.baseUrl, ...ofServer });
  return { server, llm, ...openUnderstanding(t, partCharacters === undefined ? {} : { partCharacters }) };
}

async function openModel(
  t: Pick<ExecutionContext, 'teardown'>,
  options: Record<string, unknown>,
): Promise<LanguageModel> {
  const { context, stop } = contextOf();
  t.teardown(stop);
  const { llm } = await openai.setup({ ...context, options: openai.options(z).parse(options), dataDir: '' });
  return llm;
}

export function openUnderstanding(
  t: Pick<ExecutionContext, 'teardown'>,
  options: Record<string, unknown> = {},
) {
  const { context, stop } = contextOf();
  t.teardown(stop);
  const parsed = llmUnderstanding.options(z).parse(options);
  return {
    name: llmUnderstanding.name,
    ...llmUnderstanding.setup({ ...context, options: parsed, dataDir: '' }),
  };
}
