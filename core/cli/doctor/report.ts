import { styleText } from 'node:util';
import type { Finding } from './finding.ts';

type Colour = 'green' | 'yellow' | 'red' | 'dim';
const SIGNS: Record<Finding['level'], [sign: string, colour: Colour]> = {
  good: ['✓', 'green'],
  note: ['·', 'dim'],
  doubt: ['!', 'yellow'],
  bad: ['✗', 'red'],
};

interface Paper {
  /** Characters in a line; infinite outside a terminal. */
  width: number;
  /** Colours a text on a terminal. */
  paint(colour: Colour | 'bold', text: string): string;
}

/** Returns the format for a stream: wrapped and coloured on a terminal, plain elsewhere. */
export function paperFor(stream: NodeJS.WriteStream): Paper {
  return {
    width: stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY,
    paint: (colour, text) => styleText(colour, text, { stream }),
  };
}

/** Renders findings by group, each with its remedy below. */
export function render(findings: readonly Finding[], { width, paint }: Paper): string {
  const groups = Map.groupBy(findings, ({ group }) => group);
  const blocks = [...groups].map(([group, members]) => {
    const lines = members.flatMap(({ level, what, detail, cure }) => {
      const [sign, colour] = SIGNS[level];
      const [first = '', ...rest] = wrap(`${what}: ${detail}`, width - 4);
      const told = [`  ${paint(colour, sign)} ${first}`, ...rest.map(line => `    ${line}`)];
      if (cure === null) return told;
      return [...told, `    ${paint('bold', `→ ${cure}`)}`]; // on one line, so that it can be copied
    });
    return [paint('bold', group), ...lines].join('\n');
  });
  return blocks.join('\n');
}

/** Wraps text without cutting words, so that paths can be copied. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

export function summary(findings: readonly Finding[], { paint }: Paper): string {
  const count = (level: Finding['level']) => findings.filter(finding => finding.level === level).length;
  const [bad, doubt] = [count('bad'), count('doubt')];
  if (bad > 0) return paint('red', `${bad} to fix before Earshot works, ${doubt} to check`);
  return doubt > 0 ? paint('yellow', `Earshot works; ${doubt} to check`) : paint('green', 'Everything works');
}
