/** Requirements for every language model, as plain checks that throw. They do not judge its intelligence. */
import assert from 'node:assert/strict';
import { z } from 'zod';
import type { LanguageModel, Picture, Prompt, VisionModel } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface LanguageModelSubject {
  llm: LanguageModel;
}

export interface VisionSubject {
  vision: VisionModel;
}

export const llmChecks: readonly SuiteCheck<LanguageModelSubject>[] = [
  { title: 'answers with an object of the schema', isBasis: true, run: answersObject },
  { title: 'answers with lists, choices and optional fields', run: answersNested },
  { title: 'streams text', run: answersText },
  { title: 'accepts any Unicode', run: takesOddities },
  { title: 'serves several at once, each with its own schema', run: servesSideBySide },
  { title: 'rejects with the reason when it is aborted', run: stops },
  { title: 'ends its text with the reason when it is aborted midway', run: stopsHalfWay },
  { title: 'is available again when the reader stops early', run: letsGo },
];

export const visionChecks: readonly SuiteCheck<VisionSubject>[] = [
  { title: 'answers with an object of the schema to a picture', isBasis: true, run: sees },
  { title: 'rejects with the reason when it is aborted', run: looksAway },
];

const never = new AbortController().signal;
const Colour = z.object({ name: z.string(), warm: z.boolean() });
const Shopping = z.object({
  items: z.array(z.object({ name: z.string(), amount: z.number() })),
  shop: z.enum(['market', 'bakery', 'other']),
  note: z.string().nullable(),
  due: z.string().optional(),
});

async function answersObject({ llm }: LanguageModelSubject): Promise<void> {
  assert.ok(
    Colour.safeParse(await llm.object(Colour, aboutRed())).success,
    'its answer does not match the schema',
  );
}

async function answersNested({ llm }: LanguageModelSubject): Promise<void> {
  const answer = await llm.object(Shopping, aboutShopping());
  assert.ok(Shopping.safeParse(answer).success, 'its answer does not match the schema');
}

async function answersText({ llm }: LanguageModelSubject): Promise<void> {
  const pieces: unknown[] = [];
  for await (const piece of llm.text(aboutRed())) pieces.push(piece);
  assert.ok(pieces.length > 0, 'its answer is empty');
  for (const piece of pieces)
    assert.ok(typeof piece === 'string' && piece !== '', `a piece is ${typeof piece}, or empty`);
}

async function takesOddities({ llm }: LanguageModelSubject): Promise<void> {
  const prompt = { ...aboutRed(), user: 'red \u0000 \ud800 🧑‍🚀 שלום 你好 a\u202eb e\u0301' };
  assert.ok(
    Colour.safeParse(await llm.object(Colour, prompt)).success,
    'its answer does not match the schema',
  );
}

async function servesSideBySide({ llm }: LanguageModelSubject): Promise<void> {
  const [colour, shopping, text] = await Promise.all([
    llm.object(Colour, aboutRed()),
    llm.object(Shopping, aboutShopping()),
    whole(llm.text(aboutRed())),
  ]);
  assert.ok(
    Colour.safeParse(colour).success && Shopping.safeParse(shopping).success,
    'it mixed up concurrent calls',
  );
  assert.ok(text.length > 0, 'its answer is empty');
}

async function stops({ llm }: LanguageModelSubject): Promise<void> {
  const reason = new Error('nobody wants it any more');
  const isReason = (thrown: unknown) => thrown === reason;
  const aborted = { ...aboutRed(), signal: AbortSignal.abort(reason) };
  await assert.rejects(async () => llm.object(Colour, aborted), isReason);
  await assert.rejects(async () => whole(llm.text(aborted)), isReason);
  const leaving = new AbortController();
  const answer = llm.object(Colour, { ...aboutRed(), signal: leaving.signal });
  leaving.abort(reason);
  await assert.rejects(answer, isReason);
}

async function stopsHalfWay({ llm }: LanguageModelSubject): Promise<void> {
  const reason = new Error('nobody wants it any more');
  const leaving = new AbortController();
  const reading = async () => {
    for await (const _ of llm.text({ ...aboutRed(), signal: leaving.signal })) leaving.abort(reason);
  };
  await assert.rejects(reading, thrown => thrown === reason);
}

async function letsGo({ llm }: LanguageModelSubject): Promise<void> {
  for (let time = 0; time < 3; time += 1) {
    for await (const _ of llm.text(aboutRed())) break;
  }
  assert.ok((await whole(llm.text(aboutRed()))).length > 0, 'it does not answer any more');
}

async function sees({ vision }: VisionSubject): Promise<void> {
  const answer = await vision.object(Colour, {
    ...aboutRed(),
    user: 'The colour is in the picture.',
    images: [RED],
  });
  assert.ok(Colour.safeParse(answer).success, 'its answer does not match the schema');
}

async function looksAway({ vision }: VisionSubject): Promise<void> {
  const reason = new Error('nobody wants it any more');
  const prompt = { ...aboutRed(), images: [RED], signal: AbortSignal.abort(reason) };
  await assert.rejects(
    async () => vision.object(Colour, prompt),
    thrown => thrown === reason,
  );
}

function aboutRed(): Prompt {
  return {
    system: 'You are told of a colour. Give its name, and whether it is a warm one. A few words are enough.',
    user: 'The colour of ripe tomatoes.',
    maxTokens: 1000,
    signal: never,
  };
}

function aboutShopping(): Prompt {
  return {
    system: 'You are told what somebody wants to buy. List it, with the shop where to get it.',
    user: 'Two loaves of bread and one cake from the baker.',
    maxTokens: 2000,
    signal: never,
  };
}

/** A PNG of 32 by 32 pixels, all of them red. */
const RED: Picture = {
  type: 'image/png',
  bytes: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC',
    'base64',
  ),
};

async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}
