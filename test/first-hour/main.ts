/**
 * Plays the first hour of newcomers, each in an empty folder with the packed packages, and prints all output:
 *
 * npm run first-hour [tarball of the server]
 *
 * Read it line by line. It fails if a command has an unexpected exit code, if a stack trace is shown, or if a
 * hint names a command that does not exist.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/free-port.ts';
import { execute, openWorkplace, ROOT, type Workplace } from '../helpers/packed.ts';
import { confusing } from './confusing.ts';

type Run = (...args: string[]) => Promise<{ stdout: string; stderr: string }>;

interface Newcomer {
  workplace: Workplace;
  /** Runs an Earshot command line, and shows it. */
  earshot: Run;
  /** The same, if it must fail. */
  refused: Run;
}

const complaints: string[] = [];
const show = (text: string) => void process.stdout.write(`${text}\n`);

async function main(tarball: string | undefined): Promise<number> {
  const workplace = await openWorkplace();
  try {
    await install(workplace, tarball ?? (await pack(workplace)));
    const server = shown(
      workplace.start(bin(workplace), ['serve'], { EARSHOT_PORT: '0', EARSHOT_STT: '[]' }),
    );
    const newcomer = newcomerIn(workplace);
    try {
      await addressOf(workplace);
      for (const hour of [selfHoster, hobbyist, pluginAuthor, appDeveloper, headOfFamily]) {
        show(`\n══ ${hour.name} ══`);
        await hour(newcomer);
      }
    } finally {
      await end('the server', server);
    }
  } finally {
    await workplace.remove();
  }
  show(
    complaints.length === 0 ? '\nNothing confuses.' : `\n${complaints.map(each => `✗ ${each}`).join('\n')}`,
  );
  return complaints.length === 0 ? 0 : 1;
}

async function pack(workplace: Workplace): Promise<string> {
  const into = join(workplace.dir, '..');
  const { code, stdout, stderr } = await execute('npm', ['pack', '--silent', '--pack-destination', into], {
    cwd: ROOT,
  });
  if (code !== 0) throw new Error(stderr);
  return join(into, stdout.trim());
}

async function packBridge(workplace: Workplace): Promise<string> {
  const into = join(workplace.dir, '..');
  const args = ['config/pack.mjs', 'bridge', '--into', into];
  const { code, stderr } = await execute(process.execPath, args, { cwd: ROOT });
  if (code !== 0) throw new Error(stderr);
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  return join(into, `earshot-bridge-${version}.tgz`);
}

async function install({ run }: Workplace, tarball: string): Promise<void> {
  const { code, stdout, stderr } = await run('npm', [
    'install',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel',
    'error',
    resolve(tarball),
  ]);
  show(`$ npm install --loglevel error ${basename(tarball)}\n${stdout}${stderr}`);
  if (code !== 0) throw new Error('the package cannot be installed');
}

const bin = ({ dir }: Workplace) => join(dir, 'node_modules/.bin/earshot');

/** Prints the output of a process. */
function shown(process_: ChildProcess): ChildProcess {
  for (const stream of [process_.stdout, process_.stderr])
    stream?.on('data', chunk => process.stdout.write(chunk));
  return process_;
}

async function end(name: string, process_: ChildProcess): Promise<void> {
  const ended = once(process_, 'exit');
  process_.kill('SIGTERM');
  const [code] = await ended;
  if (code !== 0) complaints.push(`${name} ended with ${code}`);
}

/** Resolves to the URL of the started server, once it answers. */
async function addressOf(workplace: Workplace, ...options: string[]): Promise<string> {
  const status = async () => (await workplace.run(bin(workplace), [...options, 'status', '--json'])).stdout;
  return until('the server answers', async () => /"url":"([^"]+)"/.exec(await status())?.[1] ?? null);
}

/** Polls `look` five times a second until it finds something, for a minute. */
async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const late = Date.now() + 60_000;
  while (Date.now() < late) {
    const found = await look();
    if (found !== null) return found;
    await sleep(200);
  }
  throw new Error(`after a minute it is not so that ${what}`);
}

function newcomerIn(workplace: Workplace): Newcomer {
  const ask =
    (isRefused: boolean) =>
    async (...args: string[]) => {
      const line = `npx earshot ${args.join(' ')}`;
      const { code, stdout, stderr } = await workplace.run(bin(workplace), args, {
        EARSHOT_STT: '[]',
        EARSHOT_OFFLINE: '1',
      });
      show(`\n$ ${line}\n${stdout}${stderr}`.trimEnd());
      if ((code !== 0) !== isRefused) complaints.push(`${line}: exit status ${code}`);
      complaints.push(...(await confusing(`${stdout}${stderr}`, helpOf)).map(each => `${line}: ${each}`));
      return { stdout, stderr };
    };
  const helpOf = async (words: string[]) =>
    (await workplace.run(bin(workplace), [...words, '--help'])).stdout;
  return { workplace, earshot: ask(false), refused: ask(true) };
}

async function selfHoster({ earshot, refused }: Newcomer): Promise<void> {
  await earshot('--help');
  await earshot('status');
  await earshot('setup');
  await earshot('doctor');
  await earshot('models', 'list');
  await refused('models', 'pull', 'whisper-bas');
  await refused('serve');
}

async function hobbyist({ earshot, refused, workplace }: Newcomer): Promise<void> {
  await earshot('bridge', '--help');
  await refused('stream', 'gone.wav');
  await writeFile(join(workplace.dir, 'talk.mp3'), 'ID3 this is no sound');
  await refused('stream', 'talk.mp3');
  // This server has no recogniser.
  await refused('stream', join(ROOT, 'bridge/simulator/recording.wav'), '--speed', '20', '--finish');
  await ownDrivers({ earshot, refused, workplace });
  await fromThePendant(workplace);
}

/** An incomplete third-party driver is rejected with the name of the missing part. */
async function ownDrivers({ refused, workplace }: Newcomer): Promise<void> {
  const { dir } = workplace;
  const good = await driverOfTheManual();
  const drivers = {
    'gone.mjs': null,
    'empty.mjs': 'export const name = "garage-pendant";',
    'typo.mjs': 'export default {',
    'no-codec.mjs': good.replace(/^ {4}format: .*$/m, ''),
    'no-decoder.mjs': good.replace(/^ {2}createDecoder,$/m, ''),
    'odd.mjs': good
      .replace("name: 'garage-pendant'", "name: 'Garage Pendant'")
      .replace('minMtu: 100', 'minMtu: -1'),
  };
  for (const [file, source] of Object.entries(drivers)) {
    if (source !== null) await writeFile(join(dir, file), source);
    await writeFile(join(dir, 'driver.yaml'), `bridge:\n  drivers: [./${file}]\n`);
    await refused('--config', 'driver.yaml', 'bridge', '--simulate');
  } // Its decoder's result is checked once a packet has arrived.
  await writeFile(join(dir, 'no-frames.mjs'), good.replaceAll('return { frames: [', 'return { frame: ['));
  await writeFile(join(dir, 'driver.yaml'), 'bridge:\n  drivers: [./no-frames.mjs]\n');
  show('\n$ npx earshot --config driver.yaml bridge --simulate');
  const bridge = shown(workplace.start(bin(workplace), ['--config', 'driver.yaml', 'bridge', '--simulate']));
  let said = '';
  bridge.stderr?.on('data', chunk => {
    said += chunk;
  });
  const named = until('the bridge names the field', async () => /frames: is missing/.exec(said));
  await named.finally(() => end('the bridge with a faulty driver', bridge));
}

/** The complete driver that bridge/README.md shows. */
async function driverOfTheManual(): Promise<string> {
  const manual = await readFile(join(ROOT, 'bridge/README.md'), 'utf8');
  return /```js\n(const SERVICE[\s\S]*?)```/.exec(manual)?.[1] ?? '';
}

/**
 * The whole path: a server with a recogniser, a key, the bridge with a third-party driver, and then the
 * bridge alone; each simulated pendant's audio becomes a conversation.
 */
async function fromThePendant(workplace: Workplace): Promise<void> {
  const { dir } = workplace;
  await writeFile(join(dir, 'hears.mjs'), OWN_RECOGNISER);
  await writeFile(join(dir, 'garage-pendant.mjs'), await driverOfTheManual());
  await writeFile(join(dir, 'garage.yaml'), `port: ${await freePort()}\n${GARAGE}`);
  const garage = ['--config', 'garage.yaml'];
  show(`\n$ npx earshot ${garage.join(' ')} serve`);
  const server = shown(workplace.start(bin(workplace), [...garage, 'serve']));
  try {
    const url = await addressOf(workplace, ...garage);
    const key = async (scope: string) =>
      (await workplace.run(bin(workplace), [...garage, 'key', 'owner', '--scopes', scope])).stdout.trim();
    const reader = await key('conversations:read');
    const conversations = async () => {
      const response = await fetch(`${url}/v1/dev/user/conversations?include_transcript=true`, {
        headers: { Authorization: `Bearer ${reader}` },
      });
      return (await response.json()) as { transcript_segments: unknown[] }[];
    };
    const heard = (count: number) =>
      until(`there are ${count} conversations`, async () => {
        const found = await conversations();
        return found.length === count && found.every(each => each.transcript_segments.length > 0)
          ? found
          : null;
      });

    show(`\n$ npx earshot ${garage.join(' ')} bridge --simulate`);
    const bridge = shown(workplace.start(bin(workplace), [...garage, 'bridge', '--simulate']));
    await heard(1).finally(() => end('the bridge', bridge));

    await writeFile(join(dir, 'kitchen.key'), await key('listen'));
    await bridgeAlone(workplace, url.replace(/^http/, 'ws'), () => heard(2));
    show(
      `\n$ curl …/v1/dev/user/conversations?include_transcript=true\n${JSON.stringify(await conversations(), null, 2)}`,
    );
  } finally {
    await end('the server of the garage', server);
  }
}

async function bridgeAlone({ dir }: Workplace, core: string, heard: () => Promise<unknown>) {
  const small = await openWorkplace();
  try {
    await install(small, await packBridge(small));
    const args = ['--core', core, '--key-file', join(dir, 'kitchen.key'), '--simulate'];
    show(`\n$ npx earshot-bridge ${args.join(' ')}`);
    // Under our Node: the machine's may be too old.
    const command = join(small.dir, 'node_modules/.bin/earshot-bridge');
    const soon = { EARSHOT_BRIDGE__CONVERSATION_TIMEOUT_S: '2' };
    const bridge = shown(small.start(process.execPath, [command, ...args], soon));
    await heard().finally(() => end('the bridge alone', bridge));
  } finally {
    await small.remove();
  }
}

const GARAGE = `dataDir: ./garage
stt: [hears]
bridge:
  drivers: [./garage-pendant.mjs]
  conversationTimeoutS: 2
plugins:
  hears:
    use: ./hears.mjs
`;

/** A correct plugin: a recogniser that records how long somebody spoke. */
const OWN_RECOGNISER = `async function* transcribe(utterance) {
  let samples = 0;
  for await (const chunk of utterance.pcm()) samples += chunk.length;
  const { startSample } = utterance;
  const text = 'Somebody spoke for ' + Math.round(samples / 16000) + ' seconds.';
  yield { text, startSample, endSample: startSample + samples, final: true };
}

export default {
  name: 'hears',
  api: 1,
  title: 'Writes down how long it heard somebody',
  setup: () => ({
    stt: {
      sampleRate: 16000,
      languages: 'any',
      model: null,
      open: async () => ({ transcribe, failed: new Promise(() => {}), close: async () => {} }),
    },
  }),
};
`;

async function pluginAuthor({ earshot, refused, workplace }: Newcomer): Promise<void> {
  await refused('plugin', 'check', './gone.mjs');
  await writeFile(join(workplace.dir, 'broken.mjs'), 'export default { name: "broken", api: 2 };');
  await refused('plugin', 'check', './broken.mjs');
  await earshot('plugin', 'check', 'log');
  await writeFile(join(workplace.dir, 'notes.mjs'), OWN_PLUGIN);
  await earshot('plugin', 'check', './notes.mjs');
}

/** A correct plugin: a webhook type that sends only the title. */
const OWN_PLUGIN = `export default {
  name: 'notes',
  api: 1,
  title: 'Webhook notes: the title of a conversation that is over',
  setup: () => ({
    webhook: {
      type: 'notes',
      trigger: 'conversation',
      render(event) {
        if (event.conversation.discarded) return null;
        const { title } = event.conversation.structured;
        const body = JSON.stringify({ id: event.conversation.id, title });
        return { query: { uid: event.userId }, contentType: 'application/json', body };
      },
    },
  }),
};
`;

async function appDeveloper({ earshot, refused }: Newcomer): Promise<void> {
  await earshot(
    'app',
    'create',
    'owner',
    'Gardener',
    '--triggers',
    'memory_creation',
    '--webhook-url',
    'https://example.org/hook',
  );
  await refused(
    'app',
    'create',
    'owner',
    'Inside',
    '--triggers',
    'memory_creation',
    '--webhook-url',
    'http://nas.example/hook',
  );
  await earshot('app', 'install', 'owner', 'Gardener');
  await earshot('app', 'list');
  await earshot('app', 'show', 'Gardener');
  await refused('key', 'owner', '--scopes', 'conversation:read');
  await earshot('hook', 'list', 'owner');
  await refused('hook', 'set', 'owner', 'memories', 'https://example.org/hook');
  await earshot('hook', 'set', 'owner', 'memory_created', 'https://example.org/hook');
  await earshot('hook', 'list', 'owner');
  await earshot('hook', 'disable', 'owner', 'memory_created');
}

async function headOfFamily({ earshot, refused }: Newcomer): Promise<void> {
  await earshot('user', 'add', 'ada');
  await earshot('user', 'list');
  await refused('token', 'adda');
  await earshot('key', 'ada', '--scopes', 'listen', '--name', 'pendant');
  await earshot('key', 'list', 'ada');
  await earshot('notify', 'channels');
  await earshot('notify', 'add', 'ada', 'log');
  await refused('notify', 'add', 'ada', 'nfty', 'topic=x');
  await earshot('notify', 'list', 'ada');
  await earshot('hook', 'set', 'ada', 'memory_created', 'https://example.org/ada');
  await earshot('user', 'sign-out', 'ada');
  await earshot('user', 'lost', 'ada');
}

process.exitCode = await main(process.argv[2]);
