/** libpocketsphinx, bound by koffi. Loaded in the recogniser's process only. */
import koffi from 'koffi';

/** Paths of the library and its English model. */
export interface SphinxPaths {
  library: string;
  baseLibrary: string;
  hmm: string;
  lm: string;
  dict: string;
}

/** One recognised word, silence and noise included, in frames of 10 ms from the start of the utterance. */
export interface SphinxWord {
  word: string;
  startFrame: number;
  /** Last frame, inclusive. */
  endFrame: number;
}

/** One decoder: 91 MB, one utterance at a time. */
export interface SphinxDecoder {
  /** @param opening the first samples, used to adapt to voice and microphone; `feed` still has to decode them */
  start(opening: Int16Array): void;
  process(samples: Int16Array): void;
  /** Ends the utterance; blocks for up to half a second. */
  end(): SphinxWord[];
}

export const SAMPLES_PER_FRAME = 160;
/** Cepstral coefficients of a frame. */
const COEFFICIENTS = 13;
/** Weight, in frames, that the library gives to a mean that is set. */
const PRIOR_FRAMES = 500;
const DECODE = 0;
const FEATURES_ONLY = 1;

/** First fields of `feat_t`, as in the library's public header. */
const FEATURE = koffi.struct({
  refcount: 'int',
  name: 'const char *',
  cepsize: 'int32_t',
  streams: 'int32_t',
  streamLengths: 'void *',
  windowSize: 'int32_t',
  subvectors: 'int32_t',
  subvectorLengths: 'void *',
  subvectorDimensions: 'void *',
  subvectorBuffer: 'void *',
  subvectorDimension: 'int32_t',
  cmnType: 'int',
  normaliseVariance: 'int32_t',
  agcType: 'int',
  compute: 'void *',
  cmn: 'void *',
});

interface Feature {
  name: string;
  cepsize: number;
  cmn: unknown;
}

/** @throws when a library cannot be loaded, with its name */
export function loadSphinx(paths: SphinxPaths): { createDecoder(): SphinxDecoder } {
  const base = load(paths.baseLibrary);
  const sphinx = load(paths.library);
  const setLogFile = base.func('void err_set_logfp(void *file)');
  const parseArguments = base.func(
    'void *cmd_ln_parse_r(void *inout, void *definitions, int32_t count, const char **values, int32_t strict)',
  );
  const definitions = sphinx.func('void *ps_args()');
  const init = sphinx.func('void *ps_init(void *config)');
  const startStream = sphinx.func('int ps_start_stream(void *decoder)');
  const startUtterance = sphinx.func('int ps_start_utt(void *decoder)');
  const processRaw = sphinx.func(
    'int ps_process_raw(void *decoder, const int16_t *samples, size_t count, int noSearch, int whole)',
  );
  const endUtterance = sphinx.func('int ps_end_utt(void *decoder)');
  const features = sphinx.func('void *ps_get_feat(void *decoder)');
  const getMean = base.func('void cmn_live_get(void *cmn, _Out_ float *mean)');
  const setMean = base.func('void cmn_live_set(void *cmn, const float *mean)');
  const firstSegment = sphinx.func('void *ps_seg_iter(void *decoder)');
  const nextSegment = sphinx.func('void *ps_seg_next(void *segment)');
  const segmentWord = sphinx.func('const char *ps_seg_word(void *segment)');
  const segmentFrames = sphinx.func('void ps_seg_frames(void *segment, _Out_ int *start, _Out_ int *end)');
  setLogFile(null);

  return { createDecoder };

  function createDecoder(): SphinxDecoder {
    const values = ['earshot', ...argumentsFor(paths)];
    const config = parseArguments(null, definitions(), values.length, values, 1);
    const decoder = config === null ? null : init(config);
    if (decoder === null) throw new Error(`pocketsphinx cannot load the model ${paths.hmm}`);
    return {
      start(opening) {
        adapt(decoder, opening);
        begin(decoder);
      },
      process: samples => read(decoder, samples, DECODE),
      end() {
        check(endUtterance(decoder), 'end an utterance');
        return words(decoder);
      },
    };
  }

  function begin(decoder: unknown): void {
    startStream(decoder);
    check(startUtterance(decoder), 'start an utterance');
  }

  function read(decoder: unknown, samples: Int16Array, noSearch: number): void {
    check(processRaw(decoder, samples, samples.length, noSearch, 0), 'read audio');
  }

  /**
   * Sets the cepstral mean to that of the opening. Left alone, the library starts from the mean of whoever spoke
   * before: over 60 sentences of three voices in turn, 5.3 % of words were wrong without this, and 3.3 % with it.
   */
  function adapt(decoder: unknown, opening: Int16Array): void {
    const feature: Feature = koffi.decode(features(decoder), FEATURE);
    if (feature.name !== '1s_c_d_dd' || feature.cepsize !== COEFFICIENTS) return;
    const mean = new Float32Array(COEFFICIENTS);
    setMean(feature.cmn, mean);
    begin(decoder);
    read(decoder, opening, FEATURES_ONLY);
    check(endUtterance(decoder), 'end an utterance');
    getMean(feature.cmn, mean);
    // The library counts a mean that is set as PRIOR_FRAMES frames of zeros, which are subtracted here.
    const frames = Math.max(1, Math.floor(opening.length / SAMPLES_PER_FRAME) - 1);
    setMean(
      feature.cmn,
      mean.map(value => (value * (PRIOR_FRAMES + frames)) / frames),
    );
  }

  function words(decoder: unknown): SphinxWord[] {
    const found: SphinxWord[] = [];
    for (let segment = firstSegment(decoder); segment !== null; segment = nextSegment(segment)) {
      const start: [number] = [0];
      const end: [number] = [0];
      segmentFrames(segment, start, end);
      found.push({ word: String(segmentWord(segment)), startFrame: start[0], endFrame: end[0] });
    }
    return found;
  }
}

function load(library: string): ReturnType<typeof koffi.load> {
  try {
    return koffi.load(library, { global: true });
  } catch (cause) {
    throw new Error(`the library ${library} is missing or does not load`, { cause });
  }
}

function argumentsFor(paths: SphinxPaths): string[] {
  const settings: Record<string, string> = {
    hmm: paths.hmm,
    lm: paths.lm,
    dict: paths.dict,
    logfn: '/dev/null',
    // Dropping silence would shift the times of all later words, and core has already cut at pauses.
    remove_silence: 'no',
    // Noise removal costs time, and on the test recordings more words are wrong with it: 4.0 % instead of 3.6 %.
    remove_noise: 'no',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`-${name}`, value]);
}

function check(result: number, what: string): void {
  if (result < 0) throw new Error(`pocketsphinx could not ${what}`);
}
