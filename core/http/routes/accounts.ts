import { z } from 'zod';
import type { User } from '../../contract/model.ts';
import type { Accounts } from '../../domain/accounts/accounts.ts';
import { MAX_NAME_CHARS, type Users } from '../../domain/accounts/users.ts';
import { AppError } from '../../runtime/errors.ts';
import { someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/accounts';
const ONE = `${LIST}/{account_id}` as const;

const Role = z.enum(['owner', 'operator']);

const AccountJson = z
  .object({
    id: z.string(),
    name: z.string(),
    role: Role.describe('`operator`: manages the accounts of others, without access to their data'),
    disabled: z.boolean(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Account' });

const AccountEdit = someOf({
  name: text({ max: MAX_NAME_CHARS }).exactOptional().describe('Unique, ignoring case'),
  disabled: z.boolean().exactOptional().describe('Whether all its credentials are refused. Operators only'),
  role: Role.exactOptional().describe('Operators only'),
}).meta({ id: 'AccountEdit', override: { examples: [{ name: 'ada' }] } });

/** Operations on one's own account and, for operators, on all accounts. */
export function accountRoutes(accounts: Accounts, users: Users): Route[] {
  const common = { tag: 'Accounts', credential: 'idToken', query: z.object({}) } as const;
  const one = z.object({ account_id: z.string() });
  return [
    route({
      ...common,
      method: 'get',
      id: 'listAccounts',
      path: LIST,
      summary: 'List your own account; for operators all accounts, oldest first',
      params: z.object({}),
      response: z.array(AccountJson),
      handle: async ({ principal: { user } }) =>
        (user.role === 'operator' ? await users.list() : [await users.get(user.id)]).map(toJson),
    }),
    route({
      ...common,
      method: 'patch',
      id: 'editAccount',
      path: ONE,
      summary: 'Rename an account; as an operator also disable it, or change its role',
      errors: ['not_found', 'conflict'],
      params: one,
      body: AccountEdit,
      response: AccountJson,
      async handle({ principal: { user: asker }, params, body: { name, disabled, role } }) {
        const account = await accounts.within(asker, params.account_id);
        if (disabled !== undefined || role !== undefined) requireOperator(asker);
        let edited = name === undefined ? account : await users.rename(account, name);
        if (role !== undefined) edited = await users.setRole(edited, role);
        if (disabled !== undefined) edited = await users.setDisabled(edited, disabled);
        return toJson(edited);
      },
    }),
  ];
}

function requireOperator({ role }: User): void {
  if (role !== 'operator')
    throw new AppError('invalid_request', 'disabled and role can be changed by an operator alone');
}

function toJson({ id, name, role, disabledAt, createdAt }: User): z.input<typeof AccountJson> {
  return { id, name, role, disabled: disabledAt !== null, created_at: new Date(createdAt).toISOString() };
}
