#!/usr/bin/env node
/**
 * Makes Earshot ready to run: the packages of a checkout, the dashboard, and a speech recogniser for this machine. Run
 * before start, demo and test of a checkout; says nothing then when there is nothing to do. Plain JavaScript for any Node from 18 on,
 * without packages: it is what installs them. Standard output belongs to the command that follows, so all of it goes to
 * standard error.
 *
 *   node config/setup.mjs                packages, the dashboard, then a recogniser
 *   node config/setup.mjs --recogniser   a recogniser alone: `earshot setup`
 *
 * CI=true: no model is fetched. EARSHOT_OFFLINE=1: nothing is, neither model nor system package. A fetch that failed is not
 * tried again for a day, unless someone asks for it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './setup/dashboard.mjs';
import { proposedModel, stepsOf } from './setup/language-model.mjs';
import { installPackages } from './setup/packages.mjs';
import { proposalFor, tellProposal, thisMachine } from './setup/proposal.mjs';
import { makeRecogniserReady } from './setup/recogniser.mjs';
import { readSettings } from './setup/settings.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const catalogue = JSON.parse(readFileSync(join(root, 'config', 'models.json'), 'utf8'));

try {
  await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function main(args) {
  const event = process.env.npm_lifecycle_event;
  const isAsked = args.includes('--recogniser');
  if (!isAsked) {
    await installPackages(root, { env: process.env, withDevelopment: event === 'pretest', say });
    buildDashboard(root, { say });
  }
  const settings = await readSettings(root, process.env, process.cwd());
  const found = await makeRecogniserReady({
    catalogue,
    settings,
    env: process.env,
    now: Date.now(),
    notes: isAsked ? null : join(root, 'node_modules', '.cache', 'earshot'),
    mayFetch: !isSet('CI') && !isSet('EARSHOT_OFFLINE'),
    mayInstall: !isSet('EARSHOT_OFFLINE'),
    // A better recogniser than the one there is: worth the time when a server starts, not before tests and the demo.
    mayImprove: event !== 'pretest' && event !== 'predemo',
    say,
  });
  if (!isAsked) return;
  proposeLanguageModel();
  if (found === 'ready') say('Nothing is left to make ready');
  if (found === 'ready') propose(settings);
  if (found === 'unneeded') say(withoutOurs(settings.order));
  if (found === 'makeshift')
    say(
      'Until the speech model is there, pocketsphinx is used: it works, but makes many mistakes with people',
    );
  if (found === 'none') process.exitCode = 1;
}

/** Where no second pass is configured yet, and the machine is strong enough for one. */
function propose({ order, hasFinal }) {
  const machine = thisMachine();
  const name = hasFinal || !order.includes('sherpa-onnx') ? null : proposalFor(catalogue, machine);
  if (name !== null) say(tellProposal(name, machine, process.env.EARSHOT_CALLED_AS ?? 'npx earshot'));
}

/** Summaries, tasks and memories are better with one; nobody is made to fetch a gigabyte. */
function proposeLanguageModel() {
  const name = proposedModel(catalogue.models, thisMachine());
  const earshot = process.env.EARSHOT_CALLED_AS ?? 'npx earshot';
  if (name !== null) say(`This machine can run the language model ${name}: ${stepsOf(name, earshot)}`);
}

/** @param order the recognisers that are configured; none of them is made ready from here */
function withoutOurs(order) {
  if (order.length === 0)
    return 'No speech recogniser is configured: nothing will be transcribed. Name some in the configuration, such as stt: [sherpa-onnx, pocketsphinx]';
  const earshot = process.env.EARSHOT_CALLED_AS ?? 'npx earshot';
  return `The configured speech recognisers (${order.join(', ')}) are not made ready by this command; ${earshot} status tells whether they work`;
}

/** `CI=false` and `CI=0` mean no, as does an empty value. */
function isSet(variable) {
  return !['', '0', 'false', undefined].includes(process.env[variable]?.toLowerCase());
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
