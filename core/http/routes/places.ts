import { z } from 'zod';
import type { Place } from '../../contract/model.ts';
import {
  MAX_POSITIONS,
  PLACE_RADIUS_M,
  type Places,
  type VisitedPlace,
} from '../../domain/conversations/places.ts';
import { name as nameField, pointFields } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/places';
const ONE = '/v1/places/{place_id}';
const MAX_NAME_CHARS = 100;
const name = nameField({ max: MAX_NAME_CHARS });

const PlaceJson = z
  .object({ id: z.string(), name: z.string(), latitude: z.number(), longitude: z.number() })
  .meta({ id: 'Place' });

const VisitedJson = z
  .object({
    id: z.string().nullable().describe('Null: it has no name yet'),
    name: z.string().nullable(),
    address: z.string().nullable().describe('As it came with the newest conversation there that has one'),
    latitude: z.number(),
    longitude: z.number(),
    radius_m: z.number().describe('Conversations at most so far away are counted'),
    conversation_count: z.int(),
    last_at: z.iso.datetime().nullable().describe('When the last of them began'),
  })
  .meta({ id: 'VisitedPlace' });

const Draft = z
  .object({ name, ...pointFields })
  .meta({ id: 'PlaceDraft', override: { examples: [{ name: 'Home', latitude: 52.52, longitude: 13.405 }] } });

const Edit = z
  .object({
    name,
    expected: z
      .object({ name: name.exactOptional() })
      .exactOptional()
      .describe(
        'Name that the edit is based on: if it has changed, the response is a 409 with both versions',
      ),
  })
  .meta({ id: 'PlaceEdit', override: { examples: [{ name: 'Garden' }] } });

/** Places where conversations happened, and their names. */
export function placeRoutes(places: Places): Route[] {
  const own = { tag: 'Places', credential: 'idToken', query: z.object({}) } as const;
  const one = z.object({ place_id: z.string() });
  return [
    route({
      ...own,
      method: 'get',
      id: 'listPlaces',
      path: LIST,
      summary: `List named places, and others where conversations happened, most conversations first. Counts the newest ${MAX_POSITIONS} with a position`,
      params: z.object({}),
      response: z.array(VisitedJson),
      handle: async ({ principal: { user } }) => (await places.list(user.id)).map(visitedJson),
    }),
    route({
      ...own,
      method: 'post',
      id: 'createPlace',
      repeatable: true,
      path: LIST,
      summary: 'Give a place a name',
      errors: ['conflict'],
      params: z.object({}),
      body: Draft,
      response: PlaceJson,
      handle: async ({ principal: { user }, body }) => placeJson(await places.create(user.id, body)),
    }),
    route({
      ...own,
      method: 'patch',
      id: 'renamePlace',
      path: ONE,
      summary: 'Rename a place',
      errors: ['not_found', 'conflict'],
      params: one,
      body: Edit,
      response: PlaceJson,
      handle: async ({ principal: { user }, params, body }) =>
        placeJson(await places.rename(user.id, params.place_id, body.name, body.expected)),
    }),
    route({
      ...own,
      method: 'delete',
      id: 'deletePlace',
      path: ONE,
      summary: 'Delete the name of a place; its conversations stay',
      errors: ['not_found'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await places.remove(user.id, params.place_id);
        return { success: true as const };
      },
    }),
  ];
}

function placeJson({ id, name, latitude, longitude }: Place): z.input<typeof PlaceJson> {
  return { id, name, latitude, longitude };
}

function visitedJson(place: VisitedPlace): z.input<typeof VisitedJson> {
  const { id, name, address, latitude, longitude, conversations, lastAt } = place;
  return {
    ...{ id, name, address, latitude, longitude, radius_m: PLACE_RADIUS_M },
    conversation_count: conversations,
    last_at: lastAt === null ? null : new Date(lastAt).toISOString(),
  };
}
