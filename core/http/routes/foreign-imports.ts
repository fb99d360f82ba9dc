import { z } from 'zod';
import type { ForeignImport } from '../../contract/model.ts';
import type { UploadedImports, UploadedProgress } from '../../domain/foreign/uploaded-imports.ts';
import { AppError } from '../../runtime/errors.ts';
import { word } from '../query.ts';
import { type Route, route } from '../route.ts';

const FIELD = 'file';
/** Maximum size of an upload. Exports of other products are text; recordings have a route of their own. */
const MAX_BYTES = 2 * 1024 ** 3;

const Counts = z.record(z.string(), z.int()).describe('Things by kind');

const Progress = z
  .object({
    work: z
      .enum(['import', 'dry_run', 'undo'])
      .nullable()
      .describe('Null: none since the start of the server'),
    running: z.boolean(),
    done: z.int().describe('Things that were read or stored by now'),
    import_id: z.string().nullable().describe('Null: it is not over, or nothing was changed'),
    format: z.string().nullable(),
    counts: Counts,
    known: z.int().describe('Things that were imported before'),
    left_out: z.array(z.object({ what: z.string(), why: z.string(), count: z.int() })),
    error: z.string().nullable().describe('Why it ended early; nothing was changed then'),
  })
  .meta({ id: 'ImportProgress' });

const Import = z
  .object({
    id: z.string(),
    format: z.string(),
    name: z.string().describe('Name of the file, folder or server'),
    state: z.enum(['running', 'done', 'failed', 'undoing', 'undone', 'checked']),
    counts: Counts,
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Import' });

const Query = z.object({
  dry_run: z
    .enum(['true', 'false'])
    .default('false')
    .transform(text => text === 'true')
    .describe('true: reads everything, tells what would be imported, and changes nothing'),
  name: word().describe('Name of a file that is the body itself; its ending tells the format'),
});

/** Import of what other products have exported, uploaded as a file. */
export function foreignImportRoutes(imports: UploadedImports): Route[] {
  const common = {
    tag: 'Imports',
    credential: 'idToken',
    query: z.object({}),
    params: z.object({}),
  } as const;
  return [
    route({
      ...common,
      method: 'post',
      id: 'undoImport',
      path: '/v1/imports/{import_id}/undo',
      summary: 'Undo an import in the background: what it stored is deleted',
      errors: ['not_found', 'conflict'],
      params: z.object({ import_id: z.string() }),
      response: Progress,
      handle: async ({ principal: { user }, params }) => toJson(await imports.undo(user, params.import_id)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'startImport',
      path: '/v1/imports',
      summary: 'Upload an export of another product, which is imported in the background; one at a time',
      errors: ['conflict'],
      policy: 'batch',
      query: Query,
      body: z.object({}),
      upload: { field: FIELD, maxBytes: MAX_BYTES },
      response: Progress,
      async handle({ principal: { user }, upload: { files }, query: { dry_run: dryRun, name } }) {
        const [file, ...more] = files;
        if (!file) throw refused('There is no file: send it as the field file, or as the body');
        if (more.length > 0) throw refused('Send one file: several fit into a ZIP archive');
        return toJson(
          await imports.add(user, { path: file.path, name: file.name || (name ?? '') }, { dryRun }),
        );
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getImportProgress',
      path: '/v1/imports/progress',
      summary: 'Get the progress of the import that was begun last, and what came of it',
      response: Progress,
      handle: async ({ principal: { user } }) => toJson(imports.progress(user)),
    }),
    route({
      ...common,
      method: 'get',
      id: 'listImports',
      path: '/v1/imports',
      summary: 'List the last 100 imports, newest first',
      response: z.array(Import),
      handle: async ({ principal: { user } }) => (await imports.list(user)).map(importJson),
    }),
  ];
}

function toJson({ work, running, done, outcome, error }: UploadedProgress): z.input<typeof Progress> {
  return {
    ...{ work, running, done, error },
    import_id: outcome?.id ?? null,
    format: outcome?.format ?? null,
    counts: outcome?.counts ?? {},
    known: outcome?.known ?? 0,
    left_out: outcome?.leftOut ?? [],
  };
}

function importJson(run: ForeignImport): z.input<typeof Import> {
  const { id, format, name, state, counts, startedAt, endedAt } = run;
  return {
    ...{ id, format, name, state, counts },
    started_at: new Date(startedAt).toISOString(),
    ended_at: endedAt === null ? null : new Date(endedAt).toISOString(),
  };
}

function refused(msg: string): AppError {
  return new AppError('invalid_request', msg, {
    issues: [{ loc: ['body', FIELD], msg, type: 'value_error' }],
  });
}
