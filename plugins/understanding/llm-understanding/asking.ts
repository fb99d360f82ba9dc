/** Asks models about one conversation: fills in prompts, fences data, and tries the next model where one fails. */
import type { z } from 'zod';
import type { LanguageModel, SpokenSegment, UnderstandingContext } from '../../../core/contract/plugin.ts';
import { type PromptLanguage, promptsFor, type Section } from './prompts.ts';
import { calendarAt } from './times.ts';
import { harmless } from './transcript.ts';

/** Maximum tokens of an answer. */
const MAX_TOKENS = 4000;
const MAX_OPEN_TASKS = 30;
const MAX_MEMORIES = 10;
const MAX_PEOPLE = 50;
const MAX_FOLDERS = 30;
const MAX_GOALS = 30;
/** Maximum characters of one of these. */
const MAX_ITEM_CHARS = 120;
/** Maximum characters of the forms of all categories together. */
const MAX_FORMS_CHARS = 4000;
/** Characters of the transcript that are used to find related memories. */
const MAX_NEAR_CHARS = 2000;

export interface Asker {
  /**
   * Asks for an answer of this schema.
   * @param values values of this section of the prompt, besides those that all sections have; free of markup
   */
  ask<T>(
    schema: z.ZodType<T>,
    section: Section,
    values: Readonly<Record<string, string>>,
    data: string,
  ): Promise<T>;
}

/** Rejects with the error of the last model, or with the signal's reason. */
export async function createAsker(
  transcript: readonly SpokenSegment[],
  context: UnderstandingContext,
  signal: AbortSignal,
): Promise<Asker> {
  const prompts = promptsFor(context.languages[0]);
  const common = { owner: nameOf(context.owner), language: languageOf(context, prompts.language) };
  const form = formOf(context, prompts.fill);
  const folders = foldersOf(context, prompts.fill);
  const goals = goalsOf(context, { ...common, fill: prompts.fill });
  const marks = transcript.some(({ isMarked }) => isMarked) ? prompts.fill('marks', common) : '';
  const surroundings = prompts.fill(
    'data',
    await surroundingsOf(transcript, context, prompts.language, common),
  );
  const { models } = context;

  return {
    async ask(schema, section, values, data) {
      const filled = { ...common, ...values, form, folders, goals, marks };
      const task = prompts.fill(section, { ...filled, fields: prompts.fill('fields', filled) });
      const prompt = {
        system: `${prompts.fill('rules', common)}\n\n${task}`,
        user: `${surroundings}\n\n<data>\n${data}\n</data>`,
        maxTokens: MAX_TOKENS,
        signal,
      };
      return firstAnswer(models, model => model.object(schema, prompt), signal);
    },
  };
}

async function firstAnswer<T>(
  models: readonly LanguageModel[],
  ask: (model: LanguageModel) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let failure: unknown;
  for (const model of models) {
    try {
      return await ask(model);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

type Fill = ReturnType<typeof promptsFor>['fill'];

/** Returns the form chosen for this conversation, otherwise those of categories, as many as fit. */
function formOf({ template, templates }: UnderstandingContext, fill: Fill): string {
  if (template !== null) return fill('form', { instructions: harmless(template) });
  const forms = templates.map(each => `${each.categories.join(', ')}: ${harmless(each.instructions)}`);
  let chars = 0;
  const fitting = forms.filter(form => {
    chars += form.length;
    return chars <= MAX_FORMS_CHARS;
  });
  return fitting.length === 0 ? '' : fill('forms', { list: fitting.join('; ') });
}

function foldersOf({ folders }: UnderstandingContext, fill: Fill): string {
  const described = folders.slice(0, MAX_FOLDERS).map(({ name, description }) => {
    return `${JSON.stringify(name)} (${harmless(description ?? '').slice(0, MAX_ITEM_CHARS)})`;
  });
  return described.length === 0 ? '- "folder": null' : fill('folders', { list: described.join(', ') });
}

/** Describes the goals, numbered in the order of `goalsIn`: an answer names them by number. */
function goalsOf(context: UnderstandingContext, { owner, fill }: { owner: string; fill: Fill }): string {
  const described = goalsIn(context).map(({ title, goalType, unit, currentValue, targetValue }, index) => {
    const target = targetValue === null ? '' : ` / ${targetValue}`;
    const state = goalType === 'boolean' ? '' : `: ${currentValue}${target} ${harmless(unit ?? '')}`;
    return `${index + 1} "${harmless(title).slice(0, MAX_ITEM_CHARS)}" (${goalType}${state.trimEnd()})`;
  });
  return described.length === 0 ? '' : fill('goals', { owner, list: described.join('; ') });
}

export function goalsIn({ goals }: UnderstandingContext): UnderstandingContext['goals'] {
  return goals.slice(0, MAX_GOALS);
}

async function surroundingsOf(
  transcript: readonly SpokenSegment[],
  context: UnderstandingContext,
  language: PromptLanguage,
  common: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const said = transcript
    .slice(0, 200)
    .map(({ text }) => text)
    .join(' ');
  const near = await context.memoriesNear(said.slice(0, MAX_NEAR_CHARS));
  return {
    ...common,
    ...calendarAt(transcript[0]?.startAt ?? 0, language, context),
    people: listed(context.people.slice(0, MAX_PEOPLE)),
    tasks: listed(context.openTasks.slice(0, MAX_OPEN_TASKS).map(({ description }) => description)),
    memories: listed(near.slice(0, MAX_MEMORIES)),
  };
}

function listed(items: readonly string[]): string {
  return items.length === 0 ? '-' : items.map(item => harmless(item).slice(0, MAX_ITEM_CHARS)).join('; ');
}

/** Makes a name harmless, as users choose their own. */
function nameOf(owner: string): string {
  return harmless(owner).slice(0, MAX_ITEM_CHARS);
}

const OF_THE_TRANSCRIPT = {
  en: 'the language of the transcript',
  de: 'die der Mitschrift',
  fr: 'celle de la transcription',
  es: 'el idioma de la transcripción',
};

function languageOf({ summaryLanguage, languages }: UnderstandingContext, inWords: PromptLanguage): string {
  const code = summaryLanguage ?? languages[0];
  if (code === undefined) return OF_THE_TRANSCRIPT[inWords];
  try {
    return new Intl.DisplayNames([inWords], { type: 'language' }).of(code) ?? code;
  } catch {
    return OF_THE_TRANSCRIPT[inWords]; // the client gave no valid language code
  }
}
