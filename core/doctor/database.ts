import { AppError } from '../errors.ts';
import { createLog } from '../log.ts';
import { chosenPlugins, optionsOf } from './configuration.ts';
import type { Check } from './examination.ts';
import { findingsOf } from './finding.ts';

const { note, bad } = findingsOf('Database');
const NONE = 'correct storage: sql, or the name of a plugin of your own';

/** The storage tells of itself; nothing is opened for writing. */
export const databaseCheck: Check = {
  group: 'Database',
  what: 'database',
  limitMs: 60_000,
  cure: 'look at the log of the server, or put back a backup',
  async look(patient, signal) {
    const { storage, dataDir } = patient.loaded.config;
    const known = chosenPlugins(patient).find(({ name }) => name === storage);
    if (!known) return [bad('database', `there is no storage ${storage}`, NONE)];
    const { plugin, options } = await optionsOf(known, patient);
    if (!plugin.diagnose) return [note('database', `${plugin.title} says nothing of its state`)];
    const symptoms = await plugin.diagnose({
      options,
      dataDir,
      signal,
      clock: patient.clock,
      log: createLog({ level: 'silent', format: 'json' }),
      error: (code, message, details) => new AppError(code, message, details),
    });
    return symptoms.map(symptom => ({ group: 'Database', ...symptom }));
  },
};
