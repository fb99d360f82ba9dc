import { createHash } from 'node:crypto';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { conversationOf, type Format, instantFrom, instantInName, nameOf, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

const MAX_FRONT_CHARS = 20_000;
const Front = z.looseObject({
  id: z.union([z.string(), z.number()]).nullish(),
  title: z.unknown().optional(),
  date: z.unknown().optional(),
  created: z.unknown().optional(),
  created_at: z.unknown().optional(),
});

/** A note as Granola exports it, or as Obsidian keeps it: Markdown, with or without front matter. */
export const markdown: Format = {
  title: 'Markdown',
  claims: path => /\.(md|markdown)$/i.test(path),
  async *things(file, { timeZone }) {
    const text = (await textOf(file)).replace(/^\ufeff/, '');
    const { front, body } = split(text, file.path);
    const heading = /^# (.*)$/m.exec(body)?.[1]?.trim();
    const said = body.replace(/^# .*$/m, '').trim();
    if (said === '') {
      yield { kind: 'left_out', what: 'note', why: 'it is empty' };
      return;
    }
    const title = typeof front.title === 'string' ? front.title : heading || nameOf(file.path);
    const told = [front.date, front.created, front.created_at].map(instantFrom).find(at => at !== null);
    yield conversationOf({
      key: `markdown:${createHash('sha256').update(`${title}\0${said}`).digest('hex')}`,
      source: 'external_integration',
      title,
      startedAt: told ?? instantInName(file.path, timeZone) ?? file.modifiedAt,
      segments: said
        .split(/\n{2,}/)
        .map((text, at) => ({ text, start: at / 1000, end: at / 1000, speaker: null, isUser: true }))
        .filter(({ text }) => text.trim() !== ''),
    });
  },
};

function split(text: string, path: string): { front: z.infer<typeof Front>; body: string } {
  if (!text.startsWith('---\n')) return { front: Front.parse({}), body: text };
  const end = text.indexOf('\n---', 3);
  if (end < 0 || end > MAX_FRONT_CHARS) return { front: Front.parse({}), body: text };
  const document = parseDocument(text.slice(4, end + 1), { schema: 'core' });
  const front =
    document.errors.length > 0 ? null : Front.safeParse(document.toJS({ maxAliasCount: 10 }) ?? {});
  if (!front?.success) throw wrong(`${path}: its front matter is no YAML`);
  return { front: front.data, body: text.slice(text.indexOf('\n', end + 1) + 1 || text.length) };
}
