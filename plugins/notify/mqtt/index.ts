import type { NotificationChannel, Plugin } from '../../../core/contract/plugin.ts';
import { linesOf } from '../../kit/message/text.ts';
import { wireOf } from '../../kit/message/wire.ts';
import { connect } from './broker.ts';
import { createHome } from './home.ts';
import { discoveryOf, statusTopicOf } from './home-assistant.ts';

/** Time that Home Assistant needs to subscribe to a newly announced topic; it misses earlier messages. */
const DISCOVERY_MS = 1000;
/** Topics remembered as announced. Beyond that number they are announced again. */
const MAX_TOLD = 10_000;

interface Options {
  url: string;
  username?: string | undefined;
  password?: string | undefined;
  prefix: string;
  discoveryPrefix: string;
}

interface Address {
  topic: string;
  entities?: boolean | undefined;
}

export default {
  name: 'mqtt',
  api: 1,
  title: 'An MQTT broker of yours, and by it Home Assistant, which finds each topic by itself',
  options: z =>
    z.strictObject({
      url: z
        .url({ protocol: /^(mqtts?|wss?)$/, error: 'must be an address such as mqtt://192.168.1.5:1883' })
        .refine(url => /^[^@?#]*$/.test(url), 'must be an address alone, without name, password, ? or #')
        .describe('Where the broker answers: mqtt://, or mqtts:// for an encrypted connection'),
      username: z.string().min(1).optional().describe('Account there, if the server requires one'),
      password: z.string().min(1).meta({ secret: true }).optional().describe('Password of that account'),
      prefix: z
        .string()
        .regex(/^[\w-]{1,64}(\/[\w-]{1,64}){0,3}$/, 'must be letters, digits, _ or -, with / between levels')
        .default('earshot')
        .describe('Topic above the topics of all users'),
      discoveryPrefix: z
        .string()
        .regex(/^[\w-]{0,64}$/, 'must be letters, digits, _ or -')
        .default('homeassistant')
        .describe("Home Assistant's discovery prefix; empty: no discovery"),
    }),

  async setup(context) {
    const { options, clock } = context;
    const broker = await connect(options, statusTopicOf(options.prefix), context);
    const told = new Set<string>();

    async function tellOf(topic: string, signal: AbortSignal): Promise<void> {
      if (options.discoveryPrefix === '' || told.has(topic)) return;
      const { topic: where, config } = discoveryOf(topic, options);
      await broker.publish(where, JSON.stringify(config), { retain: true }, signal);
      await clock.sleep(DISCOVERY_MS, signal);
      if (told.size >= MAX_TOLD) told.clear();
      told.add(topic);
    }

    const notify: NotificationChannel<Address> = {
      address: zod =>
        zod.strictObject({
          topic: zod
            .string()
            .regex(
              /^[\w-]{1,64}(\/[\w-]{1,64}){0,3}$/,
              'must be letters, digits, _ or -, with / between levels',
            )
            .describe(`Topic below ${options.prefix}/; whoever may read the broker can read it`),
          entities: zod
            .boolean()
            .optional()
            .describe(
              'Home Assistant also shows your wearables, tasks and the last conversation, and may add and complete tasks, and pause listening',
            ),
        }),
      home: createHome(broker, options, context),
      async send({ topic }, message, signal) {
        signal.throwIfAborted();
        await tellOf(topic, signal);
        const event = { event_type: 'notification', ...wireOf(message), ...linesOf(message) };
        await broker.publish(`${options.prefix}/${topic}`, JSON.stringify(event), { retain: false }, signal);
      },
    };
    return { notify };
  },
} satisfies Plugin<Options>;
