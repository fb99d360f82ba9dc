import type { Clock, Voice } from '../../contract/model.ts';
import type { SpeakerModel, Storage } from '../../contract/plugin.ts';
import { deadline, linkedAbort } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { SpeechChoices } from './speech-settings.ts';
import { assign, type Cluster, type HeardVoice, LEAST_SECONDS, likeness, meanOf } from './voice-clusters.ts';

/** Time limit of an analysis in ms: after it, the segment gets the speaker of the one before. */
const LIMIT_MS = 400;
/** Pause in ms after a model was too slow or failed. */
const REST_MS = 10_000;
const SAMPLE_RATE = 16_000;
/** Maximum seconds of a piece that are analysed; more does not improve the result. */
export const MAX_SECONDS = 8;
/** Seconds of speech from which a voice is compared with people; repeated each time that they have doubled. */
const MATCH_SECONDS = 2;
/** Minimum lead of the best match over the second: a wrong name is worse than none. */
const LEAD = 0.08;

/** Speaker of a piece. */
export interface Labelled {
  /** The number in the label. */
  speakerId: number;
  /** To be stored with the piece; absent: nothing new is known of the voice. */
  voice?: VoiceUpdate;
  /** Person to suggest to the owner. */
  suggestion?: Suggestion;
}

export interface VoiceUpdate {
  speakerId: number;
  /** The id of the model, as voices of two models are never compared. */
  space: string;
  vector: Float32Array;
  seconds: number;
  /** It was compared with the owner's voice, as one is known. */
  isCompared: boolean;
  /** Person who was recognised beyond doubt; null: nobody known. */
  match: Match | null;
}

export interface Match {
  isUser: boolean;
  personId: string | null;
}

export interface Suggestion {
  speakerId: number;
  personId: string;
  personName: string;
}

/** Voice of one piece, from the speaker model. It may be analysed before the text of the piece is known. */
export interface Analysis {
  /** Id of the model. */
  space: string | null;
  /** Null: the piece is too short, or voices are not told apart now. */
  heard: Promise<HeardVoice | null>;
  /** Cancels the analysis. */
  drop(): void;
}

/** Separates the voices of one connection. */
export interface Labeller {
  /**
   * Begins the analysis of a piece.
   * @param samples returns the samples of the piece at 16 kHz; called only if they are needed
   */
  analyse(samples: () => Promise<Int16Array>, signal: AbortSignal): Analysis;
  /**
   * Labels a piece with its speaker. Never rejects. Null: voices are not told apart.
   * @param own the number that the recogniser gave the voice; null: it does not tell them apart
   */
  label(
    conversationId: string,
    own: number | null,
    analysis: Analysis,
    signal: AbortSignal,
  ): Promise<Labelled | null>;
}

/** Voices of conversations and their people. A voice print is never logged. */
export function createVoices({
  storage,
  speechSettings,
  speakers,
  clock,
  log,
}: {
  storage: Storage;
  speechSettings: Pick<SpeechChoices, 'get'>;
  /** Null: none works now. */
  speakers(): SpeakerModel | null;
  clock: Clock;
  log: Log;
}) {
  let restsUntil = 0;

  const rests = () => clock.now() < restsUntil;

  async function embed(
    model: SpeakerModel,
    samples: Int16Array,
    signal: AbortSignal,
  ): Promise<HeardVoice | null> {
    const seconds = samples.length / SAMPLE_RATE;
    if (seconds < LEAST_SECONDS / 4) return null;
    const vector = await model.embed(samples, signal);
    if (vector.length === model.dimensions && vector.every(Number.isFinite)) return { vector, seconds };
    throw new AppError('upstream_error', `The speaker model breaks its contract: ${vector.length} numbers`);
  }

  /** Waits for an analysis. Null also where the model is too slow, or fails. */
  async function heardBy({ heard, drop }: Analysis, signal: AbortSignal): Promise<HeardVoice | null> {
    const late = () => new AppError('timeout', `The speaker model did not answer within ${LIMIT_MS} ms`);
    try {
      return await deadline({ clock, limitMs: LIMIT_MS, late }, () => heard, signal);
    } catch (error) {
      drop();
      if (signal.aborted) return null;
      restsUntil = clock.now() + REST_MS;
      log.warn({ err: toAppError(error) }, 'voices cannot be told apart for now');
      return null;
    }
  }

  function open(userId: string, { withProfile }: { withProfile: boolean }): Labeller {
    let of: { conversationId: string; space: string; clusters: Map<number, Cluster> } | null = null;
    let last: number | null = null;
    /** By voice: the seconds at which it is compared next, and the people already suggested. */
    const due = new Map<number, number>();
    const compared = new Set<number>();
    const suggested = new Set<string>();

    async function clustersOf(conversationId: string, space: string): Promise<Map<number, Cluster>> {
      if (of?.conversationId === conversationId && of.space === space) return of.clusters;
      const rows = await storage.voices.list(userId, conversationId);
      const clusters = new Map(rows.map(row => [row.speakerId, clusterOf(row, space)]));
      last = rows.at(-1)?.speakerId ?? null;
      for (const memory of [due, compared, suggested]) memory.clear();
      of = { conversationId, space, clusters };
      return clusters;
    }

    const isWanted = async () => (await speechSettings.get(userId)).labelVoices;

    function analyse(read: () => Promise<Int16Array>, signal: AbortSignal): Analysis {
      const model = speakers();
      if (!model || rests()) return { space: null, heard: Promise.resolve(null), drop: () => {} };
      const ending = linkedAbort(signal);
      async function hear(model: SpeakerModel) {
        if (!(await isWanted())) return null;
        const samples = await read();
        return ending.signal.aborted ? null : embed(model, samples, ending.signal);
      }
      const heard = hear(model).finally(ending.release);
      heard.catch(() => {}); // reported where it is waited for
      function drop() {
        ending.abort(new AppError('unavailable', 'This voice is not asked for any more'));
        ending.release();
      }
      return { space: model.id, heard, drop };
    }

    async function label(
      conversationId: string,
      own: number | null,
      analysis: Analysis,
      signal: AbortSignal,
    ): Promise<Labelled | null> {
      const model = speakers();
      if (!model || !(await isWanted())) return null;
      const clusters = await clustersOf(conversationId, model.id);
      if (rests()) return own === null ? { speakerId: last ?? 0 } : { speakerId: own };
      const heard = analysis.space === model.id ? await heardBy(analysis, signal) : null;
      const known =
        own === null
          ? [...clusters.values()]
          : [clusters.get(own) ?? { speakerId: own, vector: null, seconds: 0 }];
      const threshold = own === null ? model.sameVoice : -1; // the recogniser has decided
      const cluster = assign(known, heard, own ?? last, threshold);
      const hasGrown = cluster.vector !== null && cluster !== clusters.get(cluster.speakerId);
      last = cluster.speakerId;
      if (!hasGrown || !cluster.vector) return { speakerId: last };
      clusters.set(last, cluster);
      const { speakerId } = cluster;
      const found = await match(model, cluster);
      const voice = {
        speakerId,
        space: model.id,
        vector: cluster.vector,
        seconds: cluster.seconds,
        isCompared: compared.has(speakerId),
        match: found.match,
      };
      return { speakerId, voice, ...(found.suggestion ? { suggestion: found.suggestion } : {}) };
    }

    /** Compares a voice once there is enough speech, and again when it has doubled. */
    async function match(model: SpeakerModel, { speakerId, seconds, vector }: Cluster) {
      if (!vector || seconds < (due.get(speakerId) ?? MATCH_SECONDS))
        return { match: null, suggestion: null };
      due.set(speakerId, 2 * seconds);
      const samples = await storage.voices.samples(userId, model.id);
      const byPerson = Map.groupBy(samples, ({ personId }) => personId);
      if (withProfile && byPerson.has(null)) compared.add(speakerId);
      if (!withProfile) byPerson.delete(null);
      const ranked = [...byPerson]
        .flatMap(([personId, parts]) => {
          const mean = meanOf(parts);
          return mean ? [{ personId, likeness: likeness(mean, vector) }] : [];
        })
        .sort((a, b) => b.likeness - a.likeness);
      const [best, second] = ranked;
      if (!best || best.likeness < model.sameVoice) return { match: null, suggestion: null };
      if (second && best.likeness - second.likeness < LEAD) return { match: null, suggestion: null };
      const isSure = best.likeness >= model.namedVoice;
      const { personId } = best;
      const match = isSure ? { isUser: personId === null, personId } : null;
      return { match, suggestion: personId === null ? null : await suggestionOf(speakerId, personId) };
    }

    /** Each is made once. */
    async function suggestionOf(speakerId: number, personId: string): Promise<Suggestion | null> {
      const key = `${speakerId} ${personId}`;
      const person = suggested.has(key) ? null : await storage.people.get(userId, personId);
      suggested.add(key);
      return person && { speakerId, personId, personName: person.name };
    }

    return {
      analyse,
      async label(...asked) {
        try {
          return await label(...asked);
        } catch (error) {
          log.warn({ err: toAppError(error) }, 'a piece of speech has no speaker');
          return null;
        }
      },
    };
  }

  return { open };
}

export type Voices = ReturnType<typeof createVoices>;

/** Drops the vector of another model, which cannot be compared; its label stays in use. */
function clusterOf({ speakerId, space, vector, seconds }: Voice, current: string): Cluster {
  return space === current ? { speakerId, vector, seconds } : { speakerId, vector: null, seconds: 0 };
}
