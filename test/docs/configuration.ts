import { readFileSync } from 'node:fs';
import { descriptionOf, type Key, keysOf } from '../../config/keys.ts';
import { ConfigSchema } from '../../config/schema.ts';
import { generated, table } from './markdown.ts';

const EXAMPLE = new URL('../../config/example.yaml', import.meta.url);

/** Renders docs/configuration.md from the schema, and from the part of the example that holds the plugins. */
export function configurationPage(): string {
  const keys = keysOf(ConfigSchema).filter(({ path }) => path[0] !== 'plugins');
  const example = readFileSync(EXAMPLE, 'utf8');
  const plugins = example.slice(example.indexOf('\n#plugins:\n') + 1);
  return `# Configuration

${generated('config/schema.ts and config/example.yaml')}

Nothing has to be configured. To change something, copy [config/example.yaml](../config/example.yaml) to
\`earshot.yaml\` in the directory that you start Earshot from. \`--config FILE\` or \`EARSHOT_CONFIG\` names another file.

- Every setting is also an environment variable. A variable overrides the file.
- Lists in a variable are separated by commas, or written as JSON: \`EARSHOT_STT=whisper,sherpa-onnx\`.
- Secrets can be read from a file: \`bridge.keyFile\` in YAML, or \`EARSHOT_BRIDGE__KEY_FILE\`.
- An unknown setting or variable stops the start; the error names it.
- Earshot reads its configuration at the start only. Restart it after a change.
- Options of plugins can also be changed on the page, which keeps them in a file of its own: [dashboard.md](dashboard.md#options-of-plugins).

## Settings

${table(['Setting', 'Variable', 'Default', 'Description'], keys.map(row))}

## Plugins

Options of a plugin stand below \`plugins\` and the plugin's name. Their variables begin with \`EARSHOT_PLUGINS__\` and the
name in capitals, with \`_\` for \`-\`: \`EARSHOT_PLUGINS__OPENAI_LLM__MODEL\`. Remove the \`#\` from each line that you
change, and from the lines of its sections. [plugins/README.md](../plugins/README.md) explains how to write a plugin.

\`\`\`text
${plugins.trim()}
\`\`\`
`;
}

function row({ path, variable, schema, secret }: Key): string[] {
  const value = ConfigSchema.parse({});
  const absent = path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], value);
  const note = secret ? ' (secret)' : '';
  return [
    `\`${path.join('.')}\``,
    `\`EARSHOT_${variable}\``,
    absent === undefined ? 'none' : `\`${JSON.stringify(absent)}\``,
    `${descriptionOf(schema) ?? ''}${note}`,
  ];
}
