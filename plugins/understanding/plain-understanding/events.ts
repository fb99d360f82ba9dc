/** Appointments: something that is held or somebody who comes, on a day or at a time that is still to come. */
import type { UnderstoodEvent, UnderstoodTask } from '../../../core/contract/plugin.ts';
import { type When, whenOf } from './dates.ts';
import type { Line, LineContext, Pacer } from './lines.ts';
import { contentOf } from './task-text.ts';
import { sentenceEnd, type Token } from './tokens.ts';

const MAX_EVENTS = 50;
const MAX_TITLE_WORDS = 8;
const MAX_TITLE_CHARS = 80;
/** Lines before an appointment in which its subject is looked for. */
const TOPIC_LINES = 3;
const MAX_TOPIC_WORDS = 100;
/** The same appointment may be told in parts. */
const SAME_LINES = 4;

interface Found {
  title: string;
  when: When;
  lines: number[];
  hasNoun: boolean;
}

/** @param tasks what the owner is to do at a time is no appointment as well */
export async function eventsOf(
  lines: readonly Line[],
  tasks: readonly UnderstoodTask[],
  context: LineContext,
  pacer: Pacer,
): Promise<UnderstoodEvent[]> {
  const found: Found[] = [];
  const taskDays = new Set(
    tasks.flatMap(({ dueAt, from }) =>
      dueAt === null ? [] : from.map(id => `${id} ${context.wallTime(dueAt).day}`),
    ),
  );
  for (const [index, line] of lines.entries()) {
    await pacer.pause();
    if (found.length >= MAX_EVENTS) break;
    if (!line.when || !isHeard(lines, index, context)) continue;
    for (let from = 0; from < line.tokens.length; ) {
      const to = sentenceEnd(line.tokens, from);
      const event = eventIn(lines, index, from, to, context);
      if (event && !taskDays.has(`${line.segment.id} ${event.when.day}`)) add(found, event);
      from = to;
    }
  }
  return found.slice(0, MAX_EVENTS).map(({ title, when, lines: from }) => ({
    ...{ text: title, startAt: when.at, minutes: when.minutes },
    from: from.flatMap(index => lines[index]?.segment.id ?? []),
  }));
}

/** Said by the owner or a known person, or to the owner: not by television in the background. */
function isHeard(lines: readonly Line[], index: number, { people }: LineContext): boolean {
  const line = lines[index];
  if (!line) return false;
  return (
    line.isOwn || people.includes(line.segment.speaker) || [1, -1].some(step => lines[index + step]?.isOwn)
  );
}

function eventIn(
  lines: readonly Line[],
  index: number,
  from: number,
  to: number,
  context: LineContext,
): Found | null {
  const line = lines[index];
  if (!line || isNotPlanned(line, from, to)) return null;
  const { tokens, language, segment, mentioned } = line;
  const said = { at: segment.startAt, zone: context, mentioned };
  const when = whenOf(tokens, from, to, language, said);
  if (!when) return null;
  const nouns = language.acts.appointments;
  const hasNoun = tokens.slice(from, to).some(({ word }) => nouns.has(word.replace(/'s$/, '')));
  if (!(when.hasDay && when.hasTime) && !(hasNoun && when.hasDay)) return null;
  const own = titleOf(line, from, to, when);
  const topic = hasNoun && own ? null : topicBefore(lines, index);
  if (!hasNoun && !topic) return null;
  const title = [topic?.title, own]
    .filter(each => each)
    .join(', ')
    .slice(0, MAX_TITLE_CHARS)
    .trim();
  if (title === '') return null;
  return {
    title: title.replace(/^\p{L}/u, letter => letter.toUpperCase()),
    ...{ when, hasNoun, lines: topic ? [topic.index, index] : [index] },
  };
}

/** A condition, what is over, what is not to be. */
function isNotPlanned({ tokens, language: { acts: words } }: Line, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const word = tokens[at]?.word ?? '';
    if (words.negations.has(word) || words.over.has(word) || /n't$/.test(word)) return true;
    if (words.noPlanBefore.at(tokens, at, to) || words.cancels.at(tokens, at, to)) return true;
  }
  return false;
}

function topicBefore(lines: readonly Line[], index: number): { title: string; index: number } | null {
  for (let at = index - 1; at >= Math.max(0, index - TOPIC_LINES); at--) {
    const line = lines[at];
    const noun = line?.tokens
      .slice(-MAX_TOPIC_WORDS)
      .findLast(({ word }) => line.language.acts.appointments.has(word) && word.length > 4);
    if (noun) return { title: noun.text, index: at };
  }
  return null;
}

/** Its words without those that say when, from the first one that tells something. */
function titleOf({ tokens, language, segment }: Line, from: number, to: number, when: When): string | null {
  const { acts: words } = language;
  const isLoose = (token: Token | undefined) =>
    token === undefined ||
    words.fillers.has(token.word) ||
    words.yes.at([token], 0) !== null ||
    words.clauseStarts.at([token], 0) !== null;
  const kept: number[] = [];
  for (let at = from; at < to; at++) if (!when.tokens.has(at) && !isLoose(tokens[at])) kept.push(at);
  const isContent = (at: number) => contentOf(tokens.slice(at, at + 1), language).length > 0;
  const first = kept.findIndex(isContent);
  const chosen = first < 0 ? [] : kept.slice(first, first + MAX_TITLE_WORDS);
  while (chosen.length > 0 && !isContent(chosen.at(-1) ?? 0)) chosen.pop();
  if (chosen.length === 0) return null;
  return chosen
    .map(at => segment.text.slice(tokens[at]?.start, tokens[at]?.end))
    .join(' ')
    .replaceAll("' ", "'");
}

/** The same appointment, said again or with more detail, is one. */
function add(found: Found[], event: Found): void {
  const line = event.lines.at(-1) ?? 0;
  const same = found.findIndex(
    ({ when, lines }) =>
      when.at === event.when.at ||
      (when.day === event.when.day &&
        line - (lines.at(-1) ?? 0) <= SAME_LINES &&
        !(when.hasTime && event.when.hasTime)),
  );
  const known = found[same];
  if (!known) {
    found.push(event);
    return;
  }
  found[same] = {
    title: known.hasNoun || !event.hasNoun ? known.title : event.title,
    when: event.when.hasTime && !known.when.hasTime ? event.when : known.when,
    lines: [...new Set([...known.lines, ...event.lines])].sort((a, b) => a - b),
    hasNoun: known.hasNoun || event.hasNoun,
  };
}
