/** Schemas of a model's answers. Other properties are ignored. */
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
] as [Category, ...Category[]]; // a test compares them with core's

/** Maximum items of an answer, more than any conversation has. Core's own limits apply afterwards. */
const MAX_ITEMS = 100;
const MAX_CHARS = 2000;

const Text = z.string().max(MAX_CHARS);
const From = z.array(z.number().int()).max(MAX_ITEMS);
const Cited = { text: Text, from: From };
const list = <Item extends z.ZodRawShape>(item: Item) => z.array(z.object(item)).max(MAX_ITEMS);
/** A date, or a date and a time of day. */
const Time = z.string().max(40);

const Found = {
  overview: list(Cited),
  tasks: list({ ...Cited, who: z.enum(['owner', 'other']), due: Time.nullable() }),
  events: list({ ...Cited, start: Time, minutes: z.number().nullable() }),
  memories: list(Cited),
};
const Named = { title: z.object(Cited), category: z.enum(CATEGORIES), folder: Text.nullable() };

const Progress = list({ goal: z.number().int(), value: z.number(), adds: z.boolean(), from: From });

export const Part = z.object(Found);
export const Whole = z.object({ discard: z.boolean(), ...Named, ...Found });
/** Extends the schema for owners who have goals. */
export const PartWithGoals = Part.extend({ progress: Progress });
export const WholeWithGoals = Whole.extend({ progress: Progress });
export const Joined = z.object({ ...Named, overview: list(Cited), done: From, memories: From });
export const Shortened = z.object({ overview: list(Cited) });

export type Progress = z.infer<typeof Progress>;
export type Part = z.infer<typeof Part> & { progress?: Progress };
export type Whole = z.infer<typeof Whole> & { progress?: Progress };
export type Cited = Part['overview'][number];
