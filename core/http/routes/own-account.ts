import { z } from 'zod';
import type { Accounts } from '../../domain/accounts/accounts.ts';
import type { AccountExport } from '../../domain/export/export.ts';
import { text } from '../fields.ts';
import { Download, type Route, route } from '../route.ts';

const Farewell = z
  .object({ name: text({ max: 200 }).describe('Name of your account, as a confirmation') })
  .meta({ id: 'AccountRemoval', override: { examples: [{ name: 'ada' }] } });

const Remaining = z
  .object({
    removed: z.literal(true),
    remains: z
      .array(z.object({ what: z.string(), until: z.iso.datetime().nullable() }))
      .describe('Remaining copies; until null: until somebody deletes them'),
  })
  .meta({ id: 'AccountRemoved' });

interface Parts {
  accounts: Pick<Accounts, 'removeOwn'>;
  accountExport: AccountExport;
  /** Lists data that outlives an account removed now, and until when. */
  remains(): Promise<{ what: string; until: number | null }[]>;
}

/** Everything of an account: to take away, and to delete. */
export function ownAccountRoutes({ accounts, accountExport, remains }: Parts): Route[] {
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
      method: 'delete',
      id: 'removeOwnAccount',
      path: '/v1/users/me',
      summary: 'Delete your account with all its data, at once and for good',
      errors: ['conflict'],
      body: Farewell,
      response: Remaining,
      async handle({ principal: { user }, body: { name } }) {
        await accounts.removeOwn(user, name);
        const left = await remains();
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
