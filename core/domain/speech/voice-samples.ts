import type { VoiceSample } from '../../contract/model.ts';
import type { SpeakerModel, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { OWNER } from '../conversations/corrections.ts';
import { isId, newId } from '../ids.ts';
import type { HeardVoice } from './voice-clusters.ts';

/** Recordings of one person's voice; more say little that is new. */
export const MAX_RECORDED = 5;

/** A voice sample as shown to its owner, without the vector. */
export interface ShownSample
  extends Pick<VoiceSample, 'id' | 'seconds' | 'conversationId' | 'speakerId' | 'createdAt'> {
  /** Whether the present model made it: voices of two models are never compared. */
  isUsable: boolean;
}

/** Summary of the samples of the owner's voice. */
export interface SpeechProfile {
  /** Whether the present model can compare with one. */
  hasProfile: boolean;
  /** Seconds of speech behind it. */
  seconds: number;
  samples: ShownSample[];
}

export type VoiceSamples = ReturnType<typeof createVoiceSamples>;

/** Samples of the voices of people and the owner: listed, recorded, and deleted. */
export function createVoiceSamples({
  storage,
  speakers,
  clock,
}: {
  storage: Storage;
  /** Null: none runs now. */
  speakers(): SpeakerModel | null;
  clock: { now(): number };
}) {
  /** Lists samples of a person, or of the owner, oldest first. `not_found`. */
  async function list(userId: string, personId: string): Promise<ShownSample[]> {
    const space = speakers()?.id;
    const samples = await samplesIn(storage, userId, personId);
    return samples.map(({ id, seconds, conversationId, speakerId, createdAt, ...sample }) => ({
      ...{ id, seconds, conversationId, speakerId, createdAt },
      isUsable: sample.space === space,
    }));
  }

  /** `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    if (!isId(id) || !(await storage.voices.removeSample(userId, id)))
      throw new AppError('not_found', 'Voice sample not found');
  }

  /**
   * Keeps a recorded voice beside what was learnt in conversations. The owner's replaces the one before; of other people
   * there may be some. `not_found`, `conflict` where there are too many.
   */
  async function putRecorded(
    userId: string,
    personId: string,
    space: string,
    heard: HeardVoice,
  ): Promise<void> {
    const isOwner = personId === OWNER;
    const sample = {
      ...{ id: newId(clock.now()), userId, personId: isOwner ? null : personId, space, ...heard },
      ...{ conversationId: null, speakerId: null, createdAt: clock.now() },
    };
    await storage.transaction('put voice sample', async tx => {
      const before = (await samplesIn(tx, userId, personId)).filter(isRecorded);
      if (isOwner) for (const { id } of before) await tx.voices.removeSample(userId, id);
      else if (before.length >= MAX_RECORDED) throw tooMany();
      await tx.voices.putSample(sample);
    });
  }

  /** Checks before a recording is analysed whether it could be kept. `not_found`, `conflict`. */
  async function checkRoom(userId: string, personId: string): Promise<void> {
    const recorded = (await samplesIn(storage, userId, personId)).filter(isRecorded);
    if (personId !== OWNER && recorded.length >= MAX_RECORDED) throw tooMany();
  }

  /** Forgets how the owner sounds. Resolves to whether anything was known. */
  async function forgetOwner(userId: string): Promise<boolean> {
    return storage.transaction('delete speech profile', async tx => {
      const samples = await samplesIn(tx, userId, OWNER);
      for (const { id } of samples) await tx.voices.removeSample(userId, id);
      return samples.length > 0;
    });
  }

  return { list, remove, putRecorded, checkRoom, forgetOwner };
}

function isRecorded({ conversationId }: VoiceSample): boolean {
  return conversationId === null;
}

function tooMany(): AppError {
  return new AppError('conflict', `At most ${MAX_RECORDED} recordings of a person's voice: delete one first`);
}

/** `not_found` where there is no such person. */
async function samplesIn(
  { voices, people }: Pick<Stores, 'voices' | 'people'>,
  userId: string,
  personId: string,
): Promise<VoiceSample[]> {
  if (personId !== OWNER && !(isId(personId) && (await people.get(userId, personId))))
    throw new AppError('not_found', 'Person not found');
  const of = personId === OWNER ? null : personId;
  return (await voices.samples(userId)).filter(sample => sample.personId === of);
}
