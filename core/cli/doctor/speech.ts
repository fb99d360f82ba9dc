import { sttNames } from '../../../config/load.ts';
import { bundledSpeech, type Speech } from '../../../plugins/kit/suites/speech.ts';
import { utteranceOf, wordErrorRate } from '../../../plugins/kit/suites/stt.ts';
import type { SttProvider } from '../../contract/plugin.ts';
import { builtinsOf } from '../../plugin-host/builtin.ts';
import type { PluginHost } from '../../plugin-host/plugin-host.ts';
import { AppError } from '../../runtime/errors.ts';
import { chosenPlugins } from './configuration.ts';
import type { Check, Patient } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';
import { excuseOf, messageOf, splitCure, withoutName, withPlugin } from './trial.ts';

const { good, note, doubt, bad } = findingsOf('Speech');

const SAMPLE_RATE = 16_000;
const LANGUAGE = 'en';
const MANY_WORD_ERRORS = 0.5;
/** Ratio of recognition time to speech above which a recogniser is too slow. */
const TOO_SLOW = 1;
const CHOOSE = 'name recognisers in the configuration: stt: [sherpa-onnx, pocketsphinx]';

/** Checks recognisers one after the other, as each uses a whole processor. */
export const recognitionCheck: Check = {
  group: 'Speech',
  what: 'recognition',
  limitMs: 90_000,
  cure: 'try one alone: earshot plugin check pocketsphinx',
  async look(patient, signal) {
    const stt = sttNames(patient.loaded.config);
    if (stt.length === 0) return [doubt('recognition', 'nothing is transcribed: stt is empty', CHOOSE)];
    const findings: Finding[] = [];
    let ready: string | null = null;
    for (const name of stt) {
      try {
        const trial = await withPlugin(name, patient, host => recognise(name, host.get('stt', name), signal));
        findings.push(trial, ...tellServer(name, patient));
        ready ??= name;
      } catch (error) {
        const [detail, cure] = excuseOf(name, error);
        const unneeded = `not needed while ${ready} works: ${detail}`;
        findings.push(ready === null ? doubt(name, detail, cure) : note(name, unneeded));
      }
    }
    return ready !== null
      ? findings
      : [...findings, bad('recognition', 'no recogniser is ready', cureAmong(findings))];
  },
};

function cureAmong(findings: readonly Finding[]): string {
  return findings.find(({ cure }) => cure !== null)?.cure ?? CHOOSE;
}

/** Reports the running server's view of a recogniser, where it differs. */
function tellServer(name: string, { server }: Patient): Finding[] {
  const said =
    typeof server === 'object' && 'ready' in server
      ? server.ready.find(part => part.name === name)
      : undefined;
  if (!said || said.ok) return [];
  const told = withoutName(name, said.detail);
  const [detail, cure] = splitCure(told, 'restart the server: it may be ready now');
  return [doubt(name, `in the running server: ${detail}`, cure)];
}

async function recognise(name: string, provider: SttProvider, signal: AbortSignal): Promise<Finding> {
  const { languages } = provider;
  const isEnglish = languages === 'any' || languages.includes(LANGUAGE) || languages.includes('multi');
  const language = isEnglish ? LANGUAGE : (languages[0] ?? 'multi');
  const session = await provider.open({ language, signal });
  try {
    if (!isEnglish)
      return good(
        name,
        `it opens; it supports ${languages.join(', ')}, for which there is no test recording`,
      );
    const [speech] = await bundledSpeech();
    if (!speech) throw new AppError('internal', 'the bundled recording is missing');
    const began = performance.now();
    const pieces: string[] = [];
    for await (const piece of session.transcribe(utteranceOf(speech.samples, 0), signal))
      if (piece.final) pieces.push(piece.text);
    return judgeTrial(name, speech, pieces.join(' '), performance.now() - began);
  } finally {
    await session.close();
  }
}

export function judgeTrial(name: string, { samples, text }: Speech, heard: string, tookMs: number): Finding {
  const factor = tookMs / ((samples.length * 1000) / SAMPLE_RATE);
  const errors = wordErrorRate(text, heard);
  const words = text.split(' ').length;
  const right = Math.max(0, Math.round(words * (1 - errors)));
  const detail = `${right} of ${words} words right; it took ${factor.toFixed(2)} times as long as the speech`;
  if (errors > MANY_WORD_ERRORS)
    return doubt(
      name,
      `${detail}; it heard: ${heard || 'nothing'}`,
      'choose another model, or another recogniser',
    );
  if (factor > TOO_SLOW) return doubt(name, detail, 'choose a smaller model, or a faster machine');
  return good(name, detail);
}

export const detectionCheck: Check = {
  group: 'Speech',
  what: 'detection',
  limitMs: 20_000,
  cure: 'switch the detector off in the configuration, or install the package again',
  async look(patient) {
    const detectors = chosenPlugins(patient).filter(({ name }) => builtinsOf('vad').includes(name));
    return Promise.all(detectors.map(({ name }) => tryDetector(name, patient)));
  },
};

async function tryDetector(name: string, patient: Patient): Promise<Finding> {
  try {
    return await withPlugin(name, patient, host => detect(name, host));
  } catch (error) {
    const [detail, cure] = splitCure(messageOf(error), 'npm ci reinstalls the model');
    return bad(name, detail, cure);
  }
}

async function detect(name: string, host: PluginHost): Promise<Finding> {
  const { open, windowSize } = host.get('vad', name);
  const [speech] = await bundledSpeech();
  const samples = speech?.samples ?? new Int16Array(0);
  const session = open();
  const found = await session.probabilities(samples.slice(0, samples.length - (samples.length % windowSize)));
  session.close();
  const share = found.filter(probability => probability > 0.5).length / found.length;
  if (share > 0.5) return good(name, `it finds speech in ${Math.round(share * 100)} % of a spoken sentence`);
  return bad(name, 'it finds no speech in a spoken sentence', `switch it off: plugins.${name}: false`);
}
