/** Marked moments of conversations, shown on the lines of the transcript that they belong to. */
import { Icon, sayError } from './components.tsx';
import type { Mark, Segment } from './data.ts';
import { position } from './format.ts';
import { api } from './session.ts';
import { t } from './texts.ts';

export function loadMarks(conversationId: string): Promise<Mark[]> {
  return api<Mark[]>('GET', `/v1/conversations/${encodeURIComponent(conversationId)}/marks`);
}

/** `at` absent: now. */
export function setMark(conversationId: string, at?: string): Promise<Mark> {
  return api<Mark>('POST', '/v1/marks', { conversation_id: conversationId, ...(at && { at }) });
}

/** Marks by segment id: each belongs to the last segment that had started. */
export function bySegment(
  startedAt: string | null,
  segments: readonly Segment[],
  marks: readonly Mark[],
): ReadonlyMap<string, Mark[]> {
  const found = new Map<string, Mark[]>();
  if (startedAt === null) return found;
  for (const mark of marks) {
    const at = (Date.parse(mark.at) - Date.parse(startedAt)) / 1000;
    const segment = segments.findLast(({ start }) => start <= at) ?? segments[0];
    if (segment) found.set(segment.id, [...(found.get(segment.id) ?? []), mark]);
  }
  return found;
}

/** Marks a line of a transcript, or removes its marks. */
export function MarkButton({
  conversationId,
  startedAt,
  segment,
  marks,
  onChange,
}: {
  conversationId: string;
  startedAt: string;
  segment: Segment;
  marks: readonly Mark[];
  onChange: () => void;
}) {
  const isMarked = marks.length > 0;
  const name = isMarked ? t.value.unmark : t.value.markHere;
  async function change() {
    const at = new Date(Date.parse(startedAt) + Math.round(segment.start * 1000)).toISOString();
    if (!isMarked) await setMark(conversationId, at);
    for (const { id } of marks) await api('DELETE', `/v1/marks/${id}`);
  }
  return (
    <button
      type="button"
      class="quiet icon-button small"
      aria-pressed={isMarked}
      aria-label={`${name}: ${position(segment.start)}`}
      title={name}
      onClick={() => void change().catch(sayError).finally(onChange)}
    >
      <Icon name="memories" filled={isMarked} />
    </button>
  );
}

/** Lists the marked lines with links to their places in the transcript. */
export function MarkedLines({
  conversationId,
  segments,
  marked,
}: {
  conversationId: string;
  segments: readonly Segment[];
  marked: ReadonlyMap<string, Mark[]>;
}) {
  if (marked.size === 0) return null;
  return (
    <section>
      <h2 class="section">{t.value.marks}</h2>
      <ul class="card plain marks">
        {segments
          .filter(({ id }) => marked.has(id))
          .map(({ id, start, text }) => (
            <li key={id}>
              <span class="faint">{position(start)}</span>
              <a href={`/conversations/${conversationId}?segment=${id}`}>{text}</a>
            </li>
          ))}
      </ul>
    </section>
  );
}
