import { z } from 'zod';
import { CATEGORY_EMOJI, type Category } from '../../domain/conversations/categories.ts';
import { ConversationJson } from '../../domain/conversations/conversation-json.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import { createPresenter } from '../../domain/conversations/present.ts';
import type { ShownTemplate, SummaryTemplates } from '../../domain/conversations/summary-templates.ts';
import { LANGUAGE_RULE, languageOf, MULTI } from '../../domain/languages.ts';
import { toIsoOrNull } from '../../runtime/iso.ts';
import { MAX_CODE_CHARS, name as nameField, someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const PATH = '/v1/summary-templates';
const SETTINGS = '/v1/users/summary-settings';
const MAX_NAME_CHARS = 100;
const MAX_INSTRUCTIONS_CHARS = 1000;

const category = z.enum(Object.keys(CATEGORY_EMOJI) as [Category, ...Category[]]); // its keys are exactly these

const TemplateJson = z
  .object({
    id: z.string(),
    name: z.string(),
    instructions: z.string(),
    categories: z.array(z.string()).describe('Categories of conversations that use it by default'),
    built_in: z.boolean().describe('Whether it is built in, and cannot be changed'),
    created_at: z.iso.datetime().nullable(),
    updated_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'SummaryTemplate' });

const name = nameField({ max: MAX_NAME_CHARS });
const instructions = text({ max: MAX_INSTRUCTIONS_CHARS }).describe('The form of an overview, in your words');
const categories = z.array(category).max(Object.keys(CATEGORY_EMOJI).length);

const DRAFT_EXAMPLE = {
  name: 'Stand-up',
  instructions: 'One sentence for each person: what is done, what is next, what blocks.',
  categories: ['work'],
};

const Draft = z
  .object({ name, instructions, categories: categories.default([]) })
  .meta({ id: 'SummaryTemplateDraft', override: { examples: [DRAFT_EXAMPLE] } });

const Edit = someOf({
  name: name.exactOptional(),
  instructions: instructions.exactOptional(),
  categories: categories.exactOptional(),
}).meta({ id: 'SummaryTemplateEdit', override: { examples: [{ categories: ['work', 'business'] }] } });

const language = z
  .string()
  .max(MAX_CODE_CHARS)
  .transform((given, context) => {
    const code = languageOf(given.trim());
    if (code !== null && code !== MULTI) return code;
    context.addIssue({
      code: 'custom',
      message: `Input should be ${LANGUAGE_RULE}`,
      params: { type: 'value_error' },
    });
    return z.NEVER;
  })
  .meta({ examples: ['de'] });

const SettingsJson = z.object({ language: z.string().nullable() }).meta({ id: 'SummarySettings' });
const SettingsEdit = z
  .object({
    language: language.nullable().describe('Language of summaries; null: the one of each conversation'),
  })
  .meta({ id: 'SummarySettingsEdit', override: { examples: [{ language: 'de' }] } });

const Reprocess = z
  .object({
    template_id: text()
      .nullable()
      .optional()
      .describe('Template for this conversation from now on; null: by its category; absent: unchanged'),
  })
  .meta({ id: 'Reprocess', override: { examples: [{ template_id: 'meeting' }] } });

/** Summary templates, the summaries' language, and repeating a summary. */
export function summaryRoutes(conversations: Conversations, templates: SummaryTemplates): Route[] {
  const own = { tag: 'Summaries', credential: 'idToken', query: z.object({}) } as const;
  const one = z.object({ template_id: z.string() });
  const { streamOne } = createPresenter(conversations);
  return [
    route({
      ...own,
      method: 'get',
      id: 'listSummaryTemplates',
      path: PATH,
      summary: 'List your summary templates, then the built-in ones',
      params: z.object({}),
      response: z.array(TemplateJson),
      handle: async ({ principal: { user } }) => (await templates.list(user.id)).map(templateJson),
    }),
    route({
      ...own,
      method: 'post',
      id: 'createSummaryTemplate',
      path: PATH,
      summary: 'Create a summary template',
      errors: ['conflict'],
      params: z.object({}),
      body: Draft,
      response: TemplateJson,
      handle: async ({ principal: { user }, body }) => templateJson(await templates.create(user.id, body)),
    }),
    route({
      ...own,
      method: 'get',
      id: 'getSummaryTemplate',
      path: `${PATH}/{template_id}`,
      summary: 'Get one summary template',
      errors: ['not_found'],
      params: one,
      response: TemplateJson,
      handle: async ({ principal: { user }, params }) =>
        templateJson(await templates.get(user.id, params.template_id)),
    }),
    route({
      ...own,
      method: 'patch',
      id: 'updateSummaryTemplate',
      path: `${PATH}/{template_id}`,
      summary: 'Change one of your summary templates',
      errors: ['not_found', 'conflict'],
      params: one,
      body: Edit,
      response: TemplateJson,
      handle: async ({ principal: { user }, params, body }) =>
        templateJson(await templates.edit(user.id, params.template_id, body)),
    }),
    route({
      ...own,
      method: 'delete',
      id: 'deleteSummaryTemplate',
      path: `${PATH}/{template_id}`,
      summary: 'Delete one of your summary templates; summaries made with it stay',
      errors: ['not_found', 'conflict'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await templates.remove(user.id, params.template_id);
        return { success: true as const };
      },
    }),
    route({
      ...own,
      method: 'get',
      id: 'getSummarySettings',
      path: SETTINGS,
      summary: 'Get the language of your summaries',
      params: z.object({}),
      response: SettingsJson,
      handle: async ({ principal: { user } }) => ({ language: (await templates.settings(user.id)).language }),
    }),
    route({
      ...own,
      method: 'patch',
      id: 'updateSummarySettings',
      path: SETTINGS,
      summary: 'Choose the language of your summaries; existing ones stay as they are',
      params: z.object({}),
      body: SettingsEdit,
      response: SettingsJson,
      async handle({ principal: { user }, body }) {
        await templates.putSettings({ userId: user.id, language: body.language });
        return { language: body.language };
      },
    }),
    route({
      ...own,
      method: 'post',
      id: 'reprocessConversation',
      path: '/v1/conversations/{conversation_id}/reprocess',
      summary: 'Summarise a conversation again; your own edits stay',
      errors: ['not_found', 'conflict', 'locked'],
      params: z.object({ conversation_id: z.string() }),
      body: Reprocess,
      response: ConversationJson,
      async handle({ principal: { user }, params, body: { template_id: templateId } }) {
        if (typeof templateId === 'string') await templates.get(user.id, templateId);
        const found = await conversations.reprocess(user.id, params.conversation_id, templateId);
        return streamOne(user, found, false);
      },
    }),
  ];
}

function templateJson(template: ShownTemplate): z.input<typeof TemplateJson> {
  return {
    id: template.id,
    name: template.name,
    instructions: template.instructions,
    categories: [...template.categories],
    built_in: template.builtIn,
    created_at: toIsoOrNull(template.createdAt),
    updated_at: toIsoOrNull(template.updatedAt),
  };
}
