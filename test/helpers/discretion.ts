/** Finds content that a log must not contain: what people said and wrote, and credentials. */

import type { Row, Storage } from '../../core/contract/plugin.ts';
import { createLog, type Log } from '../../core/runtime/log.ts';

/** Columns with such content, by table; some hold JSON. */
const PRIVATE: Readonly<Record<string, readonly string[]>> = {
  segments: ['text', 'translations'],
  voices: ['vector'],
  voice_samples: ['vector'],
  passages: ['text'],
  conversations: ['structured'],
  photos: ['description'],
  memories: ['content'],
  action_items: ['description'],
  goals: ['title', 'desired_outcome', 'why_it_matters'],
  goal_suggestions: ['text'],
  hooks: ['secret', 'old_secret', 'url'],
  deliveries: ['body'],
  delivery_attempts: ['answer'],
  notifications: ['text'],
  chat_sessions: ['title'],
  chat_messages: ['text'],
  channel_addresses: ['address'],
};
const CREDENTIALS =
  /\bomi_dev_[0-9a-f]{32}|\bsk_[0-9a-f]{32}|\bwhsec_[\w+/=]{16,}|\beyJ[\w-]{16,}\.[\w-]{16,}/g;
/** Shorter texts also occur in Earshot's own messages. */
const LEAST_CHARACTERS = 16;

/** Form of ids, which a log may contain and which also occur in bodies of deliveries. */
const AN_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const AN_INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Field with the name of the plugin that created a structure; not secret. */
const PLUGIN = 'plugin';

/** A log that keeps all of its lines. */
export function keptLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({ level: 'trace', format: 'json' }, { write: line => void lines.push(line) });
  return { log, lines };
}

/** Lists private data of this storage that the lines contain. */
export async function indiscretions(lines: readonly string[], storage: Storage): Promise<string[]> {
  const all = lines.join('');
  const shown = new Set(all.match(CREDENTIALS));
  for (const text of await privateTexts(storage)) {
    const asJson = JSON.stringify(text).slice(1, -1);
    if (all.includes(text) || all.includes(asJson)) shown.add(text);
  }
  return [...shown];
}

async function privateTexts(storage: Storage): Promise<Set<string>> {
  return storage.tables(async tables => {
    const texts = new Set<string>();
    for (const table of tables) {
      const columns = PRIVATE[table.name] ?? [];
      if (columns.length === 0) continue;
      for await (const rows of table.read())
        for (const row of rows)
          for (const text of columns.flatMap(column => textsIn(row[column], column)))
            if (text.trim().length >= LEAST_CHARACTERS && !AN_ID.test(text) && !AN_INSTANT.test(text))
              texts.add(text);
    }
    return texts;
  });
}

/** As many numbers and characters of a voice print as make it unique. */
const VECTOR_NUMBERS = 4;
const VECTOR_CHARS = 24;

/** Returns the texts in a value that may be JSON, or a vector in any form in which a log may print it. */
function textsIn(value: Row[string] | undefined, column: string): string[] {
  if (typeof value !== 'string') return [];
  if (column === 'vector') {
    const bytes = Buffer.from(value, 'base64');
    const numbers = Array.from({ length: Math.min(VECTOR_NUMBERS, bytes.length / 4) }, (_, at) =>
      String(bytes.readFloatLE(at * 4)),
    );
    return [value.slice(0, VECTOR_CHARS), bytes.toString('hex').slice(0, VECTOR_CHARS), ...numbers];
  }
  if (!/^[[{]/.test(value)) return [value];
  const found: string[] = [];
  try {
    JSON.parse(value, (key, inner) => {
      if (typeof inner === 'string' && key !== PLUGIN) found.push(inner);
      return inner;
    });
  } catch {
    found.push(value);
  }
  return found;
}
