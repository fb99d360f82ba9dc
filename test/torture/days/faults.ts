/** Injected faults, one at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';
import type { Room, Simulation } from './simulation.ts';

/** `kill`: without warning; `stop`: cleanly. */
export type CoreOrder = 'kill' | 'stop' | 'start';

export interface FaultContext {
  simulation: Simulation;
  dice: Dice;
  /** Duration of a long outage of core. */
  awayMs: number;
  /** Resolves when it is done. */
  core(order: CoreOrder): Promise<void>;
}

interface Fault {
  /** It affects only core. */
  ofCore?: true;
  run(context: FaultContext): Promise<void> | void;
}

const SUPERVISION_TIMEOUT = 0x08;
const CLOSED_BY_DEVICE = 0x13;

export const FAULTS: Readonly<Record<string, Fault>> = {
  'link lost': { run: ({ simulation }) => simulation.pendant.dropLink(SUPERVISION_TIMEOUT) },
  'link closed by the pendant': { run: ({ simulation }) => simulation.pendant.dropLink(CLOSED_BY_DEVICE) },
  'link lost without a report by the adapter': { run: ({ simulation }) => simulation.pendant.slipAway() },
  'pendant out of reach': {
    async run({ simulation: { pendant }, dice }) {
      pendant.vanish();
      await sleep(dice.between(5000, 120_000));
      pendant.comeBack();
    },
  },
  'wearer walks into the other room': {
    run({ simulation }) {
      simulation.move();
      simulation.pendant.dropLink();
    },
  },
  'adapter switched off and on': {
    run: ({ simulation, dice }) => offFor(simulation.receiver(), dice.between(500, 30_000)),
  },
  'adapter unplugged and plugged in': {
    async run({ simulation, dice }) {
      const { controller } = simulation.receiver();
      controller.setFault('ENODEV');
      controller.setUp(false);
      await sleep(dice.between(2000, 60_000));
      controller.setFault(undefined);
      controller.setUp(true);
    },
  },
  'both adapters switched off and on': {
    async run({ simulation, dice }) {
      await Promise.all(simulation.rooms.map(room => offFor(room, dice.between(500, 30_000))));
    },
  },
  'link lost while the adapter answers no command': {
    async run({ simulation, dice }) {
      const { controller } = simulation.receiver();
      controller.setSilent(true);
      simulation.pendant.dropLink();
      await sleep(dice.between(2000, 60_000));
      controller.setSilent(false);
    },
  },
  'Bluetooth library fails': {
    run: ({ simulation }) => simulation.receiver().bridge.radioFailed(new Error('as if')),
  },
  'bridge restarts': { run: ({ simulation }) => simulation.receiver().restart() },
  'core is killed': { ofCore: true, run: context => restart(context, 'kill') },
  'core restarts': { ofCore: true, run: context => restart(context, 'stop') },
  'core is unreachable for long': { ofCore: true, run: context => restart(context, 'kill', context.awayMs) },
};

async function offFor({ controller }: Room, ms: number): Promise<void> {
  controller.setUp(false);
  await sleep(ms);
  controller.setUp(true);
}

async function restart({ core }: FaultContext, how: 'kill' | 'stop', awayMs = 0): Promise<void> {
  await core(how);
  await sleep(awayMs);
  await core('start');
}
