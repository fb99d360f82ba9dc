import assert from 'node:assert/strict';
import type { Conversation, VoiceAssignment, VoiceChange } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, NOON, person, segment, user, voice, voiceSample } from './rows.ts';

export const speechChecks: StorageCheck[] = [
  {
    title: 'speech settings belong to one user, and the last write counts',
    async run({ storage: { users, speech } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      assert.equal(await speech.settings('anna'), null);
      await speech.putSettings({ userId: 'anna', translateTo: 'de', labelVoices: true, keepAudioDays: null });
      await speech.putSettings({ userId: 'anna', translateTo: null, labelVoices: false, keepAudioDays: 30 });
      await speech.putSettings({
        userId: 'ben',
        translateTo: 'pt-BR',
        labelVoices: true,
        keepAudioDays: null,
      });
      assert.deepEqual(await speech.settings('anna'), {
        userId: 'anna',
        translateTo: null,
        labelVoices: false,
        keepAudioDays: 30,
      });
      assert.deepEqual(await speech.settings('ben'), {
        userId: 'ben',
        translateTo: 'pt-BR',
        labelVoices: true,
        keepAudioDays: null,
      });
    },
  },
  {
    title: 'a translation stays with its segment while the text is unchanged, and belongs to one user',
    async run({ storage: { users, conversations, segments } }) {
      await users.insert(user('anna'));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const said = segment('s1', talk, { text: 'Tee?', language: 'de' });
      await segments.upsert([said, segment('s2', talk)]);
      const translations = [{ lang: 'en', text: 'Tea? “☕”' }];
      assert.equal(await segments.translated('ben', 's1', 'Tee?', translations), false);
      assert.equal(await segments.translated('anna', 's1', 'Tee', translations), false);
      assert.equal(await segments.translated('anna', 's1', 'Tee?', translations), true);
      assert.deepEqual(await segments.get('anna', 's1'), { ...said, translations });
      assert.equal((await segments.get('anna', 's2'))?.translations, null);
      await segments.upsert([{ ...said, text: 'Tee? Ja.' }]);
      assert.equal((await segments.get('anna', 's1'))?.translations, null);
    },
  },
  {
    title:
      'the voices of a conversation come back as they were stored, changed last at the end, and go with it',
    async run({ storage: { users, conversations, segments, voices } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [talk, bens] = [conversation('c1', 'anna'), conversation('c1', 'ben')];
      for (const row of [talk, bens]) await conversations.insert(row);
      const [first, second] = [voice(talk, 0), voice(talk, 1, { space: null, vector: null, seconds: 0 })];
      for (const row of [first, second, voice(bens, 0)]) await voices.put(row);
      assert.deepEqual(await voices.list('anna', 'c1'), [first, second]);
      const changed = {
        ...first,
        personId: 'p1',
        isChosen: true,
        seconds: 9,
        updatedAt: first.updatedAt + 1,
      };
      await voices.put(changed);
      assert.deepEqual(await voices.list('anna', 'c1'), [second, changed]);
      await voices.forgetPerson('ben', 'p1');
      assert.deepEqual((await voices.list('anna', 'c1'))[1], changed);
      await voices.forgetPerson('anna', 'p1');
      assert.deepEqual((await voices.list('anna', 'c1'))[1], { ...changed, personId: null, isChosen: false });
      await segments.upsert([
        segment('s2', talk, { start: 5, speakerId: 1 }),
        segment('s1', talk, { speakerId: 1 }),
      ]);
      await segments.upsert([segment('s3', talk)]);
      assert.deepEqual(idsOf(await segments.ofSpeaker('anna', 'c1', 1)), ['s1', 's2']);
      assert.deepEqual(await segments.ofSpeaker('ben', 'c1', 1), []);
      await assert.rejects(voices.put(voice(conversation('none', 'anna'), 0)), { code: 'not_found' });
      await conversations.remove('anna', 'c1');
      assert.deepEqual(await voices.list('anna', 'c1'), []);
      assert.equal((await voices.list('ben', 'c1')).length, 1);
    },
  },
  {
    title: 'voice samples belong to one user and one model, and are removed with their person or all at once',
    async run({ storage: { users, people, conversations, voices } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await people.insert(person('p1', 'anna'));
      const samples = [
        voiceSample('a', 'anna', { vector: Float32Array.of(0.25, -1e-7) }),
        voiceSample('b', 'anna', { personId: 'p1', conversationId: 'c1', speakerId: 3 }),
        voiceSample('c', 'anna', { space: 'model-2' }),
      ];
      for (const sample of [...samples, voiceSample('a', 'ben')]) await voices.putSample(sample);
      assert.deepEqual(await voices.samples('anna', 'model-1'), samples.slice(0, 2));
      assert.deepEqual(idsOf(await voices.samples('anna')), ['a', 'b', 'c']);
      await assert.rejects(voices.putSample(voiceSample('d', 'anna', { personId: 'p2' })), {
        code: 'not_found',
      });
      assert.equal(await voices.removeSample('ben', 'b'), false);
      assert.equal(await voices.removeSample('anna', 'c'), true);
      await people.remove('anna', 'p1');
      assert.deepEqual(idsOf(await voices.samples('anna')), ['a']);
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      await voices.put(voice(talk, 0, { personId: 'p9', isChosen: true }));
      await voices.forget('anna');
      assert.deepEqual(await voices.samples('anna'), []);
      const mute = { space: null, vector: null, seconds: 0 };
      assert.deepEqual(await voices.list('anna', 'c1'), [
        voice(talk, 0, { personId: 'p9', isChosen: true, ...mute }),
      ]);
      assert.equal((await voices.samples('ben')).length, 1);
    },
  },
  {
    title: 'voice samples move to another person, and are listed by model, from an instant on, in pages',
    async run({ storage: { users, people, conversations, segments, voices } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      for (const id of ['p1', 'p2']) await people.insert(person(id, 'anna'));
      const talks = ['c1', 'c2', 'c3'].map((id, i) => conversation(id, 'anna', { startedAt: NOON + i }));
      for (const talk of talks) await conversations.insert(talk);
      const [old, first, second] = talks as [Conversation, Conversation, Conversation];
      const rows = [voice(old, 0), voice(first, 0, { personId: 'p1' }), voice(first, 1), voice(second, 0)];
      const others = [
        voice(second, 1, { space: 'model-2' }),
        voice(second, 2, { space: null, vector: null }),
      ];
      for (const row of [...rows, ...others]) await voices.put(row);
      const since = NOON + 1;
      const page = await voices.page('anna', 'model-1', { since, after: null, limit: 2 });
      assert.deepEqual(page, [rows[1], rows[2]]);
      const after = page[1] ?? null;
      assert.deepEqual(await voices.page('anna', 'model-1', { since, after, limit: 9 }), [rows[3]]);
      assert.deepEqual(await voices.page('ben', 'model-1', { since: 0, after: null, limit: 9 }), []);
      await segments.upsert([segment('s1', first, { personId: 'p1' })]);
      await voices.putSample(voiceSample('v1', 'anna', { personId: 'p1' }));
      await voices.movePerson('ben', 'p1', 'p2');
      await voices.movePerson('anna', 'p1', 'p2');
      await segments.forgetPerson('anna', 'p1', 'p2');
      assert.equal(
        (await voices.list('anna', 'c2')).find(({ speakerId }) => speakerId === 0)?.personId,
        'p2',
      );
      assert.equal((await voices.samples('anna'))[0]?.personId, 'p2');
      assert.equal((await segments.get('anna', 's1'))?.personId, 'p2');
    },
  },
  {
    title: 'voice assignments are kept with the earlier values until they are pruned',
    async run({ storage: { users, conversations, voices } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await conversations.insert(conversation('c1', 'anna'));
      const made = (id: string, changes: Partial<VoiceAssignment> = {}): VoiceAssignment => ({
        id,
        userId: 'anna',
        conversationId: 'c1',
        speakerId: 1,
        isUser: false,
        personId: 'p1',
        since: null,
        state: 'done',
        conversations: 1,
        segments: 2,
        createdAt: NOON,
        ...changes,
      });
      await voices.putAssignment(made('a'));
      await voices.putAssignment(made('b', { since: 5, isUser: true, personId: null, createdAt: NOON + 1 }));
      await voices.putAssignment(made('a', { state: 'undone' }));
      assert.deepEqual(await voices.assignment('anna', 'a'), made('a', { state: 'undone' }));
      assert.equal(await voices.assignment('ben', 'a'), null);
      assert.deepEqual(idsOf(await voices.assignments('anna', 9)), ['b', 'a']);
      const change: VoiceChange = {
        userId: 'anna',
        assignmentId: 'a',
        conversationId: 'c1',
        speakerId: 1,
        isUser: true,
        personId: null,
        isChosen: true,
        segments: [{ id: 's1', isUser: false, personId: 'p9' }],
      };
      await voices.putChange(change);
      await voices.putChange({ ...change, segments: [] });
      assert.deepEqual(await voices.changes('anna', 'a'), [change]);
      await assert.rejects(voices.putChange({ ...change, assignmentId: 'x' }), { code: 'not_found' });
      await voices.pruneAssignments(NOON + 1);
      assert.deepEqual(idsOf(await voices.assignments('anna', 9)), ['b']);
      assert.deepEqual(await voices.changes('anna', 'a'), []);
    },
  },
];
