import { once } from 'node:events';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { openPostgresStorage, startPostgres } from '../../../helpers/postgres.ts';
import { openRest } from '../../../helpers/rest.ts';

const CREATE = '/v1/dev/user/conversations';
const PATH = `${CREATE}/from-segments`;
const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const WAIT_MS = 20_000;

const segment = { text: 'The train leaves at seven tomorrow.', start: 0, end: 4 };
const one = { transcript_segments: [segment] };

test('Segments become a conversation, which is completed when the response arrives', async t => {
  const { run, send, clock, storage, user } = await openRest(t);
  run();
  const person = { id: '01890000-0000-7000-8000-0000000000aa', userId: user.id, name: 'Eve', createdAt: 0 };
  await storage.people.insert(person);
  const answer = await send('POST', PATH, {
    transcript_segments: [
      { ...segment, text: '  The train leaves at seven tomorrow.\n', is_user: true },
      { text: 'Then book the hotel.', start: 5.5, end: 7.25, speaker: 'SPEAKER_12', person_id: person.id },
      { text: 'Yes.', start: 8, end: 9, speaker: 'SPEAKER_3', speaker_id: 7, person_id: null },
    ],
    started_at: '2026-01-02T03:04:05+01:00',
    language: 'de',
    source: 'phone',
    client_device_id: 'ios_123',
    client_platform: 'ios',
    geolocation: { latitude: -90, longitude: 180, address: ' A 1 ' },
    more: 'is ignored',
  });
  t.is(answer.status, 200);
  t.deepEqual(answer.body, { id: answer.body.id, status: 'completed', discarded: false });

  const { body } = await send('GET', `/v1/dev/user/conversations/${answer.body.id}?include_transcript=true`);
  t.like(body, {
    created_at: new Date(clock.now()).toISOString(),
    started_at: '2026-01-02T02:04:05.000Z',
    finished_at: '2026-01-02T02:04:14.000Z',
    language: 'de',
    source: 'phone',
    status: 'completed',
    geolocation: {
      latitude: -90,
      longitude: 180,
      address: 'A 1',
      google_place_id: null,
      location_type: null,
    },
  });
  t.not(body.structured.title, '');
  t.deepEqual(
    body.transcript_segments.map((it: Record<string, unknown>) => [it.text, it.speaker_id, it.speaker_name]),
    [
      ['The train leaves at seven tomorrow.', 0, 'anna'],
      ['Then book the hotel.', 12, 'Eve'],
      ['Yes.', 7, 'Speaker 7'],
    ],
  );
  const stored = await storage.conversations.get(user.id, answer.body.id);
  t.is(stored?.deviceId, 'ios_123');
});

test('Omitted fields have their defaults, and a given end is kept', async t => {
  const { run, send, clock } = await openRest(t);
  run();
  const get = async (body: object) => {
    const { id } = (await send('POST', PATH, body)).body;
    return (await send('GET', `/v1/dev/user/conversations/${id}`)).body;
  };
  t.like(await get(one), {
    started_at: new Date(clock.now()).toISOString(),
    finished_at: new Date(clock.now() + 4000).toISOString(),
    language: 'en',
    source: 'external_integration',
    geolocation: null,
  });
  const times = { started_at: '2026-01-01T10:00', finished_at: '2026-01-01T10:30:00Z', source: null };
  t.like(await get({ ...one, ...times }), {
    started_at: '2026-01-01T10:00:00.000Z',
    finished_at: '2026-01-01T10:30:00.000Z',
    source: 'external_integration',
  });
});

test('Importing requires the write scope', async t => {
  const { send, keys, user, run } = await openRest(t);
  run();
  const reader = await keys.create(user.id, { name: 'r', scopes: ['conversations:read'] });
  const writer = await keys.create(user.id, { name: 'w', scopes: ['conversations:write'] });
  t.is((await send('POST', PATH, one, null)).status, 401);
  t.deepEqual((await send('POST', PATH, 'no JSON', reader.key)).body, {
    detail: 'Insufficient permissions. Required scope: conversations:write',
  });
  t.is((await send('POST', PATH, one, writer.key)).status, 200);
});

test('All errors of a body are reported with their paths', async t => {
  const { issues, conversations, user } = await openRest(t);
  const bad = [
    { text: ' ', start: 0, end: 1 },
    { text: 'x', start: -1, end: 1 },
    { text: 'x', start: 1, end: 1 },
    { text: 'x', start: 0, end: 1, speaker: 'Anna' },
    { text: 'x', start: 0, end: 1, speaker: 'SPEAKER_' },
    { text: 'x', start: '0', end: 1e300, speaker_id: 1.5 },
    { start: 0 },
  ];
  t.deepEqual(
    await issues('POST', PATH, {
      transcript_segments: bad,
      client_session_id: '🙂'.repeat(201),
      session_id: '  ',
      client_platform: 'windows',
      source: 'radio',
      language: 'e',
      started_at: 'soon',
      geolocation: { latitude: 91, longitude: -180.1 },
    }),
    {
      'body.transcript_segments.0.text': 'string_too_short',
      'body.transcript_segments.1.start': 'greater_than_equal',
      'body.transcript_segments.2.end': 'greater_than',
      'body.transcript_segments.3.speaker': 'string_pattern_mismatch',
      'body.transcript_segments.4.speaker': 'string_pattern_mismatch',
      'body.transcript_segments.5.start': 'float_type',
      'body.transcript_segments.5.end': 'less_than_equal',
      'body.transcript_segments.5.speaker_id': 'int_type',
      'body.transcript_segments.6.text': 'missing',
      'body.transcript_segments.6.end': 'missing',
      'body.client_session_id': 'string_too_long',
      'body.session_id': 'string_too_short',
      'body.client_platform': 'enum',
      'body.source': 'enum',
      'body.language': 'string_pattern_mismatch',
      'body.started_at': 'datetime_parsing',
      'body.geolocation.latitude': 'less_than_equal',
      'body.geolocation.longitude': 'greater_than_equal',
    },
  );
  const place = { latitude: 0, longitude: 0 };
  t.deepEqual(
    await issues('POST', PATH, {
      ...one,
      geolocation: { ...place, address: ' ', google_place_id: 'a\0b', location_type: '🙂'.repeat(501) },
    }),
    {
      'body.geolocation.address': 'string_too_short',
      'body.geolocation.google_place_id': 'value_error',
      'body.geolocation.location_type': 'string_too_long',
    },
  );
  for (const date of ['10000-01-01', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+00:01'])
    t.deepEqual(
      await issues('POST', PATH, { ...one, started_at: date }),
      { 'body.started_at': 'datetime_parsing' },
      date,
    );
  const list = 'body.transcript_segments';
  t.deepEqual(await issues('POST', PATH, {}), { [list]: 'missing' });
  t.deepEqual(await issues('POST', PATH, { transcript_segments: [] }), { [list]: 'too_short' });
  const many = Array.from({ length: 501 }, () => segment);
  t.deepEqual(await issues('POST', PATH, { transcript_segments: many }), { [list]: 'too_long' });
  t.deepEqual(await issues('POST', PATH, { ...one, started_at: '2026-01-02', finished_at: '2026-01-01' }), {
    'body.finished_at': 'value_error',
  });
  const strangers = [segment, { ...segment, person_id: 'nobody' }];
  t.deepEqual(await issues('POST', PATH, { transcript_segments: strangers, client_id: 'x' }), {
    'body.transcript_segments.1.person_id': 'value_error',
  });
  t.deepEqual(await conversations.list(user.id, { limit: 10, offset: 0 }), [], 'nothing is stored');
});

test('Languages are identified by name, devices by their form', async t => {
  const { run, send, issues } = await openRest(t);
  run();
  const languageOf = async (language: string) => {
    const { id } = (await send('POST', PATH, { language, transcript_segments: [segment] })).body;
    return (await send('GET', `${CREATE}/${id}`)).body.language;
  };
  t.deepEqual(await Promise.all(['EN', 'pt-br', 'auto'].map(languageOf)), ['en', 'pt-BR', 'multi']);
  for (const language of ['english', 'qq', 'e', 'en_US', ''])
    for (const [path, body] of [
      [PATH, { transcript_segments: [segment] }],
      [CREATE, { text: 'Tea.' }],
    ] as const)
      t.deepEqual(await issues('POST', path, { ...body, language }), {
        'body.language': 'string_pattern_mismatch',
      });
  for (const client_device_id of ['ios_3f2a', 'apple-watch_a_B-9'])
    t.is((await send('POST', PATH, { client_device_id, transcript_segments: [segment] })).status, 200);
  for (const client_device_id of ['phone', '_3f2a', 'ios_', 'ios 3_f', '3_f', `ios_${'f'.repeat(200)}`])
    t.like(await issues('POST', PATH, { client_device_id, transcript_segments: [segment] }), {
      'body.client_device_id': client_device_id.length > 200 ? 'string_too_long' : 'string_pattern_mismatch',
    });
});

test('Every accepted instant is returned as one, also for the latest start and the longest duration', async t => {
  const { run, send, issues } = await openRest(t);
  run();
  const times = async (started_at: string, end: number) => {
    const { id } = (await send('POST', PATH, { started_at, transcript_segments: [{ ...segment, end }] }))
      .body;
    const { body } = await send('GET', `${CREATE}/${id}`);
    return [body.started_at, body.finished_at];
  };
  t.deepEqual(await times('0000-01-01', 1), ['0000-01-01T00:00:00.000Z', '0000-01-01T00:00:01.000Z']);
  const last = ['9968-04-23T22:13:19.999Z', '9999-12-31T23:59:59.999Z'];
  t.deepEqual(await times('9968-04-23T22:13:19.999Z', 1e9), last);
  const transcript_segments = [{ ...segment, end: 1e9 }];
  const late = { started_at: '9968-04-23T22:13:20Z', transcript_segments };
  for (const body of [late, { ...late, finished_at: '9999-12-31' }])
    t.deepEqual(await issues('POST', PATH, body), { 'body.started_at': 'value_error' });
});

test('500 segments of 3,000 characters, and 200 characters outside the basic plane, are accepted', async t => {
  const { run, send } = await openRest(t);
  run();
  const transcript_segments = Array.from({ length: 500 }, (_, at) => ({
    text: `Part ${at}: `.padEnd(3000, 'we planned the garden, '),
    start: at,
    end: at + 1,
  }));
  const answer = await send('POST', PATH, { transcript_segments, client_session_id: '🙂'.repeat(200) });
  t.like(answer, { status: 200, body: { status: 'completed' } });
});

// Serial, because processor time is counted for the whole process.
test.serial(
  'Brackets that are never closed take time in proportion to their number, when a start processes them',
  async t => {
    const bracketsOf = (count: number) => ({ ...segment, text: '['.repeat(count) });
    const spent = async (count: number) => {
      const { run, send, clock } = await openRest(t);
      const answer = send('POST', PATH, { transcript_segments: Array(10).fill(bracketsOf(count)) });
      await clock.asleep(WAIT_MS); // stored
      const before = process.cpuUsage();
      run();
      t.is((await answer).body.status, 'completed');
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await spent(2000); // compiles
    const [few, many] = [await spent(2000), await spent(20_000)];
    t.true(many < 20 * few, `${few} µs, and ${many} for ten times as many`);
    const { issues } = await openRest(t);
    for (const count of [60_000, 150_000])
      t.deepEqual(await issues('POST', PATH, { transcript_segments: [bracketsOf(count)] }), {
        'body.transcript_segments.0.text': 'string_too_long',
      });
  },
);

test('A body that is not JSON, has the wrong type, or is too large is rejected', async t => {
  const { url, port, token, issues, send } = await openRest(t);
  t.deepEqual(await issues('POST', PATH, '{"transcript_segments": ['), { body: 'json_invalid' });
  t.deepEqual(await issues('POST', PATH, '[]'), { body: 'dict_type' });
  t.deepEqual(await issues('POST', PATH, undefined), { body: 'missing' });
  const post = async (headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) => {
    const authorized = { Authorization: `Bearer ${token}`, ...headers };
    return (await fetch(url + PATH, { method: 'POST', headers: authorized, body })).status;
  };
  t.is(await post({ 'Content-Type': 'text/plain' }, '{}'), 415);
  t.is(await post({ 'Content-Type': 'application/json; charset=latin1' }, '{}'), 415);
  t.is(await post({ 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, '{}'), 415);
  t.is(await post({ 'Content-Type': 'application/json' }, new Uint8Array([0x22, 0xff, 0x22])), 422);
  t.is(await post({ 'Content-Type': 'application/merge-patch+json; charset=UTF-8' }, '{}'), 422);
  t.is((await send('POST', PATH, `"${'x'.repeat(8 * 1024 * 1024)}"`)).status, 413);

  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}); // a reset also ends the connection
  socket.write(
    `POST /v1/dev/user/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  socket.write(`100001\r\n${' '.repeat(0x100001)}\r\n`);
  let answer = '';
  socket.on('data', chunk => {
    answer += chunk;
  });
  await once(socket, 'close');
  t.regex(answer, /^HTTP\/1\.1 413 [\s\S]*Connection: close[\s\S]*at most"\}$/i, 'without a declared length');
});

test('Fifty simultaneous requests of one session create one conversation, processed once', async t => {
  await fiftyAtOnce(t, await openRest(t));
});

test('On Postgres, over several connections, fifty simultaneous requests also create one conversation', async t => {
  const server = await startPostgres().catch((error: Error) => error);
  if (server instanceof Error) {
    t.log(`SKIPPED: Postgres cannot be started here. ${server}`);
    return t.falsy(process.env.CI, server.message);
  }
  t.teardown(server.stop);
  const rest = await openRest(t, async () => {
    const open = await openPostgresStorage(server.url('postgres'));
    await open.storage.migrate();
    return open;
  });
  await fiftyAtOnce(t, rest);
});

async function fiftyAtOnce(t: ExecutionContext, rest: Awaited<ReturnType<typeof openRest>>) {
  const { run, send, conversations, storage, user, told } = rest;
  const counted = run();
  const body = { ...one, client_session_id: 'session' };
  const answers = await Promise.all(Array.from({ length: 50 }, () => send('POST', PATH, body)));
  for (const answer of answers) t.is(answer.status, 200, JSON.stringify(answer.body));
  const id = answers[0]?.body.id;
  t.regex(id, UUID_V5);
  for (const { body } of answers) t.deepEqual(body, { id, status: 'completed', discarded: false });
  const stored = await conversations.list(user.id, { limit: 10, offset: 0 });
  t.deepEqual(
    stored.map(conversation => conversation.id),
    [id],
  );
  t.is(await storage.segments.count(user.id, id), 1);
  t.is(counted.runs, 1);
  t.is(told['conversation.processed'].length, 1);
}

test('A retry returns the stored conversation, by any name of the session; other sessions and users are separate', async t => {
  const { run, send, users, storage, user } = await openRest(t);
  const counted = run();
  const idOf = async (body: object, credential?: string) =>
    (await send('POST', PATH, { ...one, ...body }, credential)).body.id;
  const id = await idOf({ client_session_id: 'a' });
  t.is(await idOf({ client_session_id: ' a ', transcript_segments: [{ ...segment, text: 'changed' }] }), id);
  t.is(await idOf({ client_conversation_id: 'a' }), id);
  t.is(await idOf({ session_id: 'a', client_id: 'b' }), id);
  t.is(await idOf({ client_id: 'a' }), id);
  t.is(counted.runs, 1);
  t.is((await storage.segments.last(user.id, id))?.text, segment.text);
  await users.add('ben');
  const ids = [
    await idOf({ client_id: 'b' }),
    await idOf({ client_id: 'a' }, await users.token('ben')),
    await idOf({}),
    await idOf({}),
  ];
  t.is(new Set([id, ...ids]).size, 5);
  await storage.conversations.update(user.id, id, { discarded: true });
  const again = await send('POST', PATH, { ...one, client_id: 'a' });
  t.deepEqual(again.body, { id, status: 'completed', discarded: true });
});

test('After 20 s the response says that processing continues, which then completes', async t => {
  const { run, send, clock, storage, user, events } = await openRest(t);
  const answer = send('POST', PATH, { ...one, client_session_id: 'slow' });
  await clock.asleep(WAIT_MS);
  clock.advance(WAIT_MS);
  const { id, ...rest } = (await answer).body;
  t.deepEqual(rest, { status: 'processing', discarded: false });
  const processed = once(events, 'conversation.processed');
  run();
  await processed;
  t.is((await storage.conversations.get(user.id, id))?.status, 'completed');
  t.is((await send('POST', PATH, { ...one, client_session_id: 'slow' })).body.status, 'completed');
});

test('A waiting client gets its response as soon as the conversation is completed', async t => {
  const { run, send, clock, told } = await openRest(t);
  const answer = send('POST', PATH, one);
  await clock.asleep(WAIT_MS);
  t.is(told['conversation.processing'].length, 1);
  run();
  t.is((await answer).body.status, 'completed');
});

test('A text becomes a conversation of one segment', async t => {
  const { run, send, clock } = await openRest(t);
  run();
  const get = async (body: object) => {
    const answer = await send('POST', CREATE, body);
    t.like(answer, { status: 200, body: { status: 'completed', discarded: false } });
    return (await send('GET', `${CREATE}/${answer.body.id}?include_transcript=true`)).body;
  };
  const now = new Date(clock.now()).toISOString();
  const bare = await get({ text: ' The train leaves at seven tomorrow. ' });
  t.like(bare, { started_at: now, finished_at: now, language: 'en', source: 'external_integration' });
  t.is(bare.structured.title, 'The Train Leaves at Seven Tomorrow');
  const [segment, ...others] = bare.transcript_segments;
  t.like(segment, { text: 'The train leaves at seven tomorrow.', start: 0, end: 0, speaker_id: 0 });
  t.is(others.length, 0);

  const full = await get({
    text: '🙂'.repeat(100_000),
    text_source: 'message',
    text_source_spec: 'mail',
    started_at: '2026-01-01T10:00:00Z',
    finished_at: '2026-01-01T10:01:30.5Z',
    language: 'fr',
    source: 'workflow',
    geolocation: { latitude: 1, longitude: 2 },
  });
  t.like(full, { finished_at: '2026-01-01T10:01:30.500Z', language: 'fr', source: 'workflow' });
  t.deepEqual(
    full.transcript_segments.map(({ start, end }: { start: number; end: number }) => [start, end]),
    [0, 18.1, 36.2, 54.3, 72.4].map(start => [start, Number((start + 18.1).toFixed(1))]),
    'at most 20,000 characters each',
  );
});

test('A long text is split at its sentences into segments, in order', async t => {
  const { run, send } = await openRest(t);
  run();
  const sentences = Array.from(
    { length: 2000 },
    (_, at) => `Sentence ${at} is about the garden, the setup and me.`,
  );
  const text = sentences.join(' ').slice(0, 99_000);
  const { id } = (await send('POST', CREATE, { text })).body;
  const { body } = await send('GET', `${CREATE}/${id}?include_transcript=true`);
  const texts: string[] = body.transcript_segments.map((segment: { text: string }) => segment.text);
  t.is(texts.length, 5);
  t.is(texts.join(' '), text);
  t.true(texts.every(each => each.length <= 20_000));
  for (const each of texts.slice(0, -1)) t.regex(each, /^Sentence \d+ is .* me\.$/);
});

test('A text that is blank, too long or of an unknown kind is rejected, and so is a caller without write scope', async t => {
  const { send, issues, conversations, keys, user } = await openRest(t);
  t.deepEqual(await issues('POST', CREATE, {}), { 'body.text': 'missing' });
  const bad = { text: ' \n', text_source: 'song', text_source_spec: '', source: 'radio' };
  t.deepEqual(await issues('POST', CREATE, bad), {
    'body.text': 'string_too_short',
    'body.text_source': 'enum',
    'body.text_source_spec': 'string_too_short',
    'body.source': 'enum',
  });
  t.deepEqual(await issues('POST', CREATE, { text: 'x'.repeat(100_001) }), {
    'body.text': 'string_too_long',
  });
  t.deepEqual(
    await issues('POST', CREATE, { text: 'x', started_at: '2026-02-01', finished_at: '2026-01-01' }),
    {
      'body.finished_at': 'value_error',
    },
  );
  const reader = await keys.create(user.id, { name: 'r', scopes: ['conversations:read'] });
  t.is((await send('POST', CREATE, { text: 'x' }, reader.key)).status, 403);
  t.deepEqual(await conversations.list(user.id, { limit: 10, offset: 0 }), []);
});

test('A conversation without speech is discarded, until it has some', async t => {
  const { run, send, conversations, clock, user, events } = await openRest(t);
  run();
  const sounds = [
    { text: 'Um.', start: 0, end: 1 },
    { text: 'Uh-huh, okay.', start: 2, end: 3 },
  ];
  const { body } = await send('POST', PATH, { transcript_segments: sounds });
  t.deepEqual(body, { id: body.id, status: 'completed', discarded: true });
  t.deepEqual((await send('GET', CREATE)).body, []);
  const found = await send('GET', `${CREATE}/${body.id}`);
  t.like(found.body, { status: 'completed', discarded: true, folder_id: null, structured: { title: '' } });
  t.deepEqual((await send('POST', CREATE, { text: '[Music]' })).body.discarded, true);

  const at = clock.now() + 4000;
  const piece = { text: 'The train leaves at seven.', startAt: at, endAt: at + 1000, speaker: 'SPEAKER_00' };
  const processed = once(events, 'conversation.processed');
  await conversations.append({
    userId: user.id,
    conversationId: body.id,
    stream: null,
    startedAt: at,
    pieces: [{ ...piece, sttProvider: null }],
    late: true,
  });
  await processed;
  t.deepEqual(
    (await send('GET', CREATE)).body.map(({ id, discarded }: Record<string, unknown>) => [id, discarded]),
    [[body.id, false]],
  );
});

test('A conversation that its owner discarded stays discarded when it is processed again', async t => {
  const { run, send, conversations, clock, user, events } = await openRest(t);
  run();
  const { id } = (await send('POST', PATH, one)).body;
  await send('PATCH', `${CREATE}/${id}`, { discarded: true });
  const at = clock.now() + 9000;
  const piece = {
    text: 'And then?',
    startAt: at,
    endAt: at + 1000,
    speaker: 'SPEAKER_00',
    sttProvider: null,
  };
  const processed = once(events, 'conversation.processed');
  const where = { userId: user.id, conversationId: id, stream: null, startedAt: at, late: true };
  await conversations.append({ ...where, pieces: [piece] });
  await processed;
  t.like((await send('GET', `${CREATE}/${id}`)).body, { status: 'completed', discarded: true });
});
