import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { type CoreProcess, coreProcess } from '../../helpers/core-process.ts';
import type { Json } from '../../helpers/openapi.ts';
import { startReceiver } from '../../helpers/receiver.ts';
import { amount, isThorough } from '../../helpers/thorough.ts';

const STORAGE = join(import.meta.dirname, '../../fixtures/plugins/mortal-storage.ts');
/** The same in all runs, so that due times are equal as well. */
const BEGAN_AT = new Date(Date.now() - 60_000);
const SAID: readonly [text: string, speaker: string, isUser: boolean][] = [
  ['I live in Cologne and I work as a nurse at the children hospital.', 'SPEAKER_00', true],
  ['Then we meet at the allotment on Saturday at ten to plant the tomatoes.', 'SPEAKER_01', false],
  ['I will send you the seed list tomorrow, and please remind me to water the beans.', 'SPEAKER_00', true],
  ['I am allergic to peanuts, so no peanut cake this time.', 'SPEAKER_00', true],
];
const CORRECTION = 'I am allergic to hazelnuts, so no hazelnut cake this time.';

/** All results of the pipeline, without ids and the times of the run. */
interface Outcome {
  conversations: unknown;
  tasks: unknown;
  memories: unknown;
  found: unknown;
  folders: unknown;
  notifications: unknown;
  deliveries: unknown;
  /** Webhooks received; an interrupted one is sent again under the same id. */
  received: number;
}

interface Run {
  outcome: Outcome;
  /** Steps from the first job on. */
  steps: number;
  wasKilled: boolean;
}

/** Runs a conversation, and a correction, in a process that is killed at a given step; 0: never. */
async function run(t: ExecutionContext, killAt: number): Promise<Run> {
  const undo: (() => unknown)[] = [];
  const stage = { teardown: (step: () => unknown) => void undo.push(step) };
  try {
    return await play(stage as ExecutionContext, killAt);
  } catch (cause) {
    return t.fail(`killed at step ${killAt}: ${cause}`) as never;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function play(stage: Pick<ExecutionContext, 'teardown'>, killAt: number): Promise<Run> {
  const receiver = await startReceiver(stage);
  const mortal = { use: STORAGE, killAt };
  const core = await coreProcess(stage, {
    ...{ stt: [], storage: 'mortal', plugins: { mortal }, rateLimits: { enabled: false } },
    delivery: { allowHosts: ['127.0.0.1'] },
  });
  const token = await tokenOf(core);
  const send = requester(core, token);
  await send('POST', '/v1/folders', {
    name: 'Garden',
    description: 'Plants, seeds, vegetables, the allotment',
  });
  await send('POST', '/v1/users/developer/webhook/memory_created', { url: receiver.url });

  let wasKilled = false;
  let died = ended(core);
  /** Repeats it after a restart, if the process was killed meanwhile. */
  async function surely<T>(what: () => Promise<T>): Promise<T> {
    try {
      return await what();
    } catch (error) {
      if (killAt === 0 || wasKilled) throw error;
      await died;
      wasKilled = true;
      await core.start({ plugins: { mortal: { ...mortal, killAt: 0 } } });
      died = ended(core);
      return what();
    }
  }

  const { id } = await surely(() => send('POST', '/v1/dev/user/conversations/from-segments', draft()));
  await surely(() => settled(core, send, id));
  const whole = await surely(() => send('GET', `${CONVERSATIONS}/${id}?include_transcript=true`));
  const last = whole.transcript_segments.at(-1).id;
  await surely(() => send('PATCH', `/v1/conversations/${id}/segments/${last}`, { text: CORRECTION }));
  await surely(() => send('POST', `/v1/conversations/${id}/reprocess`, {}));
  await surely(() => settled(core, send, id));
  const outcome = await surely(() => outcomeOf(send, receiver.received));
  const steps = Number(await readFile(join(core.dataDir, 'steps'), 'utf8'));
  return { outcome, steps, wasKilled };
}

const CONVERSATIONS = '/v1/dev/user/conversations';

function draft() {
  return {
    ...{ client_session_id: 'talk', source: 'omi', language: 'en', started_at: BEGAN_AT.toISOString() },
    transcript_segments: SAID.map(([text, speaker, is_user], at) => ({
      ...{ text, speaker, is_user, start: at * 10, end: at * 10 + 8 },
    })),
  };
}

async function tokenOf({ dataDir }: CoreProcess): Promise<string> {
  const answer = await callControl(controlPath(dataDir), 'token', { user: 'owner' });
  if (answer === 'absent') throw new Error('core does not answer');
  return answer.token;
}

type Send = ReturnType<typeof requester>;

function requester({ url }: CoreProcess, token: string) {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the interface answers
  return async (method: string, path: string, body?: object): Promise<any> => {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Connection: 'close',
    };
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
}

function ended(core: CoreProcess): Promise<void> {
  const child = core.process();
  return new Promise(resolve =>
    (child.exitCode ?? child.signalCode) !== null ? resolve() : child.once('exit', () => resolve()),
  );
}

/** All its due jobs are done; those due later remain. */
async function settled(core: CoreProcess, send: Send, id: string): Promise<void> {
  for (;;) {
    const { status } = await send('GET', `${CONVERSATIONS}/${id}`);
    const left = (await Promise.all(BUSY.map(state => jobs(core, state)))).some(count => count > 0);
    const { deliveries } = await pendingOf(send);
    if (status === 'completed' && !left && deliveries === 0) return;
    await sleep(50);
  }
}

const BUSY = ['due', 'running', 'failed'];

/** Jobs in this state, of all kinds. */
async function jobs({ url }: CoreProcess, state: string): Promise<number> {
  const text = await (await fetch(new URL('/metrics', url), { headers: { Connection: 'close' } })).text();
  const lines = text
    .split('\n')
    .filter(line => line.startsWith('earshot_jobs{') && line.includes(`"${state}"`));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

async function pendingOf(send: Send) {
  return { deliveries: (await send('GET', '/v1/deliveries?state=pending')).length };
}

const CHANGING = new Set([
  'id',
  'user_id',
  'created_at',
  'updated_at',
  'finished_at',
  'conversation_id',
  'memory_id',
]);

/** Removes differences between runs. */
function lasting(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(lasting).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Json).flatMap(([name, inner]) =>
      CHANGING.has(name) || (/(^|_)ids?$|_at$/.test(name) && name !== 'due_at' && name !== 'started_at')
        ? []
        : [[name, lasting(inner)]],
    ),
  );
}

async function outcomeOf(send: Send, received: { headers: { [name: string]: unknown } }[]): Promise<Outcome> {
  const read = async (path: string) => lasting(await send('GET', path));
  const picked = async (path: string, names: readonly string[]) => {
    const answer = await send('GET', path);
    const all: Json[] = Array.isArray(answer) ? answer : (Object.values(answer).find(Array.isArray) ?? []);
    return lasting(all.map(each => Object.fromEntries(names.map(name => [name, each[name]]))));
  };
  return {
    conversations: await read(`${CONVERSATIONS}?include_transcript=true`),
    tasks: await picked('/v1/dev/user/action-items', ['description', 'completed', 'due_at']),
    memories: await picked('/v1/dev/user/memories', ['content', 'category', 'reviewed']),
    found: await picked('/v1/dev/user/memories/vector/search?query=home+and+food', ['content']),
    folders: await picked('/v1/dev/user/folders', ['name', 'conversation_count']),
    notifications: await picked('/v1/notifications', ['event', 'title', 'text']),
    deliveries: await picked('/v1/deliveries', ['type', 'state']),
    received: new Set(received.map(({ headers }) => headers['webhook-id'])).size,
  };
}

test('A kill at any step of the pipeline leads to the same conversation, without duplicates', async t => {
  const { outcome: expected, steps } = await run(t, 0);
  t.log(`${steps} steps`);
  for (const [name, things] of Object.entries(expected))
    t.true(name === 'received' || (things as unknown[]).length > 0, `${name}: none`);
  const every = isThorough ? 1 : Math.ceil(steps / amount(3, steps));
  for (let killAt = isThorough ? 1 : Math.ceil(every / 2); killAt <= steps; killAt += every) {
    const { outcome, wasKilled } = await run(t, killAt);
    t.true(wasKilled || killAt > steps * 0.9, `it was not killed at step ${killAt} of ${steps}`);
    t.deepEqual(outcome, expected, `killed at step ${killAt} of ${steps}`);
  }
});
