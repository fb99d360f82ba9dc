/** Builds the messages for a model. Pure. */
import type { z } from 'zod';
import type { Picture, Prompt } from '../../../core/contract/plugin.ts';
import type { Asked, Messages } from './request.ts';

/** Ways to make the server answer JSON, the best first. */
export const FORMATS = ['json_schema', 'json_object', 'text'] as const;
export type Format = (typeof FORMATS)[number];

export type JsonSchema = NonNullable<Extract<Asked['format'], { type: 'json' }>['schema']>;
export type Question = Prompt & { images?: readonly Picture[] };

/** Maximum characters of a question: more than fits the context of models that run at home. */
const MAX_CHARACTERS = 1_000_000;
/** Maximum bytes of its pictures. */
const MAX_PICTURES = 20 * 1024 * 1024;
/** Maximum characters of an invalid answer that is sent back for correction. */
const MAX_WRONG = 100_000;

export function isTooLong({ system, user, images = [] }: Question): boolean {
  const bytes = images.reduce((sum, image) => sum + image.bytes.byteLength, 0);
  return system.length + user.length > MAX_CHARACTERS || bytes > MAX_PICTURES;
}

export function messagesOf({ system, user, images = [] }: Question): Messages {
  const pictures = images.map(({ bytes, type }) => ({
    type: 'file' as const,
    mediaType: type,
    data: bytes,
  }));
  return [
    { role: 'system', content: system },
    { role: 'user', content: [{ type: 'text', text: user }, ...pictures] },
  ];
}

/** Puts the schema into the prompt, too: a grammar restricts the model without telling it the schema. */
export function orderOf(schema: JsonSchema): string {
  return `Answer with JSON that matches this schema, and with nothing else:\n${JSON.stringify(schema)}`;
}

/** Builds the message that asks for a correction of an answer. */
export function complaintOf(answer: string, { issues }: z.ZodError): Messages {
  const faults = issues
    .slice(0, 10)
    .map(({ path, message }) => `- ${path.join('.') || 'the whole'}: ${message}`);
  const text = `That does not match the schema:\n${faults.join('\n')}\nAnswer again, with the corrected JSON alone.`;
  return [
    { role: 'assistant', content: [{ type: 'text', text: answer.slice(0, MAX_WRONG) }] },
    { role: 'user', content: [{ type: 'text', text }] },
  ];
}

export function formatOf(format: Format, schema: JsonSchema): Pick<Asked, 'format'> {
  if (format === 'text') return {};
  return { format: format === 'json_schema' ? { type: 'json', schema } : { type: 'json' } };
}
