/** Builds Home Assistant's discovery messages. https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery */
import { createHash } from 'node:crypto';
import type { HomeState } from '../../../core/contract/plugin.ts';

export interface Prefixes {
  prefix: string;
  discoveryPrefix: string;
}

/** A retained message that describes a device or an entity. */
export interface Discovery {
  topic: string;
  config: Record<string, unknown>;
}

/**
 * Builds the discovery message for an event entity in Home Assistant; its attributes are the fields of the
 * notification. https://www.home-assistant.io/integrations/event.mqtt
 */
export function discoveryOf(topic: string, { prefix, discoveryPrefix }: Prefixes): Discovery {
  const stateTopic = `${prefix}/${topic}`;
  const id = `earshot_${digest(stateTopic)}`;
  return {
    topic: `${discoveryPrefix}/event/${id}/config`,
    config: {
      name: topic,
      unique_id: id,
      state_topic: stateTopic,
      event_types: ['notification'],
      availability_topic: statusTopicOf(prefix),
      icon: 'mdi:message-badge',
      device: { identifiers: [`earshot_${prefix}`], name: 'Earshot' },
      origin: { name: 'Earshot' },
    },
  };
}

/** Topics that start with `@` are reserved: users cannot choose them for notifications. */
export function statusTopicOf(prefix: string): string {
  return `${prefix}/@status`;
}

/** Returns the topics of one home. */
export function topicsOf(prefix: string, home: string) {
  const base = `${prefix}/@${home}`;
  return {
    account: `${base}/account`,
    conversation: `${base}/conversation`,
    wearable: (deviceId: string) => `${base}/wearable/${digest(deviceId)}`,
    button: (deviceId: string) => `${base}/wearable/${digest(deviceId)}/button`,
    requests: {
      notify: `${base}/notify`,
      task: `${base}/task`,
      done: `${base}/task/done`,
      listening: `${base}/listening`,
    },
  };
}

export const BUTTONS = ['single', 'double', 'triple', 'long', 'press', 'release'];

/** Describes the account as a device: its last notification, its states, and its commands. */
export function accountDiscovery(home: string, { account }: HomeState, prefixes: Prefixes): Discovery {
  const topics = topicsOf(prefixes.prefix, home);
  const entity = entitiesOf(accountId(home));
  return {
    topic: `${prefixes.discoveryPrefix}/device/${accountId(home)}/config`,
    config: {
      device: { identifiers: [accountId(home)], name: `Earshot ${account}`, manufacturer: 'Earshot' },
      ...sharedOf(prefixes.prefix),
      components: {
        last_conversation: entity('sensor', 'last_conversation', 'Last conversation', {
          state_topic: topics.account,
          value_template: '{{ value_json.last_conversation }}',
          json_attributes_topic: topics.account,
          json_attributes_template: '{{ value_json.conversation | tojson }}',
          icon: 'mdi:message-text',
        }),
        open_tasks: entity('sensor', 'open_tasks', 'Open tasks', {
          state_topic: topics.account,
          value_template: '{{ value_json.open_tasks }}',
          json_attributes_topic: topics.account,
          json_attributes_template:
            "{{ {'tasks': value_json.tasks, 'done_topic': value_json.done_topic} | tojson }}",
          unit_of_measurement: 'tasks',
          state_class: 'measurement',
          icon: 'mdi:format-list-checks',
        }),
        listening: entity('switch', 'listening', 'Listening', {
          state_topic: topics.account,
          value_template: "{{ 'ON' if value_json.listening else 'OFF' }}",
          command_topic: topics.requests.listening,
          icon: 'mdi:ear-hearing',
        }),
        conversation: entity('event', 'conversation', 'Conversation', {
          state_topic: topics.conversation,
          event_types: ['completed'],
          icon: 'mdi:forum',
        }),
        notify: entity('notify', 'notify', 'Notify', { command_topic: topics.requests.notify }),
        new_task: entity('notify', 'new_task', 'New task', { command_topic: topics.requests.task }),
      },
    },
  };
}

/** Describes a wearable as a device. */
export function wearableDiscovery(
  home: string,
  { device, name }: HomeState['devices'][number],
  prefixes: Prefixes,
): Discovery {
  const topics = topicsOf(prefixes.prefix, home);
  const id = `${accountId(home)}_${digest(device.id)}`;
  const entity = entitiesOf(id);
  const state = { state_topic: topics.wearable(device.id) };
  const isOn = (field: string) => ({
    ...state,
    value_template: `{{ 'ON' if value_json.${field} else 'OFF' }}`,
  });
  const ofRadio = { ...state, state_class: 'measurement', entity_category: 'diagnostic' };
  return {
    topic: `${prefixes.discoveryPrefix}/device/${id}/config`,
    config: {
      device: {
        identifiers: [id],
        name,
        ...(device.model === null ? {} : { model: device.model }),
        ...(device.firmware === null ? {} : { sw_version: device.firmware }),
        via_device: accountId(home),
      },
      ...sharedOf(prefixes.prefix),
      components: {
        battery: entity('sensor', 'battery', 'Battery', {
          ...ofRadio,
          device_class: 'battery',
          unit_of_measurement: '%',
          value_template: '{{ value_json.battery }}',
        }),
        signal: entity('sensor', 'signal', 'Signal', {
          ...ofRadio,
          device_class: 'signal_strength',
          unit_of_measurement: 'dBm',
          value_template: '{{ value_json.signal_dbm }}',
          enabled_by_default: false,
        }),
        connected: entity('binary_sensor', 'connected', 'Connected', {
          ...isOn('connected'),
          device_class: 'connectivity',
        }),
        talking: entity('binary_sensor', 'talking', 'Talking', { ...isOn('talking'), device_class: 'sound' }),
        button: entity('event', 'button', 'Button', {
          state_topic: topics.button(device.id),
          event_types: BUTTONS,
          device_class: 'button',
        }),
      },
    },
  };
}

function entitiesOf(deviceId: string) {
  return (platform: string, key: string, name: string, rest: Record<string, unknown>) => ({
    platform,
    unique_id: `${deviceId}_${key}`,
    name,
    ...rest,
  });
}

function sharedOf(prefix: string) {
  return { origin: { name: 'Earshot' }, availability_topic: statusTopicOf(prefix), qos: 1 };
}

function accountId(home: string): string {
  return `earshot_${home.replaceAll('-', '')}`;
}

/** Turns any id into one level of a topic. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
