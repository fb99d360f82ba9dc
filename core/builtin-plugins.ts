import { extname } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { Choices } from './plugin-selection.ts';

const EXTENSION = extname(import.meta.filename); // .ts in a checkout, .js when published

const MODULES = {
  sql: 'storage/sql',
  silero: 'vad/silero',
  'sherpa-onnx': 'stt/sherpa-onnx',
  whisper: 'stt/whisper',
  pocketsphinx: 'stt/pocketsphinx',
  openai: 'stt/openai',
  wyoming: 'stt/wyoming',
  local: 'identity/local',
  oidc: 'identity/oidc',
  words: 'embedder/words',
  'sqlite-vectors': 'vectors/sqlite-vectors',
  qdrant: 'vectors/qdrant',
  'openai-embedder': 'embedder/openai',
  'openai-llm': 'llm/openai',
  'transcript-processed': 'webhook/transcript-processed',
  'audio-bytes': 'webhook/audio-bytes',
  'conversation-created': 'webhook/conversation-created',
  'day-summary': 'webhook/day-summary',
  'home-assistant': 'webhook/home-assistant',
  slack: 'webhook/slack',
  ntfy: 'notify/ntfy',
  gotify: 'notify/gotify',
  apprise: 'notify/apprise',
  email: 'notify/email',
  mqtt: 'notify/mqtt',
  'web-push': 'notify/web-push',
  webhook: 'notify/webhook',
  log: 'notify/log',
} as const;

/** The plugins that come with Earshot: name → module. They are loaded as anyone else's are. */
export const BUILTIN_PLUGINS: Readonly<Record<string, URL>> = Object.fromEntries(
  Object.entries(MODULES).map(([name, path]) => [
    name,
    new URL(`../plugins/${path}${EXTENSION}`, import.meta.url),
  ]),
);

const CHOSEN = /^(storage|stt|identity|embedder|vectors|llm|notify)\//;
const CHOICES = Object.entries(MODULES).flatMap(([name, path]) => (CHOSEN.test(path) ? [name] : []));

/** The keys of the configuration that choose plugins by name, but for the storage. */
export function choicesOf({ stt, identity, embedder, vectors, llm, notify }: Config) {
  return { stt, identity, embedder, vectors, llm, notify } satisfies Choices;
}

/** The built-in plugins that are loaded by choice alone, and that `chosen` leaves out. */
export function notChosen(chosen: readonly string[]): string[] {
  return CHOICES.filter(name => !chosen.includes(name));
}
