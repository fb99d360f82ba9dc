import type { HomeDisplay, HomeRequest, HomeState, PluginContext } from '../../../core/contract/plugin.ts';
import { shorten } from '../../kit/message/text.ts';
import type { Broker } from './broker.ts';
import { accountDiscovery, BUTTONS, type Prefixes, topicsOf, wearableDiscovery } from './home-assistant.ts';

/** Home Assistant rejects longer states; it records attributes of up to 16 KiB. */
const MAX_STATE_CHARS = 255;
const MAX_OVERVIEW_CHARS = 1000;
const MAX_TASKS_SHOWN = 20;
const MAX_TASK_CHARS = 200;
/** Longest request in characters; core shortens tasks and messages itself. */
const MAX_REQUEST_CHARS = 4000;
/** Prefix of the keys in the plugin's state that hold the retained topics of each home. */
const STATE = 'home:';

interface Address {
  topic: string;
  entities?: boolean | undefined;
}

type Act = Parameters<HomeDisplay['begin']>[1];

/**
 * Shows accounts in Home Assistant. Every retained topic is written to the plugin's state first, so that it can be
 * cleared later.
 */
export function createHome(
  broker: Broker,
  prefixes: Prefixes,
  { state, log, error }: Pick<PluginContext<never>, 'state' | 'log' | 'error'>,
): HomeDisplay<Address> {
  /** Retained messages of each home: topic to payload. */
  const kept = new Map<string, Map<string, string>>();
  /** Homes whose command topics are subscribed. */
  const listening = new Set<string>();

  const requestTopics = (home: string) => Object.values(topicsOf(prefixes.prefix, home).requests);

  async function note(home: string, topics: readonly string[]): Promise<void> {
    const key = `${STATE}${home}`;
    const stored = await state.get(key);
    if (JSON.stringify(stored?.value) === JSON.stringify(topics)) return;
    if (!(await state.compareAndSet(key, stored?.version ?? 0, topics)))
      throw error('conflict', 'mqtt: another node shows this home at this moment');
  }

  async function clear(home: string, signal: AbortSignal): Promise<void> {
    const stored = await state.get(`${STATE}${home}`);
    for (const topic of topicsIn(stored?.value)) await broker.publish(topic, '', { retain: true }, signal);
    kept.delete(home);
    await state.delete(`${STATE}${home}`);
  }

  async function listen(home: string, act: Act, signal: AbortSignal): Promise<void> {
    const { requests } = topicsOf(prefixes.prefix, home);
    const requestOf: Record<string, (payload: string) => HomeRequest | null> = {
      [requests.notify]: text => ({ kind: 'notify', text }),
      [requests.task]: text => ({ kind: 'task', text }),
      [requests.done]: id => ({ kind: 'done', id }),
      [requests.listening]: state =>
        state === 'ON' || state === 'OFF' ? { kind: 'listen', isOn: state === 'ON' } : null,
    };
    const received = (topic: string, payload: string) => {
      const request = requestOf[topic]?.(payload.slice(0, MAX_REQUEST_CHARS).trim());
      if (request) void act(home, request);
    };
    await broker.subscribe(Object.keys(requestOf), received, signal);
    listening.add(home);
  }

  return {
    wants: ({ entities }) => entities === true && prefixes.discoveryPrefix !== '',

    async begin(homes, act, signal) {
      const known = (await state.list(STATE)).map(key => key.slice(STATE.length));
      for (const home of known.filter(each => !homes.includes(each))) await clear(home, signal);
      for (const home of [...listening].filter(each => !homes.includes(each))) {
        listening.delete(home);
        await broker.unsubscribe(requestTopics(home), signal);
      }
      for (const home of homes.filter(each => !listening.has(each))) await listen(home, act, signal);
    },

    async show(home, shown, signal) {
      const wanted = messagesOf(home, shown, prefixes);
      const stored = await state.get(`${STATE}${home}`);
      const gone = topicsIn(stored?.value).filter(topic => !wanted.has(topic));
      await note(home, [...gone, ...wanted.keys()]);
      const before = kept.get(home) ?? new Map<string, string>();
      kept.set(home, before);
      for (const [topic, payload] of [...gone.map(topic => [topic, ''] as const), ...wanted]) {
        if (before.get(topic) === payload) continue;
        await broker.publish(topic, payload, { retain: true }, signal);
        before.set(topic, payload);
      }
      for (const topic of gone) before.delete(topic);
      await note(home, [...wanted.keys()]);
    },

    async tell(home, event, signal) {
      const topics = topicsOf(prefixes.prefix, home);
      const [topic, payload] =
        event.kind === 'button'
          ? [topics.button(event.deviceId), { event_type: event.button ?? BUTTONS[4], at: iso(event.at) }]
          : [topics.conversation, { event_type: 'completed', ...conversationOf(event.conversation) }];
      log.debug({ home, kind: event.kind }, 'a home is told');
      await broker.publish(topic, JSON.stringify(payload), { retain: false }, signal);
    },
  };
}

/** Discovery comes first: Home Assistant ignores states of entities that it does not know yet. */
function messagesOf(home: string, shown: HomeState, prefixes: Prefixes): Map<string, string> {
  const topics = topicsOf(prefixes.prefix, home);
  const messages = new Map<string, string>();
  const put = (topic: string, value: unknown) => messages.set(topic, JSON.stringify(value));
  const account = accountDiscovery(home, shown, prefixes);
  put(account.topic, account.config);
  put(topics.account, { ...accountState(shown), done_topic: topics.requests.done });
  for (const each of shown.devices) {
    const { topic, config } = wearableDiscovery(home, each, prefixes);
    put(topic, config);
    put(topics.wearable(each.device.id), wearableState(each));
  }
  return messages;
}

function accountState({ lastConversation, openTasks, isListening }: HomeState) {
  return {
    listening: isListening,
    last_conversation: lastConversation && shorten(lastConversation.structured.title, MAX_STATE_CHARS),
    conversation: lastConversation ? conversationOf(lastConversation) : {},
    open_tasks: openTasks.length,
    tasks: openTasks.slice(0, MAX_TASKS_SHOWN).map(({ id, description, dueAt }) => ({
      id,
      description: shorten(description, MAX_TASK_CHARS),
      due_at: dueAt === null ? null : iso(dueAt),
    })),
  };
}

function conversationOf({
  id,
  structured,
  startedAt,
  finishedAt,
}: NonNullable<HomeState['lastConversation']>) {
  const { title, overview, category, emoji } = structured;
  return {
    id,
    title: shorten(title, MAX_STATE_CHARS),
    overview: shorten(overview, MAX_OVERVIEW_CHARS),
    category,
    emoji,
    started_at: startedAt === null ? null : iso(startedAt),
    finished_at: finishedAt === null ? null : iso(finishedAt),
  };
}

function wearableState({ device, isTalking }: HomeState['devices'][number]) {
  const isConnected = device.state !== 'disconnected';
  return {
    connected: isConnected,
    talking: isConnected && isTalking,
    muted: device.state === 'muted',
    battery: device.battery,
    signal_dbm: device.rssi,
    last_seen_at: iso(device.lastSeenAt),
  };
}

function topicsIn(stored: unknown): string[] {
  return Array.isArray(stored) ? stored.filter(topic => typeof topic === 'string') : [];
}

const iso = (at: number) => new Date(at).toISOString();
