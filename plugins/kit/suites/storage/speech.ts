import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, person, segment, user, voice, voiceSample } from './rows.ts';

export const speechChecks: StorageCheck[] = [
  {
    title: 'what a user wants done with speech is that of one user, and the last counts',
    async run({ storage: { users, speech } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      assert.equal(await speech.settings('anna'), null);
      await speech.putSettings({ userId: 'anna', translateTo: 'de', labelVoices: true });
      await speech.putSettings({ userId: 'anna', translateTo: null, labelVoices: false });
      await speech.putSettings({ userId: 'ben', translateTo: 'pt-BR', labelVoices: true });
      assert.deepEqual(await speech.settings('anna'), {
        userId: 'anna',
        translateTo: null,
        labelVoices: false,
      });
      assert.deepEqual(await speech.settings('ben'), {
        userId: 'ben',
        translateTo: 'pt-BR',
        labelVoices: true,
      });
    },
  },
  {
    title: 'a translation is kept with its segment while that says the same, and is that of one user',
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
    title: 'samples of voices are those of one user and one model, and go with their person, or all at once',
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
];
