import type { SpeechSettings } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';

export type SpeechChoices = ReturnType<typeof createSpeechSettings>;

/** Manages each user's settings for speech beyond its transcription. */
export function createSpeechSettings({ storage }: { storage: Storage }) {
  async function get(userId: string): Promise<SpeechSettings> {
    return (await storage.speech.settings(userId)) ?? { userId, translateTo: null, labelVoices: true };
  }

  return {
    get,
    async change(userId: string, changes: Partial<Omit<SpeechSettings, 'userId'>>): Promise<SpeechSettings> {
      const changed = { ...(await get(userId)), ...changes };
      await storage.transaction('change speech settings', async tx => {
        await tx.speech.putSettings(changed);
        if (!changed.labelVoices) await tx.voices.forget(userId);
      });
      return changed;
    },
  };
}
