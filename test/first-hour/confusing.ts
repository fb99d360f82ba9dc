/** Commands of Earshot in its own output. */
const HINT = /\b(?:npx )?earshot ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)/g;
/** Without `key`: `key ada` creates one. */
const COMMANDS_WITHIN = ['user', 'notify', 'app', 'models', 'system', 'plugin', 'hook'];

/** Finds what would confuse a newcomer: stack traces, internals, contradictions, hints at commands that do not exist. */
export async function confusing(
  said: string,
  helpOf: (words: string[]) => Promise<string>,
): Promise<string[]> {
  const found: string[] = [];
  if (/^\s+at .*(?::\d+:\d+\)?|<anonymous>\)?)$/m.test(said)) found.push('it shows a stack trace');
  if (/\[object Object\]|\bundefined\b|\bNaN\b/.test(said))
    found.push('it shows undefined, NaN or [object Object]');
  if (/could not be fetched/.test(said) && /Nothing is left/.test(said)) found.push('it contradicts itself');
  const top = await helpOf([]);
  for (const [, words = ''] of said.matchAll(HINT)) {
    const [first = '', second] = words.split(' ');
    if (!hasCommand(top, first)) found.push(`there is no command ${first}, which it names`);
    else if (second !== undefined && COMMANDS_WITHIN.includes(first)) {
      const within = await helpOf([first]);
      if (
        /^Commands:/m.test(within) &&
        !/^Usage: .*[<[](?!options|command)\w+[>\]]/m.test(within) &&
        !hasCommand(within, second)
      )
        found.push(`there is no command ${first} ${second}, which it names`);
    }
  }
  return [...new Set(found)];
}

function hasCommand(help: string, name: string): boolean {
  return new RegExp(`^ {2}${name}( |$)`, 'm').test(help);
}
