import { createHash } from 'node:crypto';
import { instantOf } from '../../wall-clock.ts';
import type { ForeignThing } from '../foreign-item.ts';
import { conversationOf, type Format, nameOf, textOf } from '../format.ts';
import { type SourceFile, wrong } from '../source-files.ts';

/** `[02.03.25, 09:00:12] Ada: Hello` (iPhone), `3/2/25, 9:00 PM - Ada: Hello` (Android): date and time as the phone shows them. */
const HEADER =
  /^\u200e?\[?(\d{1,4})[./-](\d{1,2})[./-](\d{1,4}),?[ \u00a0](\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:[ \u00a0\u202f]?([ap])\.?[ \u00a0]?m\.?)?(?:\] | - )(.*)$/i;
const MARKS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** `<attached: 00000007-AUDIO-2025-03-02-09-00-12.opus>`, in the language of the phone. */
const ATTACHED_IPHONE = /^\u200e?<[^<>:]{2,40}: ([^<>/\\]{1,200})>$/;
/** `PTT-20250302-WA0007.opus (file attached)`, in the language of the phone. */
const ATTACHED_ANDROID = /^\u200e?([^/\\]{1,200}\.[a-z0-9]{2,5}) \([^()]{3,40}\)$/i;
const OMITTED = /^\u200e?<[^<>]{3,40}>$/;
const EDITED = /\u200e<[^<>\u200e]{1,60}>$/;
const MAX_SPEAKER_CHARS = 100;

interface Message {
  line: number;
  /** Numbers of the date, in the order of the file. */
  date: readonly [string, string, string];
  minute: number;
  second: number;
  /** Null: a message of WhatsApp itself. */
  speaker: string | null;
  text: string;
}

interface DatedMessage extends Message {
  day: string;
  at: number;
}

/** A chat as WhatsApp exports it: a conversation for each day on which something was written. */
export const whatsapp: Format = {
  title: 'WhatsApp',
  claims: (path, head) =>
    /\.txt$/i.test(path) && HEADER.test(head.replace(/^\ufeff/, '').split(/\r?\n/, 1)[0] ?? ''),
  async *things(file, { timeZone }) {
    const messages = await messagesOf(file, timeZone);
    for (const day of Map.groupBy(messages, each => each.day).values())
      yield* thingsOf(day, titleOf(file.path));
  },
  async *attachments(file, timeZone) {
    const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1);
    for (const { text, at } of await messagesOf(file, timeZone)) {
      const name = attachmentIn(text);
      if (name !== null) yield { path: `${folder}${name}`, at };
    }
  },
};

function* thingsOf(messages: readonly DatedMessage[], title: string): Generator<ForeignThing> {
  const said = [];
  for (const message of messages) {
    const { speaker, text } = message;
    const words = wordsOf(text);
    if (speaker === null || words === '')
      yield {
        kind: 'left_out',
        what: 'message without words',
        why: 'it is an attachment, or WhatsApp wrote it',
      };
    else said.push({ ...message, words });
  }
  const [first] = said;
  if (!first) return;
  const startedAt = Math.min(...said.map(({ at }) => at));
  // by its first message, because a later export contains more of the last day
  const name = JSON.stringify([first.at, first.speaker, first.words]);
  yield conversationOf({
    key: `whatsapp:${createHash('sha256').update(name).digest('hex')}`,
    source: 'external_integration',
    title: `${title}, ${first.day}`,
    startedAt,
    segments: said.map(({ words, speaker, at }) => ({
      text: words,
      start: (at - startedAt) / 1000,
      end: (at - startedAt) / 1000,
      speaker,
      isUser: false,
    })),
  });
}

/** Removes the text that WhatsApp writes in place of attachments; captions stay. */
function wordsOf(text: string): string {
  const [first = '', ...others] = text.replace(EDITED, '').split('\n');
  // on iPhones, text that the person did not type begins with a mark
  const isOurs = attachmentIn(first) !== null || OMITTED.test(first) || first.startsWith('\u200e');
  return (isOurs ? others : [first, ...others]).join('\n').replace(MARKS, '').trim();
}

function attachmentIn(text: string): string | null {
  const [first = ''] = text.split('\n', 1);
  const name = ATTACHED_IPHONE.exec(first)?.[1] ?? ATTACHED_ANDROID.exec(first)?.[1];
  return name?.replace(MARKS, '') ?? null;
}

async function messagesOf(file: SourceFile, timeZone: string): Promise<DatedMessage[]> {
  const messages: Message[] = [];
  const lines = (await textOf(file)).replace(/^\ufeff/, '').split('\n');
  for (const [at, line] of lines.entries()) {
    const message = messageIn(line, at + 1);
    const last = messages.at(-1);
    if (message) messages.push(message);
    else if (last) last.text += `\n${line}`;
    else if (line.trim() !== '') throw wrong(`${file.path}, line ${at + 1}: no message of WhatsApp`);
  }
  const order = orderOf(messages);
  return messages.map(message => {
    const day = dayOf(message.date, order);
    if (day === null) throw wrong(`${file.path}, line ${message.line}: ${message.date.join('.')} is no date`);
    return {
      ...message,
      day,
      at: instantOf({ day, minute: message.minute }, timeZone) + message.second * 1000,
    };
  });
}

function messageIn(line: string, number: number): Message | null {
  const match = HEADER.exec(line);
  if (!match) return null;
  const [, a = '', b = '', c = '', hour = '', minute = '', second = '0', half, rest = ''] = match;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  if (hours > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const colon = rest.indexOf(': ');
  const isSystem = colon < 1 || colon > MAX_SPEAKER_CHARS;
  return {
    line: number,
    date: [a, b, c],
    minute: hours * 60 + Number(minute),
    second: Number(second),
    speaker: isSystem ? null : rest.slice(0, colon).replace(MARKS, '').trim() || null,
    text: isSystem ? rest : rest.slice(colon + 2),
  };
}

const ORDERS = ['day', 'month', 'year'] as const;
type Order = (typeof ORDERS)[number];

/**
 * Determines the order of day, month and year: in the right order all dates are valid and ascending, with the shortest time
 * between the first and the last.
 */
function orderOf(messages: readonly Message[]): Order {
  const [best] = ORDERS.map(order => {
    const days = messages.map(({ date }) => dayOf(date, order));
    const faults = days.filter((day, at) => day === null || day < (days[at - 1] ?? '')).length;
    const spanMs = Date.parse(days.at(-1) ?? '') - Date.parse(days[0] ?? '');
    return { order, faults, spanMs: spanMs || 0 };
  }).sort((one, other) => one.faults - other.faults || one.spanMs - other.spanMs);
  return best?.order ?? 'day';
}

/** Returns `2025-03-02`; null: the date is invalid. */
function dayOf([a, b, c]: Message['date'], order: Order): string | null {
  const [year, month, day] = order === 'year' ? [a, b, c] : order === 'day' ? [c, b, a] : [c, a, b];
  if ((order === 'year') !== (a.length === 4) || (year.length !== 2 && year.length !== 4)) return null;
  if (month.length > 2 || day.length > 2) return null;
  const text = `${year.padStart(4, '20')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const at = Date.parse(`${text}T00:00:00Z`);
  return at >= 0 && new Date(at).toISOString().startsWith(text) ? text : null;
}

function titleOf(path: string): string {
  const name = nameOf(path) === '_chat' ? (path.split('/').at(-2) ?? '') : nameOf(path);
  return name || 'WhatsApp';
}
