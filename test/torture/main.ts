import { parseArgs } from 'node:util';
import { MOST_DEVICES } from './crowd.ts';
import { LONGEST_ERROR_MS } from './judge.ts';
import { type Report, torture } from './run.ts';

const HELP = `Devices talk to a server that is killed, over lines that are cut; everything that was said must be stored once.

  npm run torture                       some 10 minutes
  npm run torture -- --seed 7           the same moments as in another run
  npm run torture -- --kills 20 --cuts 40 --devices 4
  npm run torture -- --json             one object for programs

  --seed N      of the random moments; without it, another one every time
  --kills N     SIGKILLs of the server (100)
  --cuts N      faults of lines (200)
  --devices N   that talk at once, at most ${MOST_DEVICES} (8)
  --speed N     times real time (4)

Its exit status is 1 when anything was lost, doubled, or misplaced.
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      kills: { type: 'string', default: '100' },
      cuts: { type: 'string', default: '200' },
      devices: { type: 'string', default: '8' },
      speed: { type: 'string', default: '4' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const plan = {
    seed: whole('seed', values.seed ?? String(Date.now() % 1_000_000), 0, 2 ** 31),
    kills: whole('kills', values.kills, 0, 10_000),
    cuts: whole('cuts', values.cuts, 0, 10_000),
    devices: whole('devices', values.devices, 1, MOST_DEVICES),
    speed: whole('speed', values.speed, 1, 20),
    stallMs: 30_000,
  };
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  say(`seed ${plan.seed}`);
  const report = await onStage(say, stage => torture(stage, plan));
  process.stdout.write(values.json ? `${JSON.stringify({ plan, report }, null, 2)}\n` : render(report));
  return isGood(report) ? 0 : 1;
}

async function onStage<T>(
  say: (line: string) => void,
  play: (stage: { teardown(step: () => unknown): void; say(line: string): void }) => Promise<T>,
): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    return await play({ say, teardown: step => void undo.push(step) });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`--${name} takes a whole number from ${least} to ${most}, not ${text}`);
}

function isGood({ losses, doubles, disorder, debris, worstErrorMs }: Report): boolean {
  const faults = [losses, doubles, disorder, debris].flat();
  return faults.length === 0 && worstErrorMs <= LONGEST_ERROR_MS;
}

function render(report: Report): string {
  return Object.entries(report)
    .map(([name, value]) => {
      const shown = Array.isArray(value)
        ? `${value.length} ${value.slice(0, 20).join(', ')}`
        : JSON.stringify(value);
      return `${name.padEnd(14)}${shown}\n`;
    })
    .join('');
}

main().then(
  status => process.exit(status),
  (error: Error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  },
);
