import { z } from 'zod';
import { SOURCES } from '../../conversations/sources.ts';
import type { ForeignThing } from '../foreign-item.ts';
import { type Format, jsonOf } from '../format.ts';
import { wrong } from '../source-files.ts';
import {
  conversationFromOmi,
  memoryFromOmi,
  OmiConversation,
  OmiMemory,
  OmiTask,
  taskFromOmi,
} from './omi-shapes.ts';

const FILE = /(?:^|\/)(conversations|memories|action_items|chat_history)\.json$/;

/** The export of Omi's app: a ZIP with `conversations.json`, `memories.json` and `chat_history.json`. */
export const omi: Format = {
  title: 'Omi',
  claims: (path, head) => FILE.test(path) && /^\s*\[/.test(head),
  async *things(file) {
    const kind = FILE.exec(file.path)?.[1] ?? '';
    const rows = z.array(z.unknown()).safeParse(await jsonOf(file));
    if (!rows.success) throw wrong(`${file.path} is no list, as Omi writes it`);
    for (const [at, row] of rows.data.entries()) {
      const thing = thingOf(kind, row, `${file.path}, entry ${at + 1}`);
      if (thing) yield thing;
    }
  },
};

function thingOf(kind: string, row: unknown, where: string): ForeignThing | null {
  if (kind === 'chat_history')
    return { kind: 'left_out', what: 'chat message', why: 'chats with another assistant are not kept here' };
  const broken = () => wrong(`${where} is not as Omi writes it`);
  if (kind === 'conversations') {
    const parsed = OmiConversation.safeParse(row);
    const thing = parsed.success ? conversationFromOmi(parsed.data, sourceOf) : null;
    if (!thing) throw broken();
    return thing;
  }
  if (kind === 'memories') {
    const parsed = OmiMemory.safeParse(row);
    if (!parsed.success) throw broken();
    return memoryFromOmi(parsed.data);
  }
  const parsed = OmiTask.safeParse(row);
  if (!parsed.success) throw broken();
  return taskFromOmi(parsed.data);
}

/** Returns the source if Earshot knows it; else `omi`. */
export function sourceOf(name: string): string {
  return SOURCES.has(name) ? name : 'omi';
}
