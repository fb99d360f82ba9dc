import { z } from 'zod';
import type { PauseSpan } from '../../contract/model.ts';
import {
  type Listening,
  MAX_PAUSE_MINUTES,
  MAX_SPANS,
  type ShownListening,
} from '../../domain/privacy/listening.ts';
import { WEEKDAYS } from '../../domain/privacy/pause-rules.ts';
import { timeOfDay } from '../../domain/wall-clock.ts';
import { optional, timeField } from '../fields.ts';
import { type Route, route } from '../route.ts';

const PATH = '/v1/users/listening';

const Day = z.enum(WEEKDAYS);
const time = z.string().regex(/^\d\d:\d\d$/);

const ListeningJson = z
  .object({
    paused: z.boolean(),
    cause: z.enum(['asked', 'schedule']).nullable().describe('Why it is paused; null: it is not'),
    until: z.iso
      .datetime()
      .nullable()
      .describe('When that changes; null: not within a week, or not by itself'),
    schedule: z.array(z.object({ days: z.array(Day), from: time, to: time })),
    time_zone: z.string().describe('IANA name, from the notification settings'),
  })
  .meta({ id: 'Listening' });

const Span = z.object({
  days: z
    .array(Day)
    .min(1)
    .max(WEEKDAYS.length)
    .transform(days => [...new Set(days)])
    .describe('Days on which it begins'),
  from: timeField(),
  to: timeField().describe('On the next day where it is not after `from`'),
});

const ScheduleBody = z
  .object({ schedule: z.array(Span).max(MAX_SPANS).describe('Weekly pauses; an empty list: none') })
  .meta({
    id: 'ListeningSchedule',
    override: { examples: [{ schedule: [{ days: ['mon', 'tue'], from: '22:00', to: '07:00' }] }] },
  });

const PauseBody = z
  .object({
    minutes: optional(z.int().min(1).max(MAX_PAUSE_MINUTES), null).describe(
      'Length of the pause; absent or null: until you resume',
    ),
  })
  .meta({ id: 'ListeningPause', override: { examples: [{ minutes: 60 }] } });

/** Times at which a user's wearables are not listened to. */
export function listeningRoutes(listening: Listening): Route[] {
  const common = {
    ...({ tag: 'Speech', credential: 'idToken' } as const),
    params: z.object({}),
    query: z.object({}),
    response: ListeningJson,
  };
  return [
    route({
      ...common,
      method: 'get',
      id: 'getListening',
      path: PATH,
      summary: 'Tell whether listening is paused, and its schedule',
      handle: async ({ principal: { user } }) => toJson(await listening.get(user.id)),
    }),
    route({
      ...common,
      method: 'put',
      id: 'putListeningSchedule',
      path: PATH,
      summary: 'Replace the weekly schedule of pauses',
      body: ScheduleBody,
      handle: async ({ principal: { user }, body }) =>
        toJson(await listening.schedule(user.id, body.schedule)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'pauseListening',
      path: `${PATH}/pause`,
      summary: 'Drop what live connections send, from now on; replaces a pause that goes on',
      body: PauseBody,
      handle: async ({ principal: { user }, body }) => toJson(await listening.pause(user.id, body.minutes)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'resumeListening',
      path: `${PATH}/resume`,
      summary: 'End a pause; one of the schedule is cut short',
      handle: async ({ principal: { user } }) => toJson(await listening.resume(user.id)),
    }),
  ];
}

function toJson({ state, rules }: ShownListening): z.input<typeof ListeningJson> {
  const { isPaused, cause, until } = state;
  return {
    paused: isPaused,
    cause: isPaused ? cause : null,
    until: until === null ? null : new Date(until).toISOString(),
    schedule: rules.schedule.map(spanJson),
    time_zone: rules.timeZone,
  };
}

function spanJson({ days, from, to }: PauseSpan) {
  return { days: WEEKDAYS.filter(day => days.includes(day)), from: timeOfDay(from), to: timeOfDay(to) };
}
