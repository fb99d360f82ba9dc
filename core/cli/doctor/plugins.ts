import { join } from 'node:path';
import type { Diagnosis } from '../../contract/plugin.ts';
import { PLUGIN } from '../../control/commands.ts';
import { diagnose } from '../../plugin-host/diagnosis.ts';
import type { KnownPlugin } from '../../plugin-host/selection.ts';
import { chosenPlugins, optionsOf } from './configuration.ts';
import type { Check, Patient } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';
import { splitCure } from './trial.ts';

const { note, bad } = findingsOf('Database');
const { note: remark, doubt } = findingsOf('Plugins');
const NONE = 'correct storage: sql, or the name of a plugin of your own';

/** Reports the storage's diagnosis; nothing is opened for writing. */
export const databaseCheck: Check = {
  group: 'Database',
  what: 'database',
  limitMs: 60_000,
  cure: 'look at the log of the server, or put back a backup',
  async look(patient, signal) {
    const { storage, dataDir } = patient.loaded.config;
    const known = chosenPlugins(patient).find(({ name }) => name === storage);
    if (!known) return [bad('database', `there is no storage ${storage}`, NONE)];
    const told = await ask(known, dataDir, patient, signal);
    if (!told) return [note('database', `${storage} does not report its state`)];
    return told.map(diagnosis => ({ group: 'Database', ...diagnosis }));
  },
};

/** Reports the diagnoses of all other plugins. */
export const pluginsCheck: Check = {
  group: 'Plugins',
  what: 'plugins',
  limitMs: 30_000,
  cure: 'try them one by one: earshot plugin check PATH',
  async look(patient, signal) {
    const { storage, dataDir } = patient.loaded.config;
    const others = chosenPlugins(patient).filter(({ name }) => name !== storage);
    const told = others.map(async known => {
      const { name } = known;
      const diagnoses = await ask(known, join(dataDir, 'plugins', name), patient, signal);
      return (diagnoses ?? []).map(each => ({ ...each, group: 'Plugins', what: `${name}, ${each.what}` }));
    });
    return [...(await Promise.all(told)).flat(), ...tellServer(patient)];
  },
};

/** Reports plugins that do not work in the running server, and that no other check asks. */
function tellServer({ server }: Patient): Finding[] {
  if (typeof server !== 'object' || !('ready' in server)) return [];
  return server.ready
    .filter(({ part, ok }) => part === PLUGIN && !ok)
    .map(({ name, detail, optional, cure }) => {
      if (optional) return remark(name, cure === null ? detail : `${detail}; ${cure}`);
      const [reason, own] = splitCure(detail, 'look at the log of the server');
      return doubt(name, `in the running server: ${reason}`, cure ?? own);
    });
}

async function ask(
  known: KnownPlugin,
  dataDir: string,
  { loaded, clock }: Patient,
  signal: AbortSignal,
): Promise<Diagnosis[] | null> {
  const { plugin, options } = await optionsOf(known, loaded);
  return diagnose(plugin, { options, dataDir, clock, signal });
}
