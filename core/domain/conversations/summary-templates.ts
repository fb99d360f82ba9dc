/** Templates of overviews: built-in ones, and those of each user. */
import type { Clock, Conversation, SummarySettings, SummaryTemplate } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isId, newId } from '../ids.ts';

const MAX_TEMPLATES_PER_USER = 50;

export type TemplateDraft = Pick<SummaryTemplate, 'name' | 'instructions' | 'categories'>;
/** As lists show it. */
export type ShownTemplate = TemplateDraft & {
  id: string;
  /** Comes with the server. */
  builtIn: boolean;
  createdAt: number | null;
  updatedAt: number | null;
};

/** Template and language of a summary. */
export interface SummaryWishes {
  summaryLanguage: string | null;
  template: string | null;
  templates: { instructions: string; categories: string[] }[];
}

const BUILT_IN: readonly ShownTemplate[] = [
  builtIn(
    'meeting',
    'Meeting',
    ['work', 'business'],
    ['First what was decided, with the reasons.', 'Then what stays open, and who does what until when.'],
  ),
  builtIn(
    'doctor',
    'Doctor',
    ['health'],
    [
      'First why the visit, then findings and diagnosis, then medicines with dose and duration, then what to do and when to come back.',
      'Numbers exactly as they were said.',
    ],
  ),
  builtIn(
    'lecture',
    'Lecture',
    ['education', 'science'],
    [
      'First the subject, then the main points in their order, each with its example or figure, then what was recommended to read.',
    ],
  ),
  builtIn(
    'journal',
    'Journal',
    [],
    ['As a diary in the first person: what happened, how it felt, what was learnt, and what is planned.'],
  ),
];

function builtIn(id: string, name: string, categories: string[], sentences: string[]): ShownTemplate {
  return {
    id,
    name,
    categories,
    instructions: sentences.join(' '),
    builtIn: true,
    createdAt: null,
    updatedAt: null,
  };
}

export type SummaryTemplates = ReturnType<typeof createSummaryTemplates>;

/**
 * Manages summary templates. Built-in ones cannot be changed; a user's template for the same category takes their
 * place.
 */
export function createSummaryTemplates({ storage, clock }: { storage: Storage; clock: Clock }) {
  /** Lists the user's own, oldest first, then the built-in ones. */
  async function list(userId: string): Promise<ShownTemplate[]> {
    return [...(await storage.summaries.list(userId)).map(shown), ...BUILT_IN];
  }

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<ShownTemplate> {
    const known = BUILT_IN.find(template => template.id === id);
    const own = known || !isId(id) ? null : await storage.summaries.get(userId, id);
    if (known) return known;
    if (own) return shown(own);
    throw new AppError('not_found', 'Summary template not found');
  }

  /** `conflict` where there are too many. */
  async function create(userId: string, draft: TemplateDraft): Promise<ShownTemplate> {
    const now = clock.now();
    return storage.transaction('create summary template', async tx => {
      if ((await tx.summaries.list(userId)).length >= MAX_TEMPLATES_PER_USER)
        throw new AppError(
          'conflict',
          `At most ${MAX_TEMPLATES_PER_USER} summary templates: delete one first`,
        );
      const template = { ...draft, id: newId(now), userId, createdAt: now, updatedAt: now };
      await tx.summaries.insert(template);
      return shown(template);
    });
  }

  /** `not_found`; `conflict` for one that comes with the server. */
  async function edit(userId: string, id: string, changes: Partial<TemplateDraft>): Promise<ShownTemplate> {
    const before = own(await get(userId, id));
    const updatedAt = Math.max(clock.now(), (before.updatedAt ?? 0) + 1);
    const isThere = await storage.summaries.update(userId, id, { ...changes, updatedAt });
    if (!isThere) throw new AppError('not_found', 'Summary template not found');
    return { ...before, ...changes, updatedAt };
  }

  /** Deletes a template; conversations that used it stay as they are. `not_found`; `conflict` as above. */
  async function remove(userId: string, id: string): Promise<void> {
    own(await get(userId, id));
    await storage.summaries.remove(userId, id);
  }

  async function settings(userId: string): Promise<SummarySettings> {
    return (await storage.summaries.settings(userId)) ?? { userId, language: null };
  }

  /** Returns the template and language that the owner of a conversation wants. A deleted template counts as none. */
  async function wishesFor({ userId, structured }: Conversation): Promise<SummaryWishes> {
    const [templates, { language }] = await Promise.all([list(userId), settings(userId)]);
    const chosen = templates.find(({ id }) => id === structured.templateId);
    const taken = new Set<string>();
    const byCategory = templates.map(({ instructions, categories }) => {
      const free = categories.filter(category => !taken.has(category));
      for (const category of free) taken.add(category);
      return { instructions, categories: free };
    });
    return {
      summaryLanguage: language,
      template: chosen?.instructions ?? null,
      templates: byCategory.filter(({ categories }) => categories.length > 0),
    };
  }

  return {
    list,
    get,
    create,
    edit,
    remove,
    settings,
    putSettings: (changed: SummarySettings): Promise<void> => storage.summaries.putSettings(changed),
    wishesFor,
  };
}

function own(template: ShownTemplate): ShownTemplate {
  if (template.builtIn)
    throw new AppError('conflict', `${template.name} comes with the server: copy it to change it`);
  return template;
}

function shown({ id, name, instructions, categories, createdAt, updatedAt }: SummaryTemplate): ShownTemplate {
  return { id, name, instructions, categories, builtIn: false, createdAt, updatedAt };
}
