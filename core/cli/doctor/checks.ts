import { bluetoothCheck } from './bluetooth.ts';
import { bridgeCheck } from './bridge.ts';
import { configurationCheck } from './configuration.ts';
import { dataDirectoryCheck } from './data-directory.ts';
import { deliveryCheck } from './delivery.ts';
import { type Check, type Patient, runCheck } from './examination.ts';
import type { Finding } from './finding.ts';
import { clockCheck, machineCheck } from './machine.ts';
import { embedderCheck, languageModelCheck } from './meaning.ts';
import { databaseCheck, pluginsCheck } from './plugins.ts';
import { portCheck } from './port.ts';
import { detectionCheck, recognitionCheck } from './speech.ts';
import { updatesCheck } from './updates.ts';

/** Rounds of checks, one after the other, so that checks do not disturb the measurements of earlier rounds. */
export const ROUNDS: readonly (readonly Check[])[] = [
  [machineCheck, clockCheck, configurationCheck, portCheck, updatesCheck],
  [dataDirectoryCheck],
  [databaseCheck, pluginsCheck, bluetoothCheck, bridgeCheck, deliveryCheck],
  [detectionCheck, recognitionCheck],
  [embedderCheck, languageModelCheck],
];

/** Runs all checks, and reports the findings of each round. Never rejects. */
export async function examine(patient: Patient, tell: (findings: Finding[]) => void): Promise<void> {
  for (const round of ROUNDS) {
    const findings = await Promise.all(round.map(check => runCheck(check, patient)));
    tell(findings.flat());
  }
}
