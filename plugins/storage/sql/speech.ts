import type { SpeechStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { one, putOfUser, SpeechSettings } from './models.ts';

export function speechStore({ read, write }: Access): SpeechStore {
  return {
    settings: userId => read('speech.settings', db => one(SpeechSettings.query(db).where('user_id', userId))),
    async putSettings(settings) {
      await write('speech.putSettings', db => putOfUser(db, SpeechSettings, settings));
    },
  };
}
