/**
 * Schemas of MQTT discovery, written from Home Assistant's documentation, with the fields that it allows for these entities
 * and no others. https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery and the pages of the entities:
 * sensor.mqtt, binary_sensor.mqtt, switch.mqtt, event.mqtt, notify.mqtt
 */
import { z } from 'zod';

/** A topic without wildcards. */
const topic = z
  .string()
  .min(1)
  .max(65_535)
  .regex(/^[^+#]+$/);
const template = z.string().regex(/\{\{.+\}\}/);
const qos = z.union([z.literal(0), z.literal(1), z.literal(2)]);

const entity = {
  unique_id: z.string().min(1),
  name: z.string().nullable().optional(),
  icon: z
    .string()
    .regex(/^mdi:[a-z-]+$/)
    .optional(),
  entity_category: z.enum(['config', 'diagnostic']).optional(),
  enabled_by_default: z.boolean().optional(),
  json_attributes_topic: topic.optional(),
  json_attributes_template: template.optional(),
};

const component = z.discriminatedUnion('platform', [
  z.strictObject({
    ...entity,
    platform: z.literal('sensor'),
    state_topic: topic,
    value_template: template.optional(),
    device_class: z.enum(['battery', 'signal_strength', 'timestamp', 'duration', 'enum']).optional(),
    state_class: z.enum(['measurement', 'measurement_angle', 'total', 'total_increasing']).optional(),
    unit_of_measurement: z.string().optional(),
    expire_after: z.int().positive().optional(),
    force_update: z.boolean().optional(),
  }),
  z.strictObject({
    ...entity,
    platform: z.literal('binary_sensor'),
    state_topic: topic,
    value_template: template.optional(),
    device_class: z.enum(['battery', 'connectivity', 'sound', 'running']).optional(),
    payload_on: z.string().optional(),
    payload_off: z.string().optional(),
    off_delay: z.int().positive().optional(),
  }),
  z.strictObject({
    ...entity,
    platform: z.literal('switch'),
    command_topic: topic,
    state_topic: topic.optional(),
    value_template: template.optional(),
    device_class: z.enum(['outlet', 'switch']).optional(),
    payload_on: z.string().optional(),
    payload_off: z.string().optional(),
    state_on: z.string().optional(),
    state_off: z.string().optional(),
    optimistic: z.boolean().optional(),
    retain: z.boolean().optional(),
  }),
  z.strictObject({
    ...entity,
    platform: z.literal('event'),
    state_topic: topic,
    event_types: z.array(z.string()).min(1),
    device_class: z.enum(['button', 'doorbell', 'motion']).optional(),
    value_template: template.optional(),
  }),
  z.strictObject({
    ...entity,
    platform: z.literal('notify'),
    command_topic: topic,
    command_template: template.optional(),
    retain: z.boolean().optional(),
  }),
]);

/** Payload of `<prefix>/device/<object id>/config`. */
export const DeviceDiscovery = z.strictObject({
  device: z.strictObject({
    identifiers: z.array(z.string()).min(1),
    name: z.string().optional(),
    manufacturer: z.string().optional(),
    model: z.string().optional(),
    sw_version: z.string().optional(),
    hw_version: z.string().optional(),
    serial_number: z.string().optional(),
    via_device: z.string().optional(),
  }),
  origin: z.strictObject({
    name: z.string(),
    sw_version: z.string().optional(),
    support_url: z.url().optional(),
  }),
  components: z.record(z.string(), component),
  availability_topic: topic.optional(),
  payload_available: z.string().optional(),
  payload_not_available: z.string().optional(),
  qos: qos.optional(),
  encoding: z.string().optional(),
});
