import { createHash } from 'node:crypto';
import type { ForeignSegment, ForeignThing } from '../foreign-item.ts';
import { MAX_ITEM_CHARS } from '../foreign-item.ts';
import { clipped, conversationOf, type Format, instantFrom, nameOf, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

const NOTES = /(?:^|\/)(facts|todos)\.md$/;
const DAILY = /(?:^|\/)daily\//;
const FIELD = /^- (start_time|end_time|conversation_id|id|state):(.*)$/;
const SAID = /^- ([^:\n]{1,100}): (.*)$/;
const MAX_STEP_SECONDS = 5;

/** The folder that Bee's own command syncs: facts, to-dos, daily notes and conversations as Markdown. */
export const bee: Format = {
  title: 'Bee',
  claims: (path, head) =>
    NOTES.test(path) || isDaily(path) || (/\.md$/i.test(path) && /^- start_time:/m.test(head)),
  async *things(file) {
    const text = await textOf(file);
    if (isDaily(file.path))
      yield { kind: 'left_out', what: 'daily note', why: 'its conversations contain it' };
    else if (NOTES.test(file.path)) yield* notesIn(text, file.path);
    else yield conversationIn(text, file.path);
  },
};

function isDaily(path: string): boolean {
  return path.endsWith('.md') && DAILY.test(path);
}

function* notesIn(text: string, path: string): Generator<ForeignThing> {
  const isFacts = nameOf(path) === 'facts';
  for (const line of text.split('\n')) {
    const item = /^[-*] (.*)$/.exec(line)?.[1]?.trim();
    if (item === undefined) continue;
    const match = /^\[([ xX])\] (.*)$/.exec(item);
    const content = clipped((match?.[2] ?? item).trim(), MAX_ITEM_CHARS);
    if (content === '') continue;
    const key = `bee:${createHash('sha256').update(content).digest('hex')}`;
    if (isFacts) yield { kind: 'memory', key, content, category: 'other', tags: [], createdAt: null };
    else {
      const completed = match?.[1]?.toLowerCase() === 'x';
      yield { kind: 'task', key, description: content, completed, dueAt: null, createdAt: null };
    }
  }
}

function conversationIn(text: string, path: string): ForeignThing {
  const fields = new Map<string, string>();
  const sections = new Map<string, string[]>();
  let section: string[] | null = null;
  let title = '';
  for (const line of text.split('\n')) {
    const heading = /^(#{1,3}) (.*)$/.exec(line);
    const field = section ? null : FIELD.exec(line);
    if (heading?.[1] === '#') title ||= (heading[2] ?? '').trim();
    else if (heading) {
      section = [];
      sections.set((heading[2] ?? '').trim().toLowerCase(), section);
    } else if (field) fields.set(field[1] ?? '', (field[2] ?? '').trim());
    else section?.push(line);
  }
  const startedAt = instantFrom(fields.get('start_time'));
  if (startedAt === null) throw wrong(`${path}: its start_time cannot be read`);
  const finishedAt = instantFrom(fields.get('end_time'));
  const said = linesOf(sections.get('transcriptions') ?? []);
  const prose = (name: string) => (sections.get(name) ?? []).join(' ').trim();
  const id = fields.get('conversation_id') ?? fields.get('id') ?? nameOf(path);
  const short = prose('short summary');
  if (said.length === 0 && short === '' && prose('summary') === '')
    return { kind: 'left_out', what: 'conversation', why: 'nothing is said in it' };
  return conversationOf({
    key: `bee:${id}`,
    source: 'bee',
    title: title || short,
    overview: prose('summary') || short,
    startedAt,
    finishedAt: finishedAt !== null && finishedAt >= startedAt ? finishedAt : null,
    segments: spread(said, finishedAt === null ? 0 : (finishedAt - startedAt) / 1000),
  });
}

function linesOf(lines: readonly string[]): { speaker: string; text: string }[] {
  const said: { speaker: string; text: string }[] = [];
  for (const line of lines) {
    const match = SAID.exec(line);
    const last = said.at(-1);
    if (match) said.push({ speaker: match[1] ?? '', text: match[2] ?? '' });
    else if (last && line.trim() !== '') last.text = `${last.text} ${line.trim()}`;
  }
  return said;
}

/** Assigns evenly spaced times, because Bee writes none. */
function spread(said: readonly { speaker: string; text: string }[], seconds: number): ForeignSegment[] {
  const step = seconds > 0 ? seconds / said.length : MAX_STEP_SECONDS;
  return said.map(({ speaker, text }, at) => ({
    text,
    speaker,
    isUser: /^(you|me)$/i.test(speaker),
    start: at * step,
    end: (at + 1) * step,
  }));
}
