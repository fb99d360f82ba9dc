import { z } from 'zod';
import type { Photo } from '../../contract/model.ts';
import type { Photos } from '../../domain/photos/photos.ts';
import { choice } from '../query.ts';
import { Binary, type Route, route } from '../route.ts';

const PhotoJson = z
  .object({
    id: z.string(),
    conversation_id: z.string(),
    created_at: z.iso.datetime().describe('Time at which it was taken'),
    width: z.int(),
    height: z.int(),
    description: z.string().nullable().describe('Description by a vision model; null: none has seen it'),
    discarded: z.boolean().describe('Whether it is too dark, too blurred, or empty'),
  })
  .meta({ id: 'Photo' });

/** Reading and deleting photos. */
export function photoRoutes(photos: Photos): Route[] {
  return [
    route({
      method: 'get',
      id: 'listPhotos',
      path: '/v1/conversations/{conversation_id}/photos',
      tag: 'Photos',
      summary: 'List the photos of a conversation, in the order in which they were taken',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({}),
      response: z.array(PhotoJson),
      async handle({ principal: { user }, params }) {
        return (await photos.list(user.id, params.conversation_id)).map(toJson);
      },
    }),
    route({
      method: 'get',
      id: 'getPhoto',
      path: '/v1/photos/{photo_id}',
      tag: 'Photos',
      summary: 'Get a photo as JPEG, upright and without metadata',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ photo_id: z.string() }),
      query: z.object({ size: choice(['whole', 'small']).describe('small: at most 480 pixels on a side') }),
      response: z.string().meta({ format: 'binary' }),
      type: 'image/jpeg',
      async handle({ principal: { user }, params, query }) {
        return new Binary(await photos.read(user.id, params.photo_id, query.size ?? 'whole'));
      },
    }),
    route({
      method: 'delete',
      id: 'deletePhoto',
      path: '/v1/photos/{photo_id}',
      tag: 'Photos',
      summary: 'Delete a photo, with its files',
      credential: 'idToken',
      errors: ['not_found', 'locked'],
      params: z.object({ photo_id: z.string() }),
      query: z.object({}),
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await photos.remove(user.id, params.photo_id);
        return { success: true as const };
      },
    }),
  ];
}

function toJson(photo: Photo): z.input<typeof PhotoJson> {
  const { id, conversationId, takenAt, width, height, description, discarded } = photo;
  return {
    id,
    conversation_id: conversationId,
    created_at: new Date(takenAt).toISOString(),
    width,
    height,
    description,
    discarded,
  };
}
