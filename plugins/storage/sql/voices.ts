import type { Voice, VoiceSample } from '../../../core/contract/model.ts';
import type { VoiceStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Conversations, one, VoiceAssignments, VoiceChanges, VoiceSamples, Voices } from './models.ts';

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
    async movePerson(userId, from, to) {
      await atomic('voices.movePerson', async db => {
        const theirs = { user_id: userId, person_id: from };
        await Voices.query(db).where(theirs).patch({ personId: to });
        await VoiceSamples.query(db).where(theirs).patch({ personId: to });
      });
    },
    page: (userId, space, { since, after, limit }) =>
      read('voices.page', async db => {
        const talks = Conversations.query(db)
          .select('id')
          .where('user_id', userId)
          .where('started_at', '>=', since);
        const query = Voices.query(db).where({ user_id: userId, space }).whereNotNull('vector');
        query.whereIn('conversation_id', talks);
        if (after)
          query.whereRaw('(conversation_id, speaker_id) > (?, ?)', [after.conversationId, after.speakerId]);
        return (await all(query.orderBy(['conversation_id', 'speaker_id']).limit(limit))).map(voiceOf);
      }),
    async putAssignment(assignment) {
      const row = VoiceAssignments.fromJson({ ...assignment }).$toDatabaseJson();
      await write('voices.putAssignment', db =>
        db(VoiceAssignments.tableName).insert(row).onConflict(['user_id', 'id']).merge(),
      );
    },
    assignment: (userId, id) =>
      read('voices.assignment', db => one(VoiceAssignments.query(db).where({ user_id: userId, id }))),
    assignments: (userId, limit) =>
      read('voices.assignments', db =>
        all(
          VoiceAssignments.query(db)
            .where('user_id', userId)
            .orderBy([
              { column: 'created_at', order: 'desc' },
              { column: 'id', order: 'desc' },
            ])
            .limit(limit),
        ),
      ),
    async putChange(change) {
      const row = VoiceChanges.fromJson({ ...change }).$toDatabaseJson();
      const key = ['user_id', 'assignment_id', 'conversation_id', 'speaker_id'];
      await write('voices.putChange', db => db(VoiceChanges.tableName).insert(row).onConflict(key).ignore());
    },
    changes: (userId, assignmentId) =>
      read('voices.changes', db =>
        all(
          VoiceChanges.query(db)
            .where({ user_id: userId, assignment_id: assignmentId })
            .orderBy(['conversation_id', 'speaker_id']),
        ),
      ),
    async pruneAssignments(before) {
      await write('voices.pruneAssignments', db =>
        VoiceAssignments.query(db).delete().where('created_at', '<', before),
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

/** Encodes 32-bit floats, little endian, as base64. */
function textOf(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

function vectorOf(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}
