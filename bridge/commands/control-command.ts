import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { environment, loadConfig } from '../../config/load.ts';
import { askBridge } from '../requests.ts';

const OPTIONS = { config: { type: 'string' }, 'data-dir': { type: 'string' } } as const;

/**
 * `control`: shows and sets the controls of connected wearables.
 * @throws Error with a message of one line
 */
export async function runControl(argv: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  const [device, control, value, ...more] = positionals;
  if (more.length > 0) throw new Error(`unexpected: ${more.join(' ')}; a name with spaces is put in quotes`);
  if (control !== undefined && value === undefined)
    throw new Error(`${control} needs a value; earshot bridge control lists them`);
  const { config } = loadConfig({
    env: environment,
    file: values.config,
    overrides: { dataDir: values['data-dir'] },
  });
  const lines = await askBridge(join(config.dataDir, 'bridge'), {
    ...(device === undefined ? {} : { device }),
    ...(control === undefined ? {} : { control }),
    ...(value === undefined ? {} : { value }),
  });
  process.stdout.write(`${lines.join('\n')}\n`);
}
