/** Finds what a log must not show: what people said and wrote, and credentials. */

import type { Row, Storage } from '../../core/contract/plugin.ts';
import { createLog, type Log } from '../../core/runtime/log.ts';

/** Columns that hold it, by table; some of them JSON. */
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
/** Shorter ones stand in messages of ours, too. */
const LEAST_CHARACTERS = 16;

/** Form of ids. A log may name things by their ids, which bodies of deliveries contain, too. */
const AN_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const AN_INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Name of the field with the plugin that made a structure: no secret. */
const PLUGIN = 'plugin';

/** A log that keeps its lines, all of them. */
export function keptLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({ level: 'trace', format: 'json' }, { write: line => void lines.push(line) });
  return { log, lines };
}

/** Lists the data of this storage that these lines show. */
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
          for (const text of columns.flatMap(column => textsIn(row[column])))
            if (text.trim().length >= LEAST_CHARACTERS && !AN_ID.test(text) && !AN_INSTANT.test(text))
              texts.add(text);
    }
    return texts;
  });
}

/** The texts in a value that may be JSON. */
function textsIn(value: Row[string] | undefined): string[] {
  if (typeof value !== 'string') return [];
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
