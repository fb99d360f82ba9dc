/** Which language model of config/models.json a machine can run beside everything else. */

/** Share of the machine's memory that a model may take. */
const SHARE = 0.5;

/**
 * The largest that fits, or null: none does.
 * @param models those of the catalogue
 * @param machine as `thisMachine` has it
 */
export function proposedModel(models, { memoryBytes, cores }) {
  const fitting = Object.entries(models).filter(
    ([, model]) => model.plugin === 'llama' && model.memory <= memoryBytes * SHARE && model.cores <= cores,
  );
  const [best] = fitting.sort(([, one], [, other]) => other.memory - one.memory);
  return best ? best[0] : null;
}

/** Describes how to start using it, in one line. */
export function stepsOf(name, earshot) {
  return `npm install node-llama-cpp@3.21.1, ${earshot} models pull ${name}, and llm: [llama] in the configuration`;
}
