import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MOST_DEVICES } from './crowd.ts';
import { isAccounted, isFlat, playDays, reportOf } from './days.ts';
import { areDelivered, type DeliveriesPlan, deliveriesTorture } from './deliveries.ts';
import { isGood, judge } from './judge.ts';
import { isUnharmed, LIBRARIES, type RadioPlan, radioTorture } from './radio.ts';
import { type Plan, type Stage, torture } from './run.ts';
import { isUnderstood, speechTorture } from './speech.ts';
import { areUnharmed, MOST_MB, type UploadsPlan, uploadsTorture } from './uploads.ts';

const HELP = `Devices talk to a server that is killed, over lines that are cut; everything that was said must be stored once.

  npm run torture                       some 10 minutes
  npm run torture -- --seed 7           the same moments as in another run
  npm run torture -- --kills 20 --cuts 40 --devices 4
  npm run torture -- speech             sentences, and pocketsphinx: words wrong with and without faults; 2 minutes
  npm run torture -- deliveries         10,000 events, and 50 kills while they are delivered; 5 minutes
  npm run torture -- uploads            500 photos and 100 MB of voice messages of two accounts, in pieces by chance; 5 minutes
  npm run torture -- radio              a million packets that no radio should send, to both Bluetooth libraries; 5 minutes
  npm run torture -- days               24 hours of two bridges and a pendant in fast time: what became of each second; an hour
  npm run torture -- tests              the tests that npm test runs in short, at full length; an hour
  npm run torture -- --json             one object for programs

  --seed N      of the random moments; without it, another one every time
  --kills N     SIGKILLs of the server (100; 6 with speech, 50 with deliveries, 3 with uploads)
  --cuts N      faults of lines (200; 12)
  --devices N   that talk at once, at most ${MOST_DEVICES} (10; 3)
  --speed N     times real time (4; 1)
  --events N    to deliver (10000)
  --photos N    to upload (500)
  --megabytes N of voice messages to upload (100)
  --packets N   of the radio, for each library (1000000)
  --hours N     to live (24)

Its exit status is 1 when anything was lost, doubled (of deliveries: more often than one is cut off), or misplaced; with speech when 5 points more of the words are
wrong than without the faults; with uploads also when an account sees what is another's, when files are left, or when
the server takes more than ${MOST_MB} MB.
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      kills: { type: 'string' },
      cuts: { type: 'string' },
      devices: { type: 'string' },
      speed: { type: 'string' },
      events: { type: 'string', default: '10000' },
      photos: { type: 'string', default: '500' },
      megabytes: { type: 'string', default: '100' },
      packets: { type: 'string', default: '1000000' },
      hours: { type: 'string', default: '24' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [what = 'tones', ...more] = positionals;
  if (what === 'tests') return tests();
  const usual = more.length === 0 ? USUAL[what] : undefined;
  if (usual === undefined)
    throw new Error(`there is no torture "${positionals.join(' ')}"; --help lists them`);
  const plan = {
    seed: whole('seed', values.seed ?? Date.now() % 1_000_000, 0, 2 ** 31),
    kills: whole('kills', values.kills ?? usual.kills, 0, 10_000),
    cuts: whole('cuts', values.cuts ?? usual.cuts, 0, 10_000),
    devices: whole('devices', values.devices ?? usual.devices, 1, MOST_DEVICES),
    speed: whole('speed', values.speed ?? usual.speed, 1, 20),
    stallMs: usual.stallMs,
  };
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  say(`seed ${plan.seed}`);
  const plays: Readonly<Record<string, (stage: Stage) => Promise<Outcome>>> = {
    tones: stage => numbers(stage, plan),
    speech: stage => words(stage, plan),
    deliveries: stage => events(stage, { ...plan, events: whole('events', values.events, 1, 1_000_000) }),
    uploads: stage =>
      uploads(stage, {
        ...plan,
        photos: whole('photos', values.photos, 2, 10_000),
        megabytes: whole('megabytes', values.megabytes, 1, 10_000),
      }),
    radio: stage =>
      radio(stage, { seed: plan.seed, packets: whole('packets', values.packets, 1, 100_000_000) }),
    days: stage => days(stage, plan.seed, whole('hours', values.hours, 1, 240)),
  };
  const play = plays[what];
  if (play === undefined) throw new Error(`${what} cannot be played`);
  const { report, good } = await onStage(say, play);
  process.stdout.write(values.json ? `${JSON.stringify({ plan, report }, null, 2)}\n` : render(report));
  return good ? 0 : 1;
}

interface Outcome {
  report: object;
  good: boolean;
}

const TONES = { kills: 100, cuts: 200, devices: 10, speed: 4, stallMs: 30_000 };
const USUAL: Readonly<Record<string, typeof TONES>> = {
  tones: TONES,
  speech: { kills: 6, cuts: 12, devices: 3, speed: 1, stallMs: 8000 },
  deliveries: { ...TONES, kills: 50 },
  uploads: { ...TONES, kills: 3 },
  radio: TONES,
  days: TONES,
};

async function numbers(stage: Stage, plan: Plan): Promise<Outcome> {
  const { counted, stored, spoken } = await torture(stage, plan);
  const verdict = judge(stored, spoken);
  return { report: { ...counted, ...verdict }, good: isGood(verdict) };
}

async function events(stage: Stage, plan: DeliveriesPlan): Promise<Outcome> {
  const report = await deliveriesTorture(stage, plan);
  return { report, good: areDelivered(report) };
}

async function words(stage: Stage, plan: Plan): Promise<Outcome> {
  const report = await speechTorture(stage, plan);
  return { report, good: isUnderstood(report) };
}

async function uploads(stage: Stage, plan: UploadsPlan): Promise<Outcome> {
  const report = await uploadsTorture(stage, plan);
  return { report, good: areUnharmed(report) };
}

async function days(stage: Stage, seed: number, hours: number): Promise<Outcome> {
  const report = reportOf(
    await playDays(stage, { seed, hours, everyMs: 300_000, awayMs: 600_000, speed: 100 }),
  );
  return { report, good: isAccounted(report) && isFlat(report) };
}

async function radio(stage: Stage, plan: RadioPlan): Promise<Outcome> {
  process.setMaxListeners(1000); // every instance of the library listens for the process's exit
  const reports = [];
  for (const library of LIBRARIES) reports.push({ library, ...(await radioTorture(stage, library, plan)) });
  return {
    report: Object.fromEntries(reports.map(one => [one.library, one])),
    good: reports.every(isUnharmed),
  };
}

/** Runs one file after the other, because these tests check behaviour and not speed. */
async function tests(): Promise<number> {
  const cwd = join(import.meta.dirname, '../..');
  const long: string[] = [];
  for await (const file of glob('test/**/*.test.ts', { cwd }))
    if ((await readFile(join(cwd, file), 'utf8')).includes('helpers/thorough.ts')) long.push(file);
  const args = [join(cwd, 'node_modules/ava/entrypoints/cli.js'), '--serial', '--timeout', '30m', ...long];
  const env = { ...process.env, EARSHOT_TEST_THOROUGH: '1' };
  const [status] = await once(spawn(process.execPath, args, { cwd, env, stdio: 'inherit' }), 'exit');
  return status ?? 1;
}

async function onStage<T>(say: (line: string) => void, play: (stage: Stage) => Promise<T>): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    return await play({ say, teardown: step => void undo.push(step) });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

function whole(name: string, text: string | number, least: number, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`--${name} takes a whole number from ${least} to ${most}, not ${text}`);
}

function render(report: object): string {
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
