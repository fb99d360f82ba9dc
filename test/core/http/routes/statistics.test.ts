import test from 'ava';
import { openDatabases } from '../../../helpers/databases.ts';
import { openRest } from '../../../helpers/rest.ts';

const PATH = '/v1/users/statistics';
const DAY_MS = 24 * 3600_000;

for (const { name, open } of await openDatabases(test)) {
  test.serial(`${name}: words are counted by day, hour and person, in the requested zone`, async t => {
    const { send, conversations, clock, user, people, users } = await openRest(t, open);
    const eve = await people.create(user.id, 'Eve');
    const now = Date.parse('2030-06-15T12:00:00Z');
    clock.advance(now - clock.now());
    const token = await users.token('anna');
    const get = (path: string) => send('GET', path, undefined, token);
    const segment = { text: '', start: 0, end: 5, speaker: 'SPEAKER_01', speakerId: 1 };
    const nobody = { isUser: false, personId: null };
    const talk = (startedAt: number, segments: object[], userId = user.id) =>
      conversations.importSegments(
        {
          ...{ userId, clientSessionId: null, source: 'omi', deviceId: null, language: 'en' },
          ...{ geolocation: null, startedAt, finishedAt: startedAt + 60_000 },
          segments: segments.map(each => ({ ...segment, ...nobody, ...each })),
        },
        0,
      );
    // half past eleven at night in UTC is the next day in Berlin
    await talk(Date.parse('2030-06-13T23:30:00Z'), [
      { text: 'I go  home\nnow.', isUser: true },
      { text: 'Good night', personId: eve.id },
    ]);
    await talk(now - 60_000, [{ text: 'one' }, { text: 'two three', speaker: 'SPEAKER_02' }]);
    await talk(now - 40 * DAY_MS, [{ text: 'long ago' }]);
    const other = await users.add('ben');
    await talk(now - 60_000, [{ text: 'of somebody else' }], other.id);

    const { status, body } = await get(`${PATH}?days=3&time_zone=Europe%2FBerlin`);
    t.is(status, 200, JSON.stringify(body));
    t.deepEqual(body.days, [
      { date: '2030-06-13', words: 0, conversations: 0 },
      { date: '2030-06-14', words: 6, conversations: 1 },
      { date: '2030-06-15', words: 3, conversations: 1 },
    ]);
    t.is(body.hours.length, 24);
    t.like(body.hours, { 1: 6, 13: 3 });
    t.deepEqual(body.people, [
      { person_id: null, name: 'anna', is_user: true, words: 4, conversations: 1 },
      { person_id: null, name: '', is_user: false, words: 3, conversations: 1 },
      { person_id: eve.id, name: 'Eve', is_user: false, words: 2, conversations: 1 },
    ]);
    t.like((await get(`${PATH}?days=3`)).body.days[0], { date: '2030-06-13', words: 6 });
    t.is((await get(`${PATH}?time_zone=Nowhere`)).status, 422);
    t.is((await get(`${PATH}?days=93`)).status, 422);
  });
}
