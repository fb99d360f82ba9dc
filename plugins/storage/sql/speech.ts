import type { SpeechStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { one, SpeechSettings } from './models.ts';

export function speechStore({ read, write }: Access): SpeechStore {
  return {
    settings: userId => read('speech.settings', db => one(SpeechSettings.query(db).where('user_id', userId))),
    async putSettings(settings) {
      await write('speech.putSettings', db =>
        db(SpeechSettings.tableName)
          .insert(SpeechSettings.fromJson(settings).$toDatabaseJson())
          .onConflict('user_id')
          .merge(),
      );
    },
  };
}
