import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import type { LoadedConfig } from '../../../config/load.ts';
import { AppError } from '../../runtime/errors.ts';
import { version } from '../../runtime/version.ts';
import type { Finding } from './finding.ts';
import { render } from './report.ts';

const PLAIN = { width: Number.POSITIVE_INFINITY, paint: (_: string, text: string) => text };

/**
 * Writes the text for a bug report, which people can read before they send it: versions, findings and the
 * configuration, without speech, secrets, or paths of home directories.
 * @param loaded null: the configuration is broken, and the findings tell why
 */
export async function writeBundle(
  file: string,
  { findings, loaded }: { findings: readonly Finding[]; loaded: LoadedConfig | null },
): Promise<void> {
  const parts = [
    `Earshot ${version}, Node ${process.version}, ${process.platform} ${process.arch}`,
    render(findings, PLAIN),
    loaded === null ? 'The configuration cannot be read.' : `Configuration\n${loaded.describe().trim()}`,
  ];
  const text = parts.join('\n\n').replaceAll(homedir(), '~');
  await writeFile(file, `${text}\n`, { flag: 'wx', mode: 0o600 }).catch(cause => {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'is there already: name another file' : `cannot be written (${code})`;
    throw new AppError('conflict', `${file} ${reason}`, { cause });
  });
}
