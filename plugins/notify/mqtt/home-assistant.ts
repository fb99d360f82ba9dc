import { createHash } from 'node:crypto';

/**
 * Builds the discovery message for an event entity in Home Assistant; its attributes are the fields of the
 * notification. https://www.home-assistant.io/integrations/event.mqtt
 */
export function discoveryOf(
  topic: string,
  { prefix, discoveryPrefix }: { prefix: string; discoveryPrefix: string },
) {
  const stateTopic = `${prefix}/${topic}`;
  const id = `earshot_${createHash('sha256').update(stateTopic).digest('hex').slice(0, 16)}`;
  return {
    topic: `${discoveryPrefix}/event/${id}/config`,
    config: {
      name: topic,
      unique_id: id,
      state_topic: stateTopic,
      event_types: ['notification'],
      icon: 'mdi:message-badge',
      device: { identifiers: [`earshot_${prefix}`], name: 'Earshot' },
      origin: { name: 'Earshot' },
    },
  };
}
