import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { environment, type LoadedConfig, sttNames } from '../../../config/load.ts';
import { readRecording } from '../../audio/recording-file.ts';
import { type Commands, RECOGNITION, type Result } from '../../control/commands.ts';
import { callControl, controlPath } from '../../control/control.ts';
import { describePart } from '../../control/status.ts';
import { type Child, startChild } from '../../runtime/child.ts';
import { AppError } from '../../runtime/errors.ts';
import type { DemoOptions } from './demo.ts';
import { createStory, type Story } from './narration.ts';

const RECORDING = fileURLToPath(new URL('../../../bridge/simulator/recording.wav', import.meta.url));
const ACCOUNT = 'demo';
/** Silence that ends the demo's conversation. */
const CONVERSATION_TIMEOUT_S = 4;
const LOOK_AROUND = ['conversations:read', 'memories:read', 'action_items:read'];

/** Plays the demo, up to Ctrl-C or, with `exit`, the first finished conversation. */
export async function demo(options: DemoOptions, loaded: LoadedConfig): Promise<void> {
  const audio = resolve(options.audio ?? RECORDING);
  const { samples, sampleRate, channels } = await readRecording(audio);
  const limitMs = (samples.length / channels / sampleRate + CONVERSATION_TIMEOUT_S + options.limit) * 1000;
  const interruption = watchInterrupts();
  const dir = await mkdtemp(join(tmpdir(), 'earshot-demo-'));
  const children: Child[] = [];
  let isOver = false;
  const start: typeof startChild = child => {
    const onLine = (line: string) => isOver || child.onLine?.(line); // its stop is not part of the demo
    const started = startChild({ ...child, onLine });
    children.push(started);
    return started;
  };
  try {
    const story = createStory({ json: options.json === true, audio });
    const play = playTo(story, { audio, dir, loaded, start });
    const end = await Promise.race([play, failAfter(limitMs), interruption]);
    if (end === 'interrupted' && options.exit) {
      throw new AppError('unavailable', 'stopped before the conversation was finished');
    }
    if (end !== 'interrupted' && !options.exit) {
      story.waiting();
      await Promise.race([interruption, ...children.map(child => child.died)]);
    }
  } finally {
    isOver = true;
    await Promise.all(children.map(child => child.stop())); // immediately: nothing is kept
    await rm(dir, { recursive: true, force: true });
  }
}

interface Stage {
  audio: string;
  /** Directory of the demo, deleted at its end. */
  dir: string;
  loaded: LoadedConfig;
  start: typeof startChild;
}

/** Plays up to the first finished conversation. Rejects when a process dies, or no recogniser is ready. */
async function playTo(story: Story, { audio, dir, loaded, start }: Stage): Promise<void> {
  await lendModels(dir, loaded);
  const listening = Promise.withResolvers<string>();
  const core = start({
    title: 'the server',
    entry: 'core/main',
    env: environmentOf(dir, loaded, { EARSHOT_PORT: '0' }),
    onMessage: message => {
      const said = Listening.safeParse(message);
      if (said.success) listening.resolve(said.data.url);
    },
  });
  const url = await Promise.race([listening.promise, core.died]);
  const ask = control(dir);
  story.listening(await ready(ask, text => text.replaceAll(dir, loaded.config.dataDir)));
  const { key } = await ask('key', { user: ACCOUNT, scopes: LOOK_AROUND, name: 'looking around' });
  const pendantKey = await ask('key', { user: ACCOUNT, scopes: ['listen'], name: 'pendant' });

  let isToldToTheEnd = false;
  const finished = Promise.withResolvers<string>();
  const bridge = start({
    title: 'the bridge',
    entry: 'bridge/bin.mjs',
    args: ['--simulate', audio, '--json'],
    env: environmentOf(dir, loaded, {
      EARSHOT_PORT: new URL(url).port,
      EARSHOT_BRIDGE__CORE: url.replace('http', 'ws'),
      EARSHOT_BRIDGE__KEY: pendantKey.key,
      EARSHOT_BRIDGE__CONVERSATION_TIMEOUT_S: String(CONVERSATION_TIMEOUT_S),
    }),
    onLine: line => {
      const event: unknown = JSON.parse(line);
      if (!isToldToTheEnd) story.bridge(event);
      const created = Created.safeParse(event);
      if (created.success) finished.resolve(created.data.memory.id);
    },
  });
  const id = await Promise.race([finished.promise, core.died, bridge.died]);
  isToldToTheEnd = true;
  story.conversation({ url, key, conversation: await getConversation(url, key, id) });
}

/** Links files of recognisers, above all their models, from the user's own data directory. */
async function lendModels(dir: string, { config }: LoadedConfig): Promise<void> {
  await mkdir(join(dir, 'plugins'), { mode: 0o700 });
  for (const name of sttNames(config)) {
    const models = join(config.dataDir, 'plugins', name);
    if (existsSync(models)) await symlink(models, join(dir, 'plugins', name));
  }
}

const Listening = z.object({ event: z.literal('listening'), url: z.string() });
const Created = z.object({ event: z.literal('memory_created'), memory: z.object({ id: z.string() }) });

/** Configuration of the demo: the user's own, except for the data, the address, and the server of the bridge. */
function environmentOf(dir: string, { file }: LoadedConfig, more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const theirs = Object.entries(environment).filter(
    ([name]) => !/^EARSHOT_(BRIDGE|PLUGINS__SQL)__/.test(name),
  );
  return {
    ...Object.fromEntries(theirs),
    ...(file === null ? {} : { EARSHOT_CONFIG: file }),
    EARSHOT_DATA_DIR: dir,
    EARSHOT_HOST: '127.0.0.1',
    EARSHOT_ACCOUNT: ACCOUNT,
    EARSHOT_LOG__LEVEL: 'warn',
    EARSHOT_BRIDGE__DEVICES: '[]',
    EARSHOT_STORAGE: 'sql',
    EARSHOT_PLUGINS__SQL__CLIENT: 'sqlite',
    EARSHOT_PLUGINS__SQL__FILE: 'earshot.db',
    ...more,
  };
}

function control(dir: string) {
  return async <C extends keyof Commands>(
    command: C,
    args: Parameters<Commands[C]>[0],
  ): Promise<Result<C>> => {
    const answer = await callControl(controlPath(dir), command, args);
    if (answer === 'absent') throw new AppError('unavailable', 'the server has stopped');
    return answer;
  };
}

/**
 * Waits for the status of the server, and checks that it can recognise speech.
 * @param lasting rewrites messages about the directory of the demo for one that stays
 */
async function ready(ask: ReturnType<typeof control>, lasting: (text: string) => string) {
  const status = await ask('status', {});
  const recognisers = status.ready.filter(({ part }) => part === RECOGNITION);
  if (recognisers.some(({ ok }) => ok)) return status;
  const reasons = recognisers.map(describePart).join('; ');
  const cure = recognisers.findLast(recogniser => recogniser.cure)?.cure;
  const remedy = cure ? `; to make one ready: ${cure}` : '';
  throw new AppError(
    'config_error',
    lasting(`no speech recogniser is ready (${reasons || 'none is configured'})${remedy}`),
  );
}

async function getConversation(url: string, key: string, id: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/dev/user/conversations/${id}?include_transcript=true`, {
    headers: { authorization: `Bearer ${key}` },
  });
  if (!response.ok)
    throw new AppError('upstream_error', `the server answers ${response.status} for the conversation`);
  return response.json();
}

function watchInterrupts(): Promise<'interrupted'> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => resolve('interrupted'));
  });
}

function failAfter(ms: number): Promise<never> {
  return new Promise((_resolve, reject) => {
    const error = new AppError('timeout', `no conversation was finished within ${Math.round(ms / 1000)} s`);
    setTimeout(() => reject(error), ms).unref();
  });
}
