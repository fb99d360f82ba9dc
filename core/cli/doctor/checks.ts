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

/** In rounds, one after the other: what is measured in one is not to be disturbed by the next. */
export const ROUNDS: readonly (readonly Check[])[] = [
  [machineCheck, clockCheck, configurationCheck, portCheck, updatesCheck],
  [dataDirectoryCheck],
  [databaseCheck, pluginsCheck, bluetoothCheck, bridgeCheck, deliveryCheck],
  [detectionCheck, recognitionCheck],
  [embedderCheck, languageModelCheck],
];

/** Everything that a home server can have wrong. Never rejects; each round is told when it is through. */
export async function examine(patient: Patient, tell: (findings: Finding[]) => void): Promise<void> {
  for (const round of ROUNDS) {
    const findings = await Promise.all(round.map(check => runCheck(check, patient)));
    tell(findings.flat());
  }
}
