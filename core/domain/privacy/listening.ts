import type {
  Clock,
  ListeningException,
  ListeningRules,
  ListeningSettings,
  PauseSpan,
} from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus, Events } from '../../runtime/events.ts';
import type { Notifications } from '../notifications/notifications.ts';
import { toldTime } from '../wall-clock.ts';
import { type ListeningState, listeningAt } from './pause-rules.ts';
import { spanOf, spanWords } from './pause-words.ts';

export const MAX_SPANS = 20;
export const MAX_PAUSE_MINUTES = 30 * 24 * 60;
/** Number of past pauses that are remembered, because audio that was recorded in them may arrive later. */
const MAX_EXCEPTIONS = 100;
const MINUTE_MS = 60_000;

/** Present state of a user. */
export interface ShownListening {
  state: ListeningState;
  rules: ListeningRules;
  /** State for people: when it changes, and the weekly pauses. */
  words: { until: string | null; spans: string[] };
}

/** Follows one user. */
export interface ListeningWatch {
  at(instant: number): ListeningState;
  close(): void;
}

export type Listening = ReturnType<typeof createListening>;

/** Pauses of listening, on request and by schedule. The only writer. */
export function createListening({
  storage,
  clock,
  events,
  notifications,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  notifications: Pick<Notifications, 'settings'>;
}) {
  events.on('zone.changed', ({ userId }) => {
    void rulesOf(userId).then(
      rules => events.emit('listening.changed', { userId, rules }),
      () => {}, // the previous zone applies until the next connection
    );
  });

  async function rulesOf(userId: string): Promise<ListeningRules> {
    const [{ schedule, exceptions }, { timeZone }] = await Promise.all([
      settingsIn(storage, userId),
      notifications.settings(userId),
    ]);
    return { schedule, exceptions, timeZone };
  }

  function shown(rules: ListeningRules): ShownListening {
    const state = listeningAt(rules, clock.now());
    const until = state.until === null ? null : toldTime(state.until, rules.timeZone);
    return { rules, state, words: { until, spans: rules.schedule.map(spanWords) } };
  }

  async function change(
    userId: string,
    edit: (before: ListeningRules, now: number) => Partial<ListeningRules>,
  ): Promise<ShownListening> {
    const { timeZone } = await notifications.settings(userId);
    const rules = await storage.transaction('change listening', async tx => {
      const { schedule, exceptions } = await settingsIn(tx, userId);
      const before = { schedule, exceptions, timeZone };
      const after = { ...before, ...edit(before, clock.now()) };
      await tx.privacy.putListening({ userId, schedule: after.schedule, exceptions: after.exceptions });
      return after;
    });
    events.emit('listening.changed', { userId, rules });
    return shown(rules);
  }

  /** Replaces the schedule. `invalid_request` where it is too long. */
  async function schedule(userId: string, spans: readonly PauseSpan[]): Promise<ShownListening> {
    if (spans.length > MAX_SPANS)
      throw new AppError('invalid_request', `A schedule has at most ${MAX_SPANS} pauses`);
    return change(userId, ({ exceptions }, now) => ({
      schedule: [...spans],
      exceptions: endedAt(exceptions, now, ({ isPaused }) => !isPaused), // they belonged to the previous schedule
    }));
  }

  return {
    get: async (userId: string): Promise<ShownListening> => shown(await rulesOf(userId)),

    /** Pauses from now on; null: until `resume`. Replaces a running pause. `invalid_request` where it is too long. */
    async pause(userId: string, minutes: number | null): Promise<ShownListening> {
      if (minutes !== null && minutes > MAX_PAUSE_MINUTES)
        throw new AppError('invalid_request', `A pause has at most ${MAX_PAUSE_MINUTES} minutes`);
      return change(userId, ({ exceptions }, now) => ({
        exceptions: withException(exceptions, {
          from: now,
          until: minutes === null ? null : now + minutes * MINUTE_MS,
          isPaused: true,
        }),
      }));
    },

    /** Ends a pause. A scheduled one is cut short; the next one applies again. */
    resume: (userId: string): Promise<ShownListening> =>
      change(userId, (rules, now) => {
        const exceptions = endedAt(rules.exceptions, now);
        const scheduled = listeningAt({ ...rules, exceptions }, now);
        if (!scheduled.isPaused) return { exceptions };
        const listens = { from: now, until: scheduled.until, isPaused: false };
        return { exceptions: withException(exceptions, listens) };
      }),

    schedule,

    /** The same as people write it. */
    scheduleWords: async (userId: string, texts: readonly string[]): Promise<ShownListening> =>
      schedule(userId, texts.map(spanOf)),

    /** Follows the settings of a user until it is closed. */
    async watch(userId: string): Promise<ListeningWatch> {
      let rules: ListeningRules | null = null;
      let known: { from: number; state: ListeningState } | null = null;
      const onChanged = (changed: Events['listening.changed'][0]) => {
        if (changed.userId !== userId) return;
        rules = changed.rules;
        known = null;
      };
      events.on('listening.changed', onChanged);
      const close = () => events.off('listening.changed', onChanged);
      try {
        const stored = await rulesOf(userId);
        rules ??= stored; // otherwise a change in the meantime would be lost
      } catch (error) {
        close();
        throw error;
      }
      const current = () => rules as ListeningRules; // only read by others
      return {
        at(instant) {
          if (known && known.from <= instant && instant < known.state.knownUntil) return known.state;
          known = { from: instant, state: listeningAt(current(), instant) };
          return known.state;
        },
        close,
      };
    },
  };
}

async function settingsIn(tx: Pick<Stores, 'privacy'>, userId: string): Promise<ListeningSettings> {
  return (await tx.privacy.listening(userId)) ?? { userId, schedule: [], exceptions: [] };
}

/** Adds an exception, and ends earlier ones. */
function withException(before: readonly ListeningException[], added: ListeningException) {
  return [...endedAt(before, added.from), added].slice(-MAX_EXCEPTIONS);
}

/** Ends running exceptions, and drops those that had just begun. */
function endedAt(
  exceptions: readonly ListeningException[],
  now: number,
  isMeant: (exception: ListeningException) => boolean = () => true,
): ListeningException[] {
  return exceptions
    .map(each =>
      isMeant(each) && (each.until === null || each.until > now) ? { ...each, until: now } : each,
    )
    .filter(({ from, until }) => until === null || from < until);
}
