import { z } from 'zod';
import type { Goal, GoalProgress, GoalSuggestion } from '../../contract/model.ts';
import { inPages } from '../../domain/pages.ts';
import {
  type GoalEdit,
  type Goals,
  MAX_HISTORY_DAYS,
  statusOf,
  suggestedValue,
} from '../../domain/tasks/goals.ts';
import { toIso, toIsoOrNull } from '../../runtime/iso.ts';
import { instant, optional, someOf, text } from '../fields.ts';
import { boolean, integer, integerWithin, number } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/dev/user/goals';
const ONE = '/v1/dev/user/goals/{goal_id}';
const SUGGESTIONS = `${LIST}/suggestions`;
const SUGGESTION = `${SUGGESTIONS}/{suggestion_id}`;
const MAX_TITLE_CHARS = 500;
const MAX_STORY_CHARS = 2000;
const MAX_CRITERIA = 20;
const MAX_CRITERION_CHARS = 500;
const MAX_UNIT_CHARS = 50;
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1000;
const DEFAULT_DAYS = 30;
const DAY_MS = 24 * 3600 * 1000;

const dateTime = z.iso.datetime();
const goalType = z.enum(['boolean', 'scale', 'numeric']);

const GoalJson = z
  .object({
    id: z.string(),
    goal_id: z.string().describe('Same as id'),
    source: z.literal('user'),
    title: z.string(),
    desired_outcome: z.string().describe('Empty if there is none'),
    why_it_matters: z.string().nullable(),
    success_criteria: z.array(z.string()),
    horizon_at: dateTime.nullable().describe('Target date; the goal stays active after it'),
    goal_type: goalType,
    target_value: z.number().nullable(),
    current_value: z.number(),
    min_value: z.number().nullable(),
    max_value: z.number().nullable(),
    unit: z.string().nullable(),
    is_active: z.boolean().describe('Whether its status is active'),
    status: z
      .enum(['active', 'paused', 'completed'])
      .describe(
        'completed: current_value has reached target_value, from below or from above; otherwise active. paused: is_active was set to false',
      ),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Goal' });

const ProgressJson = z
  .object({ date: z.iso.date().describe('A day in UTC'), value: z.number(), recorded_at: dateTime })
  .meta({ id: 'GoalProgress' });

const SuggestionJson = z
  .object({
    id: z.string(),
    goal_id: z.string(),
    conversation_id: z.string(),
    segment_ids: z.array(z.string()).describe('Where it was said'),
    text: z.string().describe('The sentence of the owner'),
    current_value: z.number().describe('Of the goal now'),
    suggested_value: z.number().describe('Of the goal once the suggestion is accepted'),
    created_at: dateTime,
  })
  .meta({ id: 'GoalSuggestion' });

const title = text({ max: MAX_TITLE_CHARS });
const story = text({ max: MAX_STORY_CHARS });
const outcome = text({ max: MAX_STORY_CHARS, mayBeEmpty: true });
const criteria = z.array(text({ max: MAX_CRITERION_CHARS })).max(MAX_CRITERIA);
const unit = text({ max: MAX_UNIT_CHARS });
const value = z.number();
const RANGE = 'min_value is not greater than max_value, and the other values are from one to the other';

const DRAFT_EXAMPLE = { title: 'Read more', goal_type: 'numeric', target_value: 12, unit: 'books' };

const Draft = z
  .object({
    title,
    desired_outcome: optional(outcome, null),
    why_it_matters: optional(story, null),
    success_criteria: optional(criteria, []),
    horizon_at: optional(instant(), null),
    goal_type: optional(goalType, null).describe(
      'boolean: done (1) or not (0). scale: from 0 to 10. numeric: any number. Absent: numeric where a value is given, else boolean',
    ),
    target_value: optional(value, null).describe(
      'Absent: max_value; without one the goal is never completed',
    ),
    current_value: optional(value, null).describe('Absent: 0, or the nearest value in range'),
    min_value: optional(value, null).describe(RANGE),
    max_value: optional(value, null),
    unit: optional(unit, null),
  })
  .meta({ id: 'GoalDraft', override: { examples: [DRAFT_EXAMPLE] } });

const Edit = someOf({
  title: title.exactOptional(),
  desired_outcome: outcome.exactOptional(),
  why_it_matters: story.exactOptional(),
  success_criteria: criteria.exactOptional(),
  horizon_at: instant().exactOptional(),
  goal_type: goalType.exactOptional(),
  target_value: value.exactOptional(),
  current_value: value.exactOptional().describe('Added to the history'),
  min_value: value.exactOptional().describe(RANGE),
  max_value: value.exactOptional(),
  unit: unit.exactOptional(),
  expected: z
    .object({
      title: text({ max: MAX_TITLE_CHARS, mayBeEmpty: true }).exactOptional(),
      desired_outcome: outcome.exactOptional(),
      unit: text({ max: MAX_UNIT_CHARS, mayBeEmpty: true }).nullable().exactOptional(),
      target_value: value.nullable().exactOptional(),
      current_value: value.exactOptional(),
      horizon_at: instant().nullable().transform(toIsoOrNull).exactOptional(),
    })
    .exactOptional()
    .describe(
      'Values that the edit is based on: if they have changed, the response is a 409 with both versions',
    ),
  is_active: z.boolean().exactOptional().describe('False pauses the goal, true resumes it'),
}).meta({ id: 'GoalEdit', override: { examples: [{ current_value: 3 }] } });

/** Goals of users and their progress. */
export function goalRoutes(goals: Goals): Route[] {
  const common = { tag: 'Goals', query: z.object({}) };
  const one = z.object({ goal_id: z.string() });
  return [
    route({
      ...common,
      method: 'get',
      id: 'listGoals',
      path: LIST,
      summary: 'List goals, newest first',
      scope: 'goals:read',
      params: z.object({}),
      query: z.object({
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
        include_inactive: boolean()
          .transform(given => given ?? false)
          .meta({ description: 'Include paused and completed goals', override: { default: false } }),
      }),
      response: z.array(GoalJson),
      async handle({ principal: { user }, query: { limit, include_inactive: all } }) {
        const found = await inPages(page => goals.list(user.id, { active: !all, ...page }), {
          limit,
          offset: 0,
        });
        return found.map(toJson);
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listGoalSuggestions',
      path: SUGGESTIONS,
      summary:
        'List progress that you told of in conversations and have neither accepted nor refused, newest first',
      scope: 'goals:read',
      params: z.object({}),
      response: z.array(SuggestionJson),
      handle: async ({ principal: { user } }) => (await goals.suggestions(user.id)).map(suggestionJson),
    }),
    route({
      ...common,
      method: 'post',
      id: 'acceptGoalSuggestion',
      path: `${SUGGESTION}/accept`,
      summary: 'Set the goal to the suggested value',
      scope: 'goals:write',
      errors: ['not_found', 'conflict'],
      params: z.object({ suggestion_id: z.string() }),
      response: GoalJson,
      handle: async ({ principal: { user }, params }) =>
        toJson(await goals.accept(user.id, params.suggestion_id)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'refuseGoalSuggestion',
      path: `${SUGGESTION}/refuse`,
      summary: 'Refuse a suggestion for good',
      scope: 'goals:write',
      errors: ['not_found', 'conflict'],
      params: z.object({ suggestion_id: z.string() }),
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await goals.refuse(user.id, params.suggestion_id);
        return { success: true as const };
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getGoal',
      path: ONE,
      summary: 'Get one goal',
      scope: 'goals:read',
      errors: ['not_found'],
      params: one,
      response: GoalJson,
      handle: async ({ principal: { user }, params }) => toJson(await goals.get(user.id, params.goal_id)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'createGoal',
      repeatable: true,
      path: LIST,
      summary: 'Create a goal',
      scope: 'goals:write',
      params: z.object({}),
      body: Draft,
      response: GoalJson,
      async handle({ principal: { user }, body }) {
        const created = await goals.create(user.id, {
          title: body.title,
          desiredOutcome: body.desired_outcome,
          whyItMatters: body.why_it_matters,
          successCriteria: body.success_criteria,
          horizonAt: body.horizon_at,
          goalType: body.goal_type,
          targetValue: body.target_value,
          currentValue: body.current_value,
          minValue: body.min_value,
          maxValue: body.max_value,
          unit: body.unit,
        });
        return toJson(created);
      },
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateGoal',
      path: ONE,
      summary: 'Change a goal',
      scope: 'goals:write',
      errors: ['not_found', 'conflict'],
      params: one,
      body: Edit,
      response: GoalJson,
      handle: async ({ principal: { user }, params, body: { expected, ...body } }) =>
        toJson(await goals.edit(user.id, params.goal_id, toEdit(body), expected)),
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateGoalProgress',
      path: `${ONE}/progress`,
      summary: 'Set the present value of a goal, or add to it',
      scope: 'goals:write',
      errors: ['not_found'],
      params: one,
      query: z.object({
        current_value: number(),
        adds: boolean().describe('True: current_value is added to the present value'),
      }),
      response: GoalJson,
      async handle({ principal: { user }, params: { goal_id: id }, query: { current_value: value, adds } }) {
        return toJson(await (adds ? goals.add(user.id, id, value) : goals.set(user.id, id, value)));
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getGoalHistory',
      path: `${ONE}/history`,
      summary: 'Get the last value of each day with a change, oldest first',
      scope: 'goals:read',
      errors: ['not_found'],
      params: one,
      query: z.object({ days: integerWithin({ from: 1, to: MAX_HISTORY_DAYS, absent: DEFAULT_DAYS }) }),
      response: z.array(ProgressJson),
      handle: async ({ principal: { user }, params, query: { days } }) =>
        (await goals.history(user.id, params.goal_id, days)).map(progressJson),
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteGoal',
      path: ONE,
      summary: 'Delete a goal and its history for good',
      scope: 'goals:write',
      errors: ['not_found'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await goals.remove(user.id, params.goal_id);
        return { success: true as const };
      },
    }),
  ];
}

/** Maps wire names to internal ones; absent fields stay absent. */
const NAMES = {
  desired_outcome: 'desiredOutcome',
  why_it_matters: 'whyItMatters',
  success_criteria: 'successCriteria',
  horizon_at: 'horizonAt',
  goal_type: 'goalType',
  target_value: 'targetValue',
  current_value: 'currentValue',
  min_value: 'minValue',
  max_value: 'maxValue',
} as const;

function toEdit({ is_active: isActive, ...body }: Omit<z.output<typeof Edit>, 'expected'>): GoalEdit {
  const named = Object.entries(body).map(([name, value]) => [
    NAMES[name as keyof typeof NAMES] ?? name,
    value,
  ]);
  return { ...Object.fromEntries(named), ...(isActive === undefined ? {} : { paused: !isActive }) };
}

function toJson(goal: Goal): z.input<typeof GoalJson> {
  const status = statusOf(goal);
  return {
    id: goal.id,
    goal_id: goal.id,
    source: 'user',
    title: goal.title,
    desired_outcome: goal.desiredOutcome ?? '',
    why_it_matters: goal.whyItMatters,
    success_criteria: goal.successCriteria,
    horizon_at: toIsoOrNull(goal.horizonAt),
    goal_type: goal.goalType,
    target_value: goal.targetValue,
    current_value: goal.currentValue,
    min_value: goal.minValue,
    max_value: goal.maxValue,
    unit: goal.unit,
    is_active: status === 'active',
    status,
    created_at: toIso(goal.createdAt),
    updated_at: toIso(goal.updatedAt),
  };
}

function progressJson({ day, value, recordedAt }: GoalProgress): z.input<typeof ProgressJson> {
  return { date: toIso(day * DAY_MS).slice(0, 10), value, recorded_at: toIso(recordedAt) };
}

function suggestionJson({
  suggestion,
  goal,
}: {
  suggestion: GoalSuggestion;
  goal: Goal;
}): z.input<typeof SuggestionJson> {
  return {
    id: suggestion.id,
    goal_id: goal.id,
    conversation_id: suggestion.conversationId,
    segment_ids: suggestion.segmentIds,
    text: suggestion.text,
    current_value: goal.currentValue,
    suggested_value: suggestedValue(goal, suggestion),
    created_at: toIso(suggestion.createdAt),
  };
}
