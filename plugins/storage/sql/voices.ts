import type { Voice, VoiceSample } from '../../../core/contract/model.ts';
import type { VoiceStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, VoiceSamples, Voices } from './models.ts';

export function voiceStore({ read, write, atomic }: Access): VoiceStore {
  return {
    list: (userId, conversationId) =>
      read('voices.list', async db => {
        const query = Voices.query(db).where({ user_id: userId, conversation_id: conversationId });
        return (await all(query.orderBy(['updated_at', 'speaker_id']))).map(voiceOf);
      }),
    async put(voice) {
      const row = Voices.fromJson({
        ...voice,
        vector: voice.vector && textOf(voice.vector),
      }).$toDatabaseJson();
      const key = ['user_id', 'conversation_id', 'speaker_id'];
      await write('voices.put', db => db(Voices.tableName).insert(row).onConflict(key).merge());
    },
    async forgetPerson(userId, personId) {
      await write('voices.forgetPerson', db =>
        Voices.query(db)
          .where({ user_id: userId, person_id: personId })
          .patch({ personId: null, isChosen: false }),
      );
    },
    samples: (userId, space) =>
      read('voices.samples', async db => {
        const query = VoiceSamples.query(db).where(
          space === undefined ? { user_id: userId } : { user_id: userId, space },
        );
        return (await all(query.orderBy(['created_at', 'id']))).map(sampleOf);
      }),
    async putSample(sample) {
      const row = VoiceSamples.fromJson({ ...sample, vector: textOf(sample.vector) }).$toDatabaseJson();
      await write('voices.putSample', db =>
        db(VoiceSamples.tableName).insert(row).onConflict(['user_id', 'id']).merge(),
      );
    },
    removeSample: (userId, id) =>
      write(
        'voices.removeSample',
        async db => (await VoiceSamples.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    async forget(userId) {
      await atomic('voices.forget', async db => {
        await VoiceSamples.query(db).delete().where('user_id', userId);
        await Voices.query(db).where('user_id', userId).patch({ space: null, vector: null, seconds: 0 });
      });
    },
  };
}

export type VoiceRow = Omit<Voice, 'vector'> & { vector: string | null };
export type VoiceSampleRow = Omit<VoiceSample, 'vector'> & { vector: string };

function voiceOf(row: VoiceRow): Voice {
  return { ...row, vector: row.vector === null ? null : vectorOf(row.vector) };
}

function sampleOf(row: VoiceSampleRow): VoiceSample {
  return { ...row, vector: vectorOf(row.vector) };
}

/** Base64 of 32-bit floats, the lowest byte first. */
function textOf(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

function vectorOf(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}
