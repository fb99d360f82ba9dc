import { z } from 'zod';
import type { Diagnosis, DiagnosisContext } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';
import { createLog } from '../runtime/log.ts';
import type { LoadedPlugin } from './loader.ts';

const Diagnoses = z.array(
  z
    .object({
      what: z.string().min(1),
      level: z.enum(['good', 'note', 'doubt', 'bad']),
      detail: z.string(),
      cure: z.string().min(1).nullable(),
    })
    .refine(
      ({ level, cure }) => cure !== null || level === 'good' || level === 'note',
      'is wrong without a cure: say in one line what helps',
    ),
);

/**
 * Asks a plugin for its diagnosis; null when it has none.
 * @throws {AppError} `internal` when its answer is invalid
 */
export async function diagnose(
  plugin: LoadedPlugin,
  context: Omit<DiagnosisContext<unknown>, 'log' | 'error'>,
): Promise<Diagnosis[] | null> {
  if (!plugin.diagnose) return null;
  const answer: unknown = await plugin.diagnose({
    ...context,
    log: createLog({ level: 'silent', format: 'json' }),
    error: (code, message, details) => new AppError(code, message, details),
  });
  const parsed = Diagnoses.safeParse(answer);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new AppError('internal', `diagnose of ${plugin.name}: ${issue?.path.join('.')} ${issue?.message}`);
}
