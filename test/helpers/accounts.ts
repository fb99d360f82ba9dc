/** Accounts of a running server and their data, all created through its interface. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { eventually } from './eventually.ts';
import type { Json } from './openapi.ts';
import { takePhoto } from './photo.ts';
import type { TestServer } from './services.ts';
import { profileRecording } from './voices.ts';

export interface Account {
  name: string;
  /** Address of the account's server. */
  url: string;
  /** An ID token. */
  token: string;
  /** Sends a request; throws unless it succeeded. */
  send(method: string, path: string, body?: unknown): Promise<Json>;
  post(path: string, body?: unknown): Promise<Json>;
  get(path: string): Promise<Json & Json[]>;
}

/** Ids by the name of their kind. */
export type Ids = Record<string, string>;

/** The password that an account needs so that it can have sessions. */
export const PASSWORD = 'correct horse battery';

export async function accountOf({ app, url }: TestServer, name: string): Promise<Account> {
  const { token } = await app.commands.token({ user: name });
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Json & Json[];
    if (response.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    name,
    url,
    token,
    send,
    post: (path, body) => send('POST', path, body),
    get: path => send('GET', path),
  };
}

/** Returns an ID token of a new operator account. */
export async function operatorOf({ app }: Pick<TestServer, 'app'>): Promise<string> {
  await app.commands['user.add']({ name: 'olga' });
  await app.commands['user.role']({ user: 'olga', role: 'operator' });
  return (await app.commands.token({ user: 'olga' })).token;
}

const TALK = [
  { text: 'Shall we have tea?', start: 0, end: 2 },
  { text: 'With Eve, tomorrow.', start: 60, end: 62, speaker: 'SPEAKER_01' },
];

/** An app that requests every permission. */
export const APP = {
  external_integration: {
    triggers_on: 'memory_created',
    webhook_url: 'https://hooks.example.org/tea',
    actions: ['read_conversations', 'read_memories', 'read_tasks', 'create_conversation', 'create_facts'],
  },
  proactive_notification: { scopes: ['user_name', 'user_facts'] },
};

/** Records a voice sample and returns its id. Needs a speaker model. */
async function recordVoice({ url, token }: Account): Promise<unknown> {
  const sent = sendAudio(`${url}/v1/users/speech-profile`, token, samplesToBytes(profileRecording('slt')));
  const { samples } = (await sent) as { samples?: { id: string }[] };
  return samples?.[0]?.id;
}

async function sendAudio(url: string, token: string, body: Uint8Array<ArrayBuffer>): Promise<unknown> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/octet-stream' };
  // The number of recordings that an account may have waiting is limited.
  const taken = await eventually(
    () => fetch(url, { method: 'POST', headers, body }),
    ({ status }) => status !== 429 && status !== 409,
  );
  return taken.json();
}

/** Creates one thing of each kind for an account, by the name of its id. */
const OWNED: Record<string, (account: Account, ids: Ids) => Promise<unknown>> = {
  conversation_id: async ({ post }) =>
    (await post('/v1/dev/user/conversations/from-segments', { transcript_segments: TALK })).id,
  action_item_id: async ({ post }) => (await post('/v1/dev/user/action-items', { description: 'Call' })).id,
  goal_id: async ({ post }) =>
    (await post('/v1/dev/user/goals', { title: 'Walk', goal_type: 'numeric', target_value: 9 })).id,
  suggestion_id: async ({ post, get }) => {
    // a word that no other goal has: letters in place of hexadecimal digits
    const digits = randomUUID().replaceAll('-', '').slice(0, 12);
    const unit = [...digits].map(digit => 'bcdfghjklmnpqrst'[Number.parseInt(digit, 16)]).join('');
    const goal = await post('/v1/dev/user/goals', { title: 'Read', goal_type: 'numeric', unit });
    const said = { text: `I read five ${unit} today.`, start: 62, end: 64, is_user: true };
    await post('/v1/dev/user/conversations/from-segments', { transcript_segments: [...TALK, said] });
    return (await get('/v1/dev/user/goals/suggestions')).find(found => found.goal_id === goal.id)?.id;
  },
  memory_id: async ({ post }) => (await post('/v1/dev/user/memories', { content: 'Likes tea.' })).id,
  export_id: async ({ post, get }) => {
    await post('/v1/users/exports', {});
    const ready = await eventually(
      async () => (await get('/v1/users/exports'))[0],
      found => found?.state === 'ready',
    );
    return ready?.id;
  },
  account_id: async ({ get }) => (await get('/v1/accounts'))[0]?.id,
  key_id: async ({ post }) => (await post('/v1/dev/keys', { name: 'mine' })).id,
  person_id: async ({ post }) => (await post('/v1/people', { name: randomUUID() })).id,
  template_id: async ({ post }) =>
    (await post('/v1/summary-templates', { name: 'Mine', instructions: 'Short.' })).id,
  folder_id: async ({ post }) => (await post('/v1/folders', { name: randomUUID() })).id,
  place_id: async ({ post }) =>
    (await post('/v1/places', { name: 'Home', latitude: 52.52, longitude: 13.405 })).id,
  segment_id: async ({ get }, { conversation_id: id }) => {
    const found = await get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
    return (found.transcript_segments as Json[]).at(-1)?.id;
  },
  chat_session_id: async ({ post }) => (await post('/v2/chat-sessions')).id,
  other_person_id: async ({ post }) => (await post('/v1/people', { name: randomUUID() })).id,
  assignment_id: async (account, ids) => {
    const id = await idOf('conversation_id', account, ids);
    return (await account.post(`/v1/conversations/${id}/speakers/0`, { person_id: 'user' })).id;
  },
  sample_id: recordVoice,
  recording_id: async ({ url, token }) => {
    const [recording] = (await sendAudio(
      `${url}/v1/conversations/from-audio`,
      token,
      new Uint8Array(16_000),
    )) as Json[];
    return recording?.id;
  },
  mark_id: async (account, ids) =>
    (await account.post('/v1/marks', { conversation_id: await idOf('conversation_id', account, ids) })).id,
  import_id: importSubtitles,
  /** Kept only where every recogniser fails: none of these accounts has any. */
  audio_id: async () => `${randomUUID()}-0`,
  photo_id: ({ url, token }) => takePhoto(url, token),
  app_id: async ({ post }) => (await post('/v1/apps', { name: 'Tea', ...APP })).id,
  account_session_id: async ({ url, get }) => {
    const [{ name } = {}] = await get('/v1/accounts'); // it may have been renamed
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name, password: PASSWORD });
    const answer = await fetch(`${url}/v1/auth/token`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return (await get('/v1/auth/sessions'))[0]?.id;
  },
  app_key_id: async ({ post }, { app_id: id }) => (await post(`/v1/apps/${id}/keys`)).id,
  hook_id: async ({ post, get }) => {
    await post('/v1/users/developer/webhook/memory_created', { url: 'https://hooks.example.org/' });
    const isOwn = (hook: Json) => hook.app_id === null && hook.type === 'memory_created' && hook.label === '';
    return (await get('/v1/hooks')).find(isOwn)?.id; // the one that was just switched on
  },
  address_id: async ({ post }) =>
    (await post('/v1/notifications/addresses', { channel: 'log', address: {} })).id,
  target_id: (account, ids) => idOf('hook_id', account, ids),
  delivery_id: async (account, ids) => {
    const target = await idOf('hook_id', account, ids);
    await idOf('conversation_id', account, ids);
    for (;;) {
      const [delivery] = await account.get(`/v1/deliveries?target_id=${target}`);
      if (delivery) return delivery.id;
      await setTimeout(20); // announced shortly after it was created
    }
  },
  device_id: async ({ send }) => {
    const id = `omi_${randomUUID().slice(0, 12)}`;
    await send('PUT', `/v1/bridges/${id}`, {
      name: 'Kitchen',
      devices: [{ id, name: 'Omi', state: 'quiet' }],
    });
    return id;
  },
  with: (account, ids) => idOf('conversation_id', account, ids),
};
/** Ids that clients choose or that belong to others; they cannot be used to find anything here. */
const FOREIGN_WORDS = new Set([
  'bridge_id',
  ...['client_device_id', 'client_session_id', 'client_conversation_id', 'session_id', 'client_id'],
  ...['google_place_id', 'speaker_id'],
]);

/** Whether a parameter or field of this name identifies a thing. */
export const isId = (name: string) => (name in OWNED || name.endsWith('_id')) && !FOREIGN_WORDS.has(name);

/** Creates one and returns its id; fails for an id that this file does not know. */
export async function idOf(name: string, account: Account, ids: Ids): Promise<string> {
  const made = await OWNED[name]?.(account, ids);
  if (typeof made === 'string') return made;
  throw new Error(`Nobody knows a way to an id called ${name}: add one to OWNED`);
}

/** Subtitles of another product; resolves to the import's id when it is over. */
async function importSubtitles({ url, token, get }: Account): Promise<string> {
  const subtitles = `1\n00:00:01,000 --> 00:00:02,000\nAnna: The kettle is on, ${randomUUID()}.\n`;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/octet-stream' };
  const response = await eventually(
    () => fetch(`${url}/v1/imports?name=talk.srt`, { method: 'POST', headers, body: subtitles }),
    ({ status }) => status !== 409 && status !== 429, // one of an account at a time
  );
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const { import_id: id } = await eventually(
    () => get('/v1/imports/progress'),
    ({ running }) => running === false,
  );
  return String(id);
}
