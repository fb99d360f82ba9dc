import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { type Paired, readPaired, writePaired } from '../devices/paired.ts';
import { confirm } from '../devices/wearable.ts';
import type { Driver, Ref } from '../driver.ts';
import { matches } from '../driver-host/matching.ts';
import type { Link } from '../link.ts';
import type { Advertisement, Radio } from '../radio.ts';
import { audioCandidates, boardTemplate } from './board-template.ts';

/** The person at the terminal. */
export interface Person {
  say(text: string): void;
  /** Null: the input has ended. */
  ask(question: string): Promise<string | null>;
}

/** The accounts of a core on this machine. */
export interface Accounts {
  names: readonly string[];
  /** Returns a key with which audio of this account can be sent. */
  keyFor(owner: string, device: string): Promise<string>;
}

export interface PairOptions {
  radio: Radio;
  drivers: readonly Driver[];
  /** Directory of the bridge's data. */
  dir: string;
  /** Null: core runs elsewhere, or not at all. */
  accounts: Accounts | null;
  person: Person;
  clock: Clock;
  lookMs?: number;
}

interface Found {
  sighting: Advertisement;
  candidates: Driver[];
  /** Percent; null: not reported. */
  battery: number | null;
  /** Driver that confirmed it; null: none, with the reason. */
  driver: Driver | null;
  problem: string | null;
}

const LOOK_MS = 8000;
/** Maximum number of devices that are asked for their battery, because each takes a while. */
const MAX_ASKED = 8;
const MAX_SHOWN = 20;
const CONNECT_MS = 15_000;
const MAX_NAME_CHARS = 100;
const BATTERY: Ref = { service: '180f', characteristic: '2a19' };

/**
 * Lets a person choose a wearable in range, its name, and its owner. From then on the bridge serves only chosen ones.
 * @throws Error with what prevents it
 */
export async function pair(options: PairOptions): Promise<void> {
  const { person } = options;
  for (;;) {
    const { known, strangers } = await look(options);
    showKnown(person, known, strangers.length);
    const choice = await choose(person, known.length, strangers.length);
    if (choice === 'quit') return;
    if (choice === 'again') continue;
    if (choice === 'strangers') {
      if (await describeStranger(options, strangers)) return;
      continue;
    }
    const found = known[choice];
    if (!found) continue;
    if (found.driver) return keep(options, found);
    person.say(`It cannot be used: ${found.problem}.\n`);
  }
}

/** Lists earlier choices for people. */
export function renderPaired(all: readonly Paired[]): string {
  if (all.length === 0)
    return 'No wearable is paired: the bridge connects to every wearable that a driver knows. To choose: earshot bridge pair\n';
  return all
    .map(({ name, address, owner }) => `${name}  ${address}${owner === null ? '' : `  of ${owner}`}\n`)
    .join('');
}

/** @throws Error where none has this name */
export async function forgetPaired(dir: string, name: string): Promise<Paired> {
  const all = await readPaired(dir);
  const wanted = name.toLowerCase();
  const found = all.find(each => each.name.toLowerCase() === wanted || each.address === wanted);
  if (!found) throw new Error(`no paired wearable is called ${name}; earshot bridge pair --list shows them`);
  await writePaired(
    dir,
    all.filter(each => each !== found),
  );
  return found;
}

// ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

async function look({ radio, drivers, person, clock, lookMs = LOOK_MS }: PairOptions) {
  person.say(`Looking for wearables, ${Math.round(lookMs / 1000)} s …\n`);
  const sightings = new Map<string, Advertisement>();
  const looking = new AbortController();
  const timer = clock.sleep(lookMs, looking.signal).then(
    () => looking.abort(),
    () => {},
  );
  for await (const sighting of radio.scan(looking.signal))
    sightings.set(sighting.id, withName(sighting, sightings.get(sighting.id)));
  looking.abort();
  await timer;
  const { name, hint } = radio.state;
  if (sightings.size === 0 && name !== 'ready')
    throw new Error(hint || 'the Bluetooth adapter does not answer; to check it: earshot bridge doctor');
  const all = [...sightings.values()].sort((a, b) => b.rssi - a.rssi);
  const known: Found[] = [];
  for (const sighting of all) {
    const candidates = drivers.filter(({ match }) => matches(match, sighting));
    if (candidates.length > 0)
      known.push({ sighting, candidates, battery: null, driver: null, problem: 'it was not identified' });
  }
  if (known.length > 0) person.say('Identifying them …\n');
  for (const found of known.slice(0, MAX_ASKED)) Object.assign(found, await examine(radio, found));
  const strangers = all.filter(({ id, name }) => name !== '' && !known.some(each => each.sighting.id === id));
  return { known: known.slice(0, MAX_SHOWN), strangers: strangers.slice(0, MAX_SHOWN) };
}

/** Waits for a name, which is not in every advertisement. */
function withName(now: Advertisement, before: Advertisement | undefined): Advertisement {
  return now.name === '' && before ? { ...now, name: before.name } : now;
}

async function examine(
  radio: Radio,
  { sighting, candidates }: Found,
): Promise<Pick<Found, 'battery' | 'driver' | 'problem'>> {
  return connected(radio, sighting, async link => {
    const driver = await confirm({ candidates }, link);
    const { service, characteristic } = driver.stream?.battery ?? BATTERY;
    const bytes = (await link.properties(service, characteristic, { optional: true })).includes('read')
      ? await link.read(service, characteristic, { optional: true }).catch(() => null)
      : null;
    return { driver, battery: bytes?.[driver.stream?.battery?.at ?? 0] ?? null, problem: null };
  }).catch(error => ({ driver: null, battery: null, problem: messageOf(error) }));
}

async function connected<T>(
  radio: Radio,
  { id }: Advertisement,
  work: (link: Link) => Promise<T>,
): Promise<T> {
  const link = await radio.connect(id, { signal: AbortSignal.timeout(CONNECT_MS) });
  try {
    return await work(link);
  } finally {
    await link.disconnect();
  }
}

// ── choosing ────────────────────────────────────────────────────────────────────────────────────────────────────────

function showKnown(person: Person, known: readonly Found[], strangers: number): void {
  if (known.length === 0)
    person.say(
      '\nNo wearable was found. Is it switched on, near, and not connected to a phone? A wearable that is connected to a phone cannot be found.\n',
    );
  else person.say('\n');
  const rows = known.map(({ sighting, driver, candidates, battery, problem }, index) => [
    `${index + 1}.`,
    sighting.name || sighting.address,
    barsOf(sighting.rssi),
    battery === null ? '' : `${battery} %`,
    driver?.title ?? candidates[0]?.title ?? '',
    driver ? '' : `(${problem})`,
  ]);
  person.say(inColumns(rows));
  if (strangers > 0) person.say(`Other devices with a name: ${strangers}.\n`);
}

type Choice = number | 'again' | 'strangers' | 'quit';

async function choose(person: Person, count: number, strangers: number): Promise<Choice> {
  const ways = [
    ...(count === 0 ? [] : [count === 1 ? '1' : `1 to ${count}`]),
    'a: look again',
    ...(strangers > 0 ? ['o: other devices'] : []),
    'q: quit',
  ];
  for (;;) {
    const answer = (await person.ask(`\nWhich one? (${ways.join(', ')}) `))?.trim().toLowerCase();
    if (answer === undefined || answer === 'q') return 'quit';
    if (answer === 'a') return 'again';
    if (answer === 'o' && strangers > 0) return 'strangers';
    if (answer === '' && count === 1) return 0;
    const number = Number(answer);
    if (Number.isInteger(number) && number >= 1 && number <= count) return number - 1;
    person.say('That is not one of the choices.\n');
  }
}

async function keep({ dir, person, accounts }: PairOptions, { sighting }: Found): Promise<void> {
  const usual = sighting.name || sighting.address;
  const given = (await person.ask(`What is it called? [${usual}] `))?.trim() ?? '';
  const name = (given || usual).replaceAll(/\p{Cc}/gu, '').slice(0, MAX_NAME_CHARS);
  const owner = accounts && accounts.names.length > 1 ? await chooseOwner(person, accounts.names) : null;
  const key = owner === null ? null : ((await accounts?.keyFor(owner, name)) ?? null);
  const others = (await readPaired(dir)).filter(({ address }) => address !== sighting.address);
  await writePaired(dir, [...others, { address: sighting.address, name, owner, key }]);
  const whose = owner === null ? '' : ` of ${owner}`;
  person.say(
    `\n${name}${whose} is paired. The bridge connects only to paired wearables; start it: earshot bridge\n`,
  );
}

/** Null: the bridge's own account. */
async function chooseOwner(person: Person, names: readonly string[]): Promise<string | null> {
  for (;;) {
    const answer = (await person.ask(`Whose is it? (${names.join(', ')}) [${names[0]}] `))?.trim();
    if (answer === undefined || answer === '') return names[0] ?? null;
    if (names.includes(answer)) return answer;
    person.say('There is no such account.\n');
  }
}

// ── unknown devices ─────────────────────────────────────────────────────────────────────────────────────────────────

/** True: a description was written. */
async function describeStranger(
  { radio, person }: PairOptions,
  strangers: readonly Advertisement[],
): Promise<boolean> {
  person.say('\n');
  person.say(
    inColumns(
      strangers.map(({ name, address, rssi }, index) => [`${index + 1}.`, name, barsOf(rssi), address]),
    ),
  );
  const answer = await person.ask('\nWhich one do you want to describe? (number, or nothing) ');
  const stranger = strangers[Number(answer) - 1];
  if (!stranger) return false;
  try {
    const offers = await connected(radio, stranger, link => link.offers());
    person.say(`\n${stranger.name} offers:\n`);
    person.say(
      inColumns(
        offers.map(({ service, characteristic, properties }) => [
          service,
          characteristic,
          properties.join(', '),
        ]),
      ),
    );
    const file = resolve(
      `${stranger.name.replaceAll(/[^\p{L}\p{N}]+/gu, '-').toLowerCase() || 'board'}.yaml`,
    );
    const text = boardTemplate(stranger.name, offers);
    await writeFile(file, text, { flag: 'wx' });
    person.say(
      `\n${audioCandidates(offers).length === 1 ? 'One characteristic notifies' : 'Several characteristics notify'}: it may be the audio. A first driver is in\n  ${file}\nCorrect its format, check it with earshot device check, and list it in bridge.drivers.\n`,
    );
    return true;
  } catch (error) {
    person.say(`${messageOf(error)}\n`);
    return false;
  }
}

// ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Minimum dBm for each number of bars. */
const BARS = [-60, -72, -84] as const;

function barsOf(rssi: number): string {
  const missing = BARS.filter(least => rssi < least).length;
  return `${'▂▄▆█'.slice(0, 4 - missing)}${'·'.repeat(missing)} ${rssi} dBm`;
}

function inColumns(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => (row[column] ?? '').length)));
  return rows
    .map(row => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .map(line => `${line}\n`)
    .join('');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
