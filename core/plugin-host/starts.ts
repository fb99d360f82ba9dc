/**
 * Counts the starts in a row that a third party's plugin has ended, in a file that survives them. A plugin that ended
 * the last three is left out, until somebody asks for another try.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../runtime/errors.ts';

const MAX_CRASHES = 3;
/** A plugin that ends the process later than this after its start has not prevented the start. */
const START_MS = 10 * 60_000;
const MAX_MESSAGE = 500;

const Start = z.object({
  /** Starts in a row that it has ended. */
  crashes: z.number().int().min(0),
  /** Outcome of the last start: it was being loaded, was up, or was seen to end the process. */
  phase: z.enum(['starting', 'up', 'crashed']),
  /** Epoch ms. */
  at: z.number(),
  message: z.string().nullable(),
});
const Starts = z.record(z.string(), Start);
type Starts = z.infer<typeof Starts>;

export type PluginStarts = ReturnType<typeof createPluginStarts>;

/** Reads what is known of the starts of this data directory, and writes nothing yet. */
export function createPluginStarts(dataDir: string, clock: { now(): number }) {
  const file = fileOf(dataDir);
  let starts = read(file);

  function set(name: string, change: Partial<Starts[string]>): void {
    const known = starts[name] ?? { crashes: 0, phase: 'up', at: clock.now(), message: null };
    starts = { ...read(file), [name]: { ...known, ...change } }; // `retryPlugin` may have changed it
    write(file, starts);
  }

  return {
    /** Concludes the start before: whatever it was loading when it ended has ended it. */
    conclude(): void {
      const concluded = Object.entries(starts).flatMap(([name, start]): [string, Starts[string]][] => {
        if (start.crashes >= MAX_CRASHES) return [[name, start]];
        if (start.phase === 'up') return [];
        const lost = start.phase === 'starting' ? 1 : 0;
        return [[name, { ...start, phase: 'crashed', crashes: start.crashes + lost }]];
      });
      if (Object.keys(starts).length > 0) write(file, Object.fromEntries(concluded));
      starts = Object.fromEntries(concluded);
    },
    /** True: one that is left in may end this start, and those around it should not be blamed. */
    hasSuspects: () => Object.values(starts).some(({ crashes }) => crashes > 0 && crashes < MAX_CRASHES),
    /** @throws AppError `config_error`, with the way out, where the plugin is left out */
    refuse(name: string): void {
      const { crashes = 0, message = null } = starts[name] ?? {};
      if (crashes < MAX_CRASHES) return;
      const why = message === null ? '' : ` (${message})`;
      throw new AppError(
        'config_error',
        `${name} ended the last ${crashes} starts${why} and is left out; to try it again: ` +
          `earshot plugin retry ${name}, then restart the server`,
      );
    },
    /** It is being loaded: if the process ends now, that is its doing. */
    begin: (name: string) => set(name, { phase: 'starting', at: clock.now() }),
    /** It was loaded, or failed in a way that ends nothing. */
    survived: (name: string) => set(name, { phase: 'up' }),
    /** It prevents the start, or is about to end the process. Counts once in a start, and not long after it. */
    crashed(name: string, error: unknown): void {
      const start = starts[name];
      if (!start || start.phase === 'crashed' || clock.now() - start.at > START_MS) return;
      const message = String(error instanceof Error ? error.message : error).slice(0, MAX_MESSAGE);
      set(name, { phase: 'crashed', crashes: start.crashes + 1, message });
    },
  };
}

/** Forgets the starts that a plugin has ended. False: none is known. */
export function retryPlugin(dataDir: string, name: string): boolean {
  const { [name]: start, ...others } = read(fileOf(dataDir));
  if (!start || start.crashes === 0) return false;
  write(fileOf(dataDir), others);
  return true;
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'plugin-starts.json');
}

function read(file: string): Starts {
  try {
    return Starts.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {}; // missing or truncated: it is created again
  }
}

/** Synchronous, as the process may be about to end. */
function write(file: string, starts: Starts): void {
  writeFileSync(`${file}.new`, JSON.stringify(starts), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
