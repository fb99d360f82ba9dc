import type { ForeignSegment } from '../foreign-item.ts';
import { conversationOf, type Format, nameOf, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

/** `> [1](#startMs=1700000000000&endMs=1700000002000): text`, epoch ms; speaker 1 is usually the owner. */
const LINE = /^>?\s*\[([^\]\n]{0,100})\]\(#startMs=(\d{12,14})&endMs=(\d{12,14})\):?(.*)$/;
const OWNER = '1';

/** The export of Limitless: a ZIP with `lifelogs/YEAR/MONTH/*.md`. */
export const limitless: Format = {
  title: 'Limitless',
  claims: (path, head) =>
    /\.md$/i.test(path) && (/(^|\/)lifelogs\//.test(path) || head.includes('(#startMs=')),
  async *things(file) {
    const text = await textOf(file);
    const lines: { speaker: string; from: number; to: number; text: string }[] = [];
    const topics: string[] = [];
    let title = '';
    for (const [at, line] of text.split('\n').entries()) {
      const heading = /^(#{1,3})\s(.*)$/.exec(line);
      if (heading?.[1] === '#') title ||= (heading[2] ?? '').trim();
      else if (heading) topics.push((heading[2] ?? '').trim());
      const match = LINE.exec(line);
      if (match) {
        const [, speaker = '', start, end, said = ''] = match;
        lines.push({ speaker, from: Number(start), to: Number(end), text: said.trim() });
      } else if (line.includes('#startMs='))
        throw wrong(`${file.path}, line ${at + 1}: its times cannot be read`);
      else if (line.startsWith('>') && lines.length > 0) {
        const last = lines.at(-1);
        if (last) last.text = `${last.text} ${line.slice(1).trim()}`;
      }
    }
    const said = lines.filter(line => line.text.trim() !== '');
    if (said.length === 0 && lines.length === 0 && title === '')
      throw wrong(`${file.path} is no lifelog: it has neither a title nor a line with times`);
    const begun = Math.min(...said.map(({ from }) => from));
    if (said.length === 0) {
      yield { kind: 'left_out', what: 'lifelog', why: 'nothing is said in it' };
      return;
    }
    const segments = said.map(({ speaker, from, to, text }): ForeignSegment => {
      if (to < from) throw wrong(`${file.path}: something ends before it begins`);
      return {
        text,
        start: (from - begun) / 1000,
        end: (to - begun) / 1000,
        speaker: speaker === '' ? null : speaker,
        isUser: speaker === OWNER,
      };
    });
    yield conversationOf({
      key: `limitless:${begun}`,
      source: 'limitless',
      title: title || nameOf(file.path),
      overview: topics.join('. '),
      startedAt: begun,
      segments,
    });
  },
};
