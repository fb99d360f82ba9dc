/** Schemas of a model's answers. Anything else that it writes is ignored. */
import { z } from 'zod';
import type { Category } from '../../../core/domain/conversations/categories.ts';

const CATEGORIES = [
  ...['personal', 'education', 'health', 'finance', 'legal', 'philosophy', 'spiritual', 'science'],
  ...[
    'entrepreneurship',
    'parenting',
    'romantic',
    'travel',
    'inspiration',
    'technology',
    'business',
    'social',
  ],
  ...['work', 'sports', 'politics', 'literature', 'history', 'architecture', 'music', 'weather', 'news'],
  ...['entertainment', 'psychology', 'real', 'design', 'family', 'economics', 'environment', 'other'],
] as [Category, ...Category[]]; // the test compares them with core's

/** More than any conversation has; what is beyond core's own limits is left out. */
const MAX_ITEMS = 100;
const MAX_CHARS = 2000;

const Text = z.string().max(MAX_CHARS);
const From = z.array(z.number().int()).max(MAX_ITEMS);
const Cited = { text: Text, from: From };
const list = <Item extends z.ZodRawShape>(item: Item) => z.array(z.object(item)).max(MAX_ITEMS);
/** A day, or a day and a time. */
const Time = z.string().max(40);

const Found = {
  overview: list(Cited),
  tasks: list({ ...Cited, who: z.enum(['owner', 'other']), due: Time.nullable() }),
  events: list({ ...Cited, start: Time, minutes: z.number().nullable() }),
  memories: list(Cited),
};
const Named = { title: z.object(Cited), category: z.enum(CATEGORIES), folder: Text.nullable() };

export const Part = z.object(Found);
export const Whole = z.object({ discard: z.boolean(), ...Named, ...Found });
export const Joined = z.object({ ...Named, overview: list(Cited), done: From, memories: From });
export const Shortened = z.object({ overview: list(Cited) });

export type Part = z.infer<typeof Part>;
export type Whole = z.infer<typeof Whole>;
export type Cited = Part['overview'][number];
