import type { Clock, SpeechSettings } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';

/** Deletes clips of a user that are older than the settings say; its key is the user. */
export const CLIPS_JOB = 'clips.expire';

export type SpeechChoices = ReturnType<typeof createSpeechSettings>;

/** Manages each user's settings for speech beyond its transcription. */
export function createSpeechSettings({
  storage,
  clock,
  checkCanKeep,
}: {
  storage: Storage;
  clock: Clock;
  /** Rejects where this server cannot keep audio. */
  checkCanKeep(): Promise<void>;
}) {
  async function get(userId: string): Promise<SpeechSettings> {
    const stored = await storage.speech.settings(userId);
    return stored ?? { userId, translateTo: null, labelVoices: true, keepAudioDays: null };
  }

  return {
    get,
    /** `config_error` where audio shall be kept and cannot be. */
    async change(userId: string, changes: Partial<Omit<SpeechSettings, 'userId'>>): Promise<SpeechSettings> {
      if (changes.keepAudioDays != null) await checkCanKeep();
      const changed = { ...(await get(userId)), ...changes };
      await storage.transaction('change speech settings', async tx => {
        await tx.speech.putSettings(changed);
        if (!changed.labelVoices) await tx.voices.forget(userId);
        if (changes.keepAudioDays !== undefined)
          await tx.jobs.enqueue({ kind: CLIPS_JOB, key: userId, runAt: clock.now(), payload: { userId } });
      });
      return changed;
    },
  };
}
