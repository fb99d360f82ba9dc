/** Accounts of a running server, and what they own: all of it made through the interface itself. */
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
  /** Address of its server. */
  url: string;
  /** An ID token. */
  token: string;
  /** Throws unless it was done. */
  send(method: string, path: string, body?: unknown): Promise<Json>;
  post(path: string, body?: unknown): Promise<Json>;
  get(path: string): Promise<Json & Json[]>;
}

/** Ids by what they are called. */
export type Ids = Record<string, string>;

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

const TALK = [
  { text: 'Shall we have tea?', start: 0, end: 2 },
  { text: 'With Eve, tomorrow.', start: 60, end: 62, speaker: 'SPEAKER_01' },
];

/** An app that asks for everything. */
export const APP = {
  external_integration: {
    triggers_on: 'memory_created',
    webhook_url: 'https://hooks.example.org/tea',
    actions: ['read_conversations', 'read_memories', 'read_tasks', 'create_conversation', 'create_facts'],
  },
  proactive_notification: { scopes: ['user_name', 'user_facts'] },
};

/** Answers the id of its one sample. Needs a speaker model. */
async function recordVoice({ url, token }: Account): Promise<unknown> {
  const sent = sendAudio(`${url}/v1/users/speech-profile`, token, samplesToBytes(profileRecording('slt')));
  const { samples } = (await sent) as { samples?: { id: string }[] };
  return samples?.[0]?.id;
}

async function sendAudio(url: string, token: string, body: Uint8Array<ArrayBuffer>): Promise<unknown> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/octet-stream' };
  // Only so many recordings of an account may wait.
  const taken = await eventually(
    () => fetch(url, { method: 'POST', headers, body }),
    ({ status }) => status !== 429 && status !== 409,
  );
  return taken.json();
}

/** Ways for an account to get a thing of its own, by the name of its id. */
const OWNED: Record<string, (account: Account, ids: Ids) => Promise<unknown>> = {
  conversation_id: async ({ post }) =>
    (await post('/v1/dev/user/conversations/from-segments', { transcript_segments: TALK })).id,
  action_item_id: async ({ post }) => (await post('/v1/dev/user/action-items', { description: 'Call' })).id,
  goal_id: async ({ post }) =>
    (await post('/v1/dev/user/goals', { title: 'Walk', goal_type: 'numeric', target_value: 9 })).id,
  suggestion_id: async ({ post, get }) => {
    const unit = randomUUID().replaceAll(/[^a-f]/g, ''); // no other goal has it
    const goal = await post('/v1/dev/user/goals', { title: 'Read', goal_type: 'numeric', unit });
    const said = { text: `I read five ${unit} today.`, start: 62, end: 64, is_user: true };
    await post('/v1/dev/user/conversations/from-segments', { transcript_segments: [...TALK, said] });
    return (await get('/v1/dev/user/goals/suggestions')).find(found => found.goal_id === goal.id)?.id;
  },
  memory_id: async ({ post }) => (await post('/v1/dev/user/memories', { content: 'Likes tea.' })).id,
  account_id: async ({ get }) => (await get('/v1/accounts'))[0]?.id,
  key_id: async ({ post }) => (await post('/v1/dev/keys', { name: 'mine' })).id,
  person_id: async ({ post }) => (await post('/v1/people', { name: randomUUID() })).id,
  template_id: async ({ post }) =>
    (await post('/v1/summary-templates', { name: 'Mine', instructions: 'Short.' })).id,
  folder_id: async ({ post }) => (await post('/v1/folders', { name: randomUUID() })).id,
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
  photo_id: ({ url, token }) => takePhoto(url, token),
  app_id: async ({ post }) => (await post('/v1/apps', { name: 'Tea', ...APP })).id,
  app_key_id: async ({ post }, { app_id: id }) => (await post(`/v1/apps/${id}/keys`)).id,
  hook_id: async ({ post, get }) => {
    await post('/v1/users/developer/webhook/memory_created', { url: 'https://hooks.example.org/' });
    return (await get('/v1/hooks')).find(hook => hook.app_id === null)?.id;
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
      await setTimeout(20); // it is told of after it was made
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
/** Ids that clients make up, or that are somebody else's: nothing here is found by them. */
const FOREIGN_WORDS = new Set([
  'bridge_id',
  ...['client_device_id', 'client_session_id', 'client_conversation_id', 'session_id', 'client_id'],
  ...['google_place_id', 'speaker_id'],
]);

/** Does a parameter or a field of this name say which thing is meant? */
export const isId = (name: string) => (name in OWNED || name.endsWith('_id')) && !FOREIGN_WORDS.has(name);

/** Makes one; an id that nobody thought of fails here. */
export async function idOf(name: string, account: Account, ids: Ids): Promise<string> {
  const made = await OWNED[name]?.(account, ids);
  if (typeof made === 'string') return made;
  throw new Error(`Nobody knows a way to an id called ${name}: add one to OWNED`);
}
