import { z } from 'zod';
import type { Accounts } from '../../domain/accounts/accounts.ts';
import type { AccountExport } from '../../domain/export/export.ts';
import type { ExportFile, ExportFiles } from '../../domain/export/export-files.ts';
import { text } from '../fields.ts';
import { Download, type Route, route, StoredFile } from '../route.ts';

const Farewell = z
  .object({ name: text({ max: 200 }).describe('Name of your account, as a confirmation') })
  .meta({ id: 'AccountRemoval', override: { examples: [{ name: 'ada' }] } });

const Remaining = z
  .object({
    removed: z.literal(true),
    remains: z
      .array(z.object({ what: z.string(), until: z.iso.datetime().nullable() }))
      .describe('What is kept elsewhere; until null: until somebody deletes it'),
  })
  .meta({ id: 'AccountRemoved' });

const Export = z
  .object({
    id: z.string(),
    state: z.enum(['running', 'ready', 'failed']),
    bytes: z.int().describe('Size so far'),
    error: z.string().nullable(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().describe('It is deleted then'),
  })
  .meta({ id: 'AccountExport' });

const ExportId = z.object({ export_id: z.string() });

interface Parts {
  accounts: Pick<Accounts, 'removeOwn'>;
  accountExport: AccountExport;
  exportFiles: ExportFiles;
  /** Lists data that outlives an account removed now, and until when. */
  remains(userId: string): Promise<{ what: string; until: number | null }[]>;
}

/** Export and deletion of one's own account. */
export function ownAccountRoutes({ accounts, accountExport, exportFiles, remains }: Parts): Route[] {
  const common = {
    tag: 'Accounts',
    credential: 'idToken',
    params: z.object({}),
    query: z.object({}),
  } as const;
  return [
    route({
      ...common,
      method: 'get',
      id: 'exportAccount',
      path: '/v1/users/export',
      summary: 'Export all your data as a ZIP archive; one export at a time',
      policy: 'transcript',
      type: 'application/zip',
      response: z.string(),
      async handle({ principal: { user } }) {
        return new Download(accountExport.archive(user), `earshot-${user.id}.zip`);
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'startExport',
      path: '/v1/users/exports',
      summary:
        'Begin an export as a file, which is kept for a day. It replaces the one before; one that is being made is answered',
      policy: 'transcript',
      response: Export,
      handle: async ({ principal: { user } }) => toExport(await exportFiles.begin(user)),
    }),
    route({
      ...common,
      method: 'get',
      id: 'listExports',
      path: '/v1/users/exports',
      summary: 'List your export, if there is one, with its progress',
      response: z.array(Export),
      async handle({ principal: { user } }) {
        const found = await exportFiles.current(user.id);
        return found ? [toExport(found)] : [];
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getExportFile',
      path: '/v1/users/exports/{export_id}',
      summary: 'Download an export. `Range` and `If-Range` resume a download that was interrupted',
      type: 'application/zip',
      errors: ['not_found', 'conflict'],
      params: ExportId,
      isResumable: true,
      response: z.string(),
      async handle({ principal: { user }, params: { export_id: id } }) {
        const fileName = `earshot-${user.id}.zip`;
        return new StoredFile({ ...(await exportFiles.open(user.id, id)), version: id, fileName });
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteExport',
      path: '/v1/users/exports/{export_id}',
      summary: 'Delete an export, or end one that is being made',
      errors: ['not_found'],
      params: ExportId,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params: { export_id: id } }) {
        await exportFiles.remove(user.id, id);
        return { success: true as const };
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'removeOwnAccount',
      path: '/v1/users/me',
      summary: 'Delete your account with all its data, at once and for good',
      errors: ['conflict'],
      body: Farewell,
      response: Remaining,
      async handle({ principal: { user }, body: { name } }) {
        const left = await remains(user.id); // of an account that is still known
        await accounts.removeOwn(user, name);
        return {
          removed: true as const,
          remains: left.map(({ what, until }) => ({
            what,
            until: until === null ? null : new Date(until).toISOString(),
          })),
        };
      },
    }),
  ];
}

function toExport({ createdAt, expiresAt, ...file }: ExportFile): z.input<typeof Export> {
  return {
    ...file,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
  };
}
