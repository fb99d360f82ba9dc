import { z } from 'zod';
import type { Conversations } from '../../domain/conversations.ts';
import type { Folder } from '../../model.ts';
import { type Route, route } from '../route.ts';

const FolderJson = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    color: z.string(),
    icon: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    order: z.int(),
    is_default: z.boolean(),
    is_system: z.boolean(),
    conversation_count: z.int().describe('Without discarded ones'),
  })
  .meta({ id: 'Folder' });

/** Reading folders. */
export function folderRoutes(conversations: Pick<Conversations, 'folders'>): Route[] {
  return [
    route({
      method: 'get',
      id: 'listFolders',
      path: '/v1/dev/user/folders',
      tag: 'Folders',
      summary: 'List folders in their order',
      scope: 'conversations:read',
      params: z.object({}),
      query: z.object({}),
      response: z.array(FolderJson),
      async handle({ principal: { user } }) {
        const { folders, counts } = await conversations.folders(user.id);
        return folders.map(folder => folderJson(folder, counts.get(folder.id) ?? 0));
      },
    }),
  ];
}

/** @param count of its conversations that are not discarded */
function folderJson(folder: Folder, count: number): z.input<typeof FolderJson> {
  return {
    id: folder.id,
    name: folder.name,
    description: folder.description,
    color: folder.color,
    icon: folder.icon,
    created_at: new Date(folder.createdAt).toISOString(),
    updated_at: new Date(folder.updatedAt).toISOString(),
    order: folder.order,
    is_default: folder.isDefault,
    is_system: folder.isSystem,
    conversation_count: count,
  };
}
