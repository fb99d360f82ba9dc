import { extname } from 'node:path';

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
} as const;

/** The plugins that come with Earshot: name → module. They are loaded as anyone else's are. */
export const BUILTIN_PLUGINS: Readonly<Record<string, URL>> = Object.fromEntries(
  Object.entries(MODULES).map(([name, path]) => [
    name,
    new URL(`../plugins/${path}${EXTENSION}`, import.meta.url),
  ]),
);

/** Those that the configuration chooses by name, in `storage` and `stt`; left out, they are not to be loaded. */
export const BUILTIN_CHOICES: readonly string[] = Object.entries(MODULES).flatMap(([name, path]) =>
  /^(storage|stt)\//.test(path) ? [name] : [],
);
