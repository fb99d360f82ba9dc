import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import { statisticsOf } from '../../domain/conversations/statistics.ts';
import { isTimeZone } from '../../domain/wall-clock.ts';
import { MAX_CODE_CHARS } from '../fields.ts';
import { integerWithin } from '../query.ts';
import { type Route, route } from '../route.ts';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 92;

const StatisticsJson = z
  .object({
    days: z
      .array(z.object({ date: z.iso.date(), words: z.int(), conversations: z.int() }))
      .describe('Every day, in order'),
    hours: z.array(z.int()).describe('Words by the hour of the day, 24 of them'),
    people: z
      .array(
        z.object({
          person_id: z.string().nullable(),
          name: z.string().describe('Empty: all unknown speakers'),
          is_user: z.boolean(),
          words: z.int(),
          conversations: z.int().describe('Number of conversations'),
        }),
      )
      .describe('Most words first'),
  })
  .meta({ id: 'Statistics' });

/** Statistics: how much was said, when and by whom. */
export function statisticsRoutes(conversations: Conversations, clock: Clock): Route[] {
  return [
    route({
      method: 'get',
      id: 'getStatistics',
      path: '/v1/users/statistics',
      tag: 'Conversations',
      summary: 'Count the words of the last days, by day, by hour of the day, and by speaker',
      credential: 'idToken',
      policy: 'transcript',
      params: z.object({}),
      query: z.object({
        days: integerWithin({ from: 1, to: MAX_DAYS, absent: DEFAULT_DAYS }),
        time_zone: z
          .string()
          .max(MAX_CODE_CHARS)
          .refine(isTimeZone, 'Input should be the name of a time zone, such as Europe/Berlin')
          .default('UTC')
          .describe('Time zone of the days'),
      }),
      response: StatisticsJson,
      async handle({ principal: { user }, query: { days, time_zone: timeZone } }) {
        const found = await statisticsOf(conversations, user, { days, timeZone, now: clock.now() });
        const people = found.people.map(({ personId, isUser, ...person }) => ({
          ...person,
          person_id: personId,
          is_user: isUser,
        }));
        return { ...found, people };
      },
    }),
  ];
}
