import { z } from 'zod';
import type { Person } from '../../contract/model.ts';
import type { People } from '../../domain/accounts/people.ts';
import { name } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/people';
const ONE = '/v1/people/{person_id}';
const MAX_NAME_CHARS = 200;

const PersonJson = z
  .object({ id: z.string(), name: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'Person' });

const PersonBody = z
  .object({ name: name({ max: MAX_NAME_CHARS }) })
  .meta({ id: 'PersonName', override: { examples: [{ name: 'Eve' }] } });

const RenameBody = z
  .object({
    name: name({ max: MAX_NAME_CHARS }),
    expected: z
      .object({ name: name({ max: MAX_NAME_CHARS }).exactOptional() })
      .exactOptional()
      .describe(
        'Name that the edit is based on: if it has changed, the response is a 409 with both versions',
      ),
  })
  .meta({ id: 'PersonEdit', override: { examples: [{ name: 'Eve' }] } });

const MergeBody = z.object({ other_person_id: name({ max: MAX_NAME_CHARS }) }).meta({
  id: 'PeopleMerge',
  override: { examples: [{ other_person_id: '01a19c21-7200-7649-808b-0dbd5a9abf06' }] },
});

/** People who are named in transcripts. */
export function peopleRoutes(people: People): Route[] {
  const common = { tag: 'People', credential: 'idToken', query: z.object({}) } as const;
  const none = z.object({});
  const one = z.object({ person_id: z.string() });
  return [
    route({
      ...common,
      method: 'get',
      id: 'listPeople',
      path: LIST,
      summary: 'List people, oldest first',
      params: none,
      response: z.array(PersonJson),
      handle: async ({ principal: { user } }) => (await people.list(user.id)).map(toJson),
    }),
    route({
      ...common,
      method: 'post',
      id: 'createPerson',
      repeatable: true,
      path: LIST,
      summary: 'Create a person',
      errors: ['conflict'],
      params: none,
      body: PersonBody,
      response: PersonJson,
      handle: async ({ principal: { user }, body }) => toJson(await people.create(user.id, body.name)),
    }),
    route({
      ...common,
      method: 'patch',
      id: 'renamePerson',
      path: ONE,
      summary: 'Rename a person',
      errors: ['not_found', 'conflict'],
      params: one,
      body: RenameBody,
      response: PersonJson,
      handle: async ({ principal: { user }, params, body }) =>
        toJson(await people.rename(user.id, params.person_id, body.name, body.expected)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'mergePeople',
      path: `${ONE}/merge`,
      summary: 'Make two people one: the other’s words and voice are this one’s, and the other is gone',
      errors: ['not_found'],
      params: one,
      body: MergeBody,
      response: PersonJson,
      handle: async ({ principal: { user }, params, body }) =>
        toJson(await people.merge(user.id, params.person_id, body.other_person_id)),
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deletePerson',
      path: ONE,
      summary: 'Delete a person; their segments stay, without a name',
      errors: ['not_found'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await people.remove(user.id, params.person_id);
        return { success: true as const };
      },
    }),
  ];
}

function toJson({ id, name, createdAt }: Person): z.input<typeof PersonJson> {
  return { id, name, created_at: new Date(createdAt).toISOString() };
}
