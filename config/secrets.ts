import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { elementOf, isSecret, shapeOf } from './keys.ts';
import { isRecord } from './problems.ts';

/** The content of a secret's file, trimmed; what is wrong with it goes to `problems`. */
export function readSecret(file: string, dir: string, label: string, problems: string[]): string | undefined {
  try {
    const text = readFileSync(resolve(dir, file), 'utf8').trim();
    if (text !== '') return text;
    problems.push(`${label}: the file ${file} is empty`);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error;
    problems.push(`${label}: the file ${file} cannot be read (${reason})`);
  }
  return undefined;
}

/** The values of a section with each `<secret>File` replaced by the content of the file that it names. */
export function fillSecrets(
  schema: z.core.$ZodType,
  values: Record<string, unknown>,
  options: { dir: string; label: (path: string[]) => string; problems: string[] },
  path: string[] = [],
): Record<string, unknown> {
  const { dir, problems } = options;
  const shape = shapeOf(schema) ?? {};
  const filled = { ...values };
  for (const [name, child] of Object.entries(shape)) {
    const value = values[name];
    if (isRecord(value)) filled[name] = fillSecrets(child, value, options, [...path, name]);
    const element = elementOf(child);
    if (element && Array.isArray(value))
      filled[name] = value.map((item, index) =>
        isRecord(item) ? fillSecrets(element, item, options, [...path, name, String(index)]) : item,
      );
    const pointer = `${name}File`;
    const file = values[pointer];
    if (!isSecret(child) || Object.hasOwn(shape, pointer) || typeof file !== 'string') continue;
    const label = options.label([...path, pointer]);
    if (typeof value === 'string') problems.push(`${label} and ${name} are both set; keep one`);
    delete filled[pointer];
    filled[name] = readSecret(file, dir, label, problems);
  }
  return filled;
}
