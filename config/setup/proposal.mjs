/** Which model of config/models.json is the best one for the second pass that a machine can run. */
import { availableParallelism, totalmem } from 'node:os';
import { sizeOfModel } from './model.mjs';

/** Past so many bytes of files a model wants so many cores, to be done with an utterance before the next one. */
const CORES = [
  [400e6, 4],
  [150e6, 2],
  [0, 1],
];
/** A model may take half of the memory: the rest is for the server and the system. */
const SHARE = 0.5;

/** For planning, not measured: as the catalogue has it, or what is loaded, once more to work in, and 200 MB for the runtime. */
export function memoryOf(model) {
  return model.memory ?? 2 * sizeOfModel(model) + 200e6;
}

export function coresFor(model) {
  if (model.cores !== undefined) return model.cores;
  return CORES.find(([bytes]) => sizeOfModel(model) > bytes)?.[1] ?? 1;
}

export function thisMachine() {
  return { cores: availableParallelism(), memoryBytes: totalmem() };
}

/**
 * The first of `proposals`, which are in the order of what they can do, that fits the machine.
 * @returns its name; null: none fits
 */
export function proposalFor({ proposals = [], models }, { cores, memoryBytes }) {
  const fits = model => coresFor(model) <= cores && memoryOf(model) <= SHARE * memoryBytes;
  return proposals.find(name => fits(models[name])) ?? null;
}

/** Describes the proposal for people. */
export function tellProposal(name, { cores, memoryBytes }, calledAs) {
  const machine = `${cores} ${cores === 1 ? 'core' : 'cores'}, ${Math.round(memoryBytes / 2 ** 30)} GB of memory`;
  return `This machine (${machine}) can transcribe each utterance again with a better model, which replaces the live text: ${calledAs} models pull ${name}`;
}
