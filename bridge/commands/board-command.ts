import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { asCalled } from '../../config/called-as.ts';
import { environment, loadConfig } from '../../config/load.ts';
import { addBoard, forgetBoard, readBoards } from '../radios/lan/boards.ts';

const USAGE = 'usage: earshot-bridge board add NAME | list | forget NAME';
const OPTIONS = { config: { type: 'string' }, 'data-dir': { type: 'string' } } as const;

/**
 * `board`: manages the boards of the local network that may stream to this bridge.
 * @throws Error with what prevents it
 */
export async function runBoard(argv: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  const [action, name, ...more] = positionals;
  const { config } = loadConfig({
    env: environment,
    file: values.config,
    overrides: { dataDir: values['data-dir'] },
  });
  const dir = join(resolve(config.dataDir), 'bridge');
  const say = (text: string) => void process.stdout.write(asCalled(text));
  if (action === 'list' && name === undefined) return say(renderBoards(await readBoards(dir)));
  if (name === undefined || more.length > 0) throw new Error(USAGE);
  if (action === 'forget') {
    await forgetBoard(dir, name);
    return say(`${name} is forgotten.\n`);
  }
  if (action !== 'add') throw new Error(USAGE);
  const token = await addBoard(dir, name);
  const { radios, lan } = config.bridge;
  const hint = radios.includes('lan')
    ? `It connects to port ${lan.port} of this machine.`
    : 'The bridge does not listen for boards yet: bridge.radios must list lan.';
  say(`${token}\n\nThis is the token of the board ${name}. It is not shown again. ${hint}\n`);
}

function renderBoards(boards: readonly { id: string }[]): string {
  if (boards.length === 0) return 'There are no boards yet: earshot bridge board add NAME\n';
  return boards.map(({ id }) => `${id}\n`).join('');
}
