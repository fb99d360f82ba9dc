import { z } from 'zod';
import type { Folder } from '../../contract/model.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import type { Folders } from '../../domain/conversations/folders.ts';
import { MAX_CODE_CHARS, name as nameField, optional, someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const MAX_NAME_CHARS = 100;
const MAX_DESCRIPTION_CHARS = 500;
/** Some emojis consist of a dozen code points. */
const MAX_ICON_CHARS = 16;

const FolderJson = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().describe('Empty if there is none'),
    color: z.string(),
    icon: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    order: z.int(),
    is_default: z.boolean(),
    is_system: z.boolean(),
    conversation_count: z.int().describe('Number of conversations, without discarded ones'),
  })
  .meta({ id: 'Folder' });

const name = nameField({ max: MAX_NAME_CHARS });
const description = text({ max: MAX_DESCRIPTION_CHARS, mayBeEmpty: true });
const color = z
  .string()
  .max(MAX_CODE_CHARS)
  .trim()
  .regex(/^#[0-9a-fA-F]{6}$/, 'String should be of the form #rrggbb');
const icon = nameField({ max: MAX_ICON_CHARS }).describe('An emoji');

const DRAFT_EXAMPLE = { name: 'Garden', icon: '🌱', color: '#22C55E' };

const Draft = z
  .object({
    name,
    description: optional(description, null),
    color: optional(color, '#6B7280'),
    icon: optional(icon, '📁'),
  })
  .meta({ id: 'FolderDraft', override: { examples: [DRAFT_EXAMPLE] } });

const Edit = someOf({
  name: name.exactOptional(),
  description: description.exactOptional(),
  color: color.exactOptional(),
  icon: icon.exactOptional(),
}).meta({ id: 'FolderEdit', override: { examples: [{ icon: '🌻' }] } });

/** Listing folders, and creating one's own. */
export function folderRoutes(
  conversations: Pick<Conversations, 'folders' | 'folderCounts'>,
  folders: Folders,
): Route[] {
  const own = { tag: 'Folders', credential: 'idToken', query: z.object({}) } as const;
  const one = z.object({ folder_id: z.string() });
  const countOf = async (userId: string, id: string) =>
    (await conversations.folderCounts(userId)).get(id) ?? 0;
  return [
    route({
      ...own,
      method: 'post',
      id: 'createFolder',
      repeatable: true,
      path: '/v1/folders',
      summary: 'Create a folder, last in order',
      errors: ['conflict'],
      params: z.object({}),
      body: Draft,
      response: FolderJson,
      handle: async ({ principal: { user }, body }) => folderJson(await folders.create(user.id, body), 0),
    }),
    route({
      ...own,
      method: 'patch',
      id: 'updateFolder',
      path: '/v1/folders/{folder_id}',
      summary: 'Change a folder; system folders keep their names',
      errors: ['not_found'],
      params: one,
      body: Edit,
      response: FolderJson,
      async handle({ principal: { user }, params, body }) {
        const edited = await folders.edit(user.id, params.folder_id, body);
        return folderJson(edited, await countOf(user.id, edited.id));
      },
    }),
    route({
      ...own,
      method: 'delete',
      id: 'deleteFolder',
      path: '/v1/folders/{folder_id}',
      summary: 'Delete a folder other than a system folder; its conversations move to Personal',
      errors: ['not_found', 'conflict'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await folders.remove(user.id, params.folder_id);
        return { success: true as const };
      },
    }),
    route({
      method: 'get',
      id: 'listFolders',
      path: '/v1/dev/user/folders',
      tag: 'Folders',
      summary: 'List folders in order',
      scope: 'conversations:read',
      params: z.object({}),
      query: z.object({}),
      response: z.array(FolderJson),
      async handle({ principal: { user } }) {
        const [folders, counts] = await Promise.all([
          conversations.folders(user.id),
          conversations.folderCounts(user.id),
        ]);
        return folders.map(folder => folderJson(folder, counts.get(folder.id) ?? 0));
      },
    }),
  ];
}

/** @param count number of its conversations that are not discarded */
function folderJson(folder: Folder, count: number): z.input<typeof FolderJson> {
  return {
    id: folder.id,
    name: folder.name,
    description: folder.description ?? '',
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
