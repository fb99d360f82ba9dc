import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Validator } from '@seriousme/openapi-schema-validator';
import test, { type ExecutionContext } from 'ava';
import type { Config } from '../../../config/schema.ts';
import type { Delivery, GoalSuggestionState } from '../../../core/contract/model.ts';
import { ACTIONS } from '../../../core/domain/apps/apps.ts';
import { MAX_MARKS } from '../../../core/domain/conversations/marks.ts';
import { newId } from '../../../core/domain/ids.ts';
import { addDaySummaryIn } from '../../../core/domain/notifications/day-summaries.ts';
import { createNotificationLimit, createRateLimits } from '../../../core/http/rate-limit.ts';
import { createServer } from '../../../core/http/server.ts';
import { AppError, type ErrorCode } from '../../../core/runtime/errors.ts';
import { createMetrics } from '../../../core/runtime/metrics.ts';
import { version } from '../../../core/runtime/version.ts';
import { attempt, delivery, hook as hookRow } from '../../../plugins/kit/suites/storage/outbound-rows.ts';
import { stream } from '../../../plugins/kit/suites/storage/rows.ts';
import { caldavOutlet, openCaldavServer } from '../../helpers/caldav-server.ts';
import { completedConversation, hashCheaply, temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import {
  type Answer,
  bodyOf,
  checker,
  documentOf,
  exampleOf,
  fileOf,
  find,
  type Json,
  type OpenApi,
  type Operation,
  operationsOf,
  resolve,
  textOf,
} from '../../helpers/openapi.ts';
import { pngOf } from '../../helpers/photo.ts';
import { openRest } from '../../helpers/rest.ts';
import { installSmallModel } from '../../helpers/system.ts';

/** How to call an operation, apart from its credential and its body. */
interface Call {
  status: number;
  /** Awaited before the call. */
  before?: () => Promise<unknown>;
  /** Address of a server in another state. */
  url?: string;
  headers?: Record<string, string>;
  /** Parameters of the path, separated by spaces. */
  path?: string;
  query?: string;
  /** As JSON; absent: the document's example, if the operation has a body. */
  body?: unknown;
}

/** One call and its response. */
interface Exchange {
  operation: string;
  status: number;
  type: string;
  headers: Headers;
  body: unknown;
  sent?: unknown;
}

const UNKNOWN = '01890000-0000-7000-8000-000000000000';

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  rest.run();
  const surroundings = {
    ...rest,
    listen: { paths: [], refusal: () => null, authorize: async () => null, accept: async () => {} },
    config: { listen: { maxConnections: 100 } as Config['listen'], trustedProxies: [] },
    health: async () => ({ status: 'failing' as const, parts: [] }),
  };
  /** The same server with some parts replaced. */
  async function serve(changes: Partial<Parameters<typeof createServer>[0]>): Promise<string> {
    const server = createServer({ ...surroundings, ...changes });
    const { port } = await server.listen('127.0.0.1', 0);
    t.teardown(() => server.close());
    return `http://127.0.0.1:${port}`;
  }
  const metrics = createMetrics({
    now: () => performance.now(),
    plugins: () => [],
    jobs: async () => [],
  });
  const served = await serve({ metrics, health: async () => ({ status: 'ok', parts: [] }) });
  const guarded = await serve({
    metrics,
    identities: { ofAccessTokens: () => ['https://id.example.org'] },
    accounts: { ...rest.accounts, removeOwn: async () => {} },
    config: {
      publicUrl: 'https://earshot.example.org',
      ...surroundings.config,
      metrics: { token: 'nobody-guesses-this-token' },
    },
  });
  const document = await documentOf(served);
  await rest.users.add('owner');
  await rest.users.setRole(await rest.users.add('olga'), 'operator');
  const operator = await rest.users.token('olga');
  await rest.signIn.setPassword('owner', 'correct horse battery');
  const { key: deviceKey } = await rest.keys.create(rest.user.id, { name: 'device', scopes: ['listen'] });
  const { key: strangerKey } = await rest.keys.create(rest.user.id, {
    name: 'no device',
    scopes: ['goals:read'],
  });
  const key = async () => (await rest.keys.create(rest.user.id, { name: 'another' })).record.id;
  const session = async () => {
    const [id, userId] = [randomUUID(), rest.user.id];
    const expiresAt = rest.clock.now() + 3600_000;
    await rest.sessions.begin({ id, userId, kind: 'browser', userAgent: 'Firefox', expiresAt });
    return id;
  };
  const conversation = async (changes: { locked?: boolean } = {}) => {
    const { id } = await completedConversation(rest, rest.user.id);
    await rest.storage.conversations.update(rest.user.id, id, changes);
    return id;
  };
  const actionItem = async (changes: { locked?: boolean } = {}) => {
    const draft = { description: 'Call Eve', completed: false, dueAt: rest.clock.now() };
    const id = (await rest.actionItems.create(rest.user.id, [draft]))[0]?.id ?? '';
    await rest.storage.actionItems.update(rest.user.id, id, { locked: false, ...changes });
    return id;
  };
  const memory = async ({ locked = false } = {}) => {
    const { body } = await rest.send('POST', '/v1/dev/user/memories', { content: 'Likes tea' });
    await rest.storage.memories.update(rest.user.id, body.id, { locked });
    return body.id;
  };
  const goal = async () =>
    (await rest.send('POST', '/v1/dev/user/goals', { title: 'Read', target_value: 9, unit: 'books' })).body
      .id;
  const suggestion = async (state: GoalSuggestionState = 'open') => {
    const id = randomUUID();
    const places = { goalId: await goal(), conversationId: await conversation(), segmentIds: [UNKNOWN] };
    const said = { text: 'I read two books.', value: 2, adds: true, createdAt: rest.clock.now() };
    await rest.storage.goalSuggestions.insert({ id, userId: rest.user.id, ...places, ...said, state });
    return id;
  };
  await addDaySummaryIn(rest.storage, rest.user.id, {
    ...{ day: '2026-11-02', timeZone: 'UTC', summary: 'Tea.', createdAt: rest.clock.now() },
    ...{ conversationIds: [UNKNOWN], actionItemIds: [] },
  });
  const folder = async () => (await rest.send('POST', '/v1/folders', { name: 'Garden' })).body.id;
  const template = async () =>
    (await rest.send('POST', '/v1/summary-templates', { name: 'Mine', instructions: 'Short.' })).body.id;
  rest.channels.push({
    ...{ name: 'log', title: 'Log' },
    channel: { address: z => z.looseObject({}), send: async () => {} },
  });
  const fresh = await openRest(t);
  hashCheaply(fresh);
  let number = 0;
  const address = async () => {
    number += 1; // the same URL again would return the existing one
    return (await rest.channelAddresses.add(rest.user.id, { channel: 'log', address: { number } })).id;
  };
  const calendar = async () => {
    const server = await openCaldavServer();
    t.teardown(server.close);
    rest.calendars.push(caldavOutlet(t, rest.clock));
    return server;
  };
  /** Creates a link in a separate account: the calls renew and delete the link of theirs. */
  const calendarQuery = async () => {
    const { path } = await rest.calendarLinks.renew((await rest.users.add('calendar')).id);
    return path.split('?')[1] ?? '';
  };
  const muteQuery = async () => {
    await address();
    const telling = { appId: null, event: 'hook_off', rule: 'Why', title: 'Off', text: '' };
    const { id } = await rest.notifications.tell(rest.user.id, telling);
    const [sent] = await rest.storage.deliveries.list(rest.user.id, { limit: 1 });
    t.is(sent?.subject, id);
    const whole = await rest.storage.deliveries.get(rest.user.id, sent?.id ?? '');
    return new URL(JSON.parse(whole?.body ?? '').muteUrl).searchParams.toString();
  };
  const device = async () => {
    const body = { name: 'Kitchen', devices: [{ id: 'omi', name: 'Omi', state: 'quiet' }] };
    await rest.send('PUT', '/v1/bridges/kitchen', body);
    return 'omi';
  };
  const assigned = async () => {
    const said = { speakerId: 0, personId: 'user' };
    return (await rest.voiceAssignments.assign(rest.user.id, await conversation(), said, null)).id;
  };
  const place = async () => {
    const point = { latitude: 52.52, longitude: 13.405 };
    return (await rest.places.create(rest.user.id, { name: 'Home', ...point })).id;
  };
  const person = async () => (await rest.people.create(rest.user.id, 'Eve')).id;
  const ongoing = async () => {
    const request = { source: 'omi', deviceId: UNKNOWN, language: 'en', timeoutMs: 120_000 };
    return (await rest.conversations.open({ userId: rest.user.id, ...request })).id;
  };
  const picture = join(await temporaryDirectory(t), 'picture');
  await writeFile(picture, await pngOf(64, 48));
  const photo = async (changes: { locked?: boolean } = {}) => {
    const request = { source: 'omi', deviceId: newId(rest.clock.now()), language: 'en', timeoutMs: 120_000 };
    const { id: conversationId } = await rest.conversations.open({ userId: rest.user.id, ...request });
    const about = { userId: rest.user.id, conversationId, from: picture, takenAt: rest.clock.now() };
    const made = await rest.photos.add(about);
    await rest.storage.conversations.update(rest.user.id, conversationId, changes);
    return made;
  };
  /** Audio of a stream that no recogniser could transcribe. */
  const keptAudio = async () => {
    const made = await completedConversation(rest, rest.user.id);
    const conversation = await rest.storage.conversations.get(rest.user.id, made.id);
    if (!conversation) throw new Error('there is no conversation');
    const id = newId(rest.clock.now());
    await rest.storage.streams.insert(stream(id, conversation, { anchorAt: rest.clock.now() }));
    await mkdir(join(rest.mediaDir, 'untranscribed'), { recursive: true });
    await writeFile(join(rest.mediaDir, 'untranscribed', `${id}-0.wav`), 'RIFF');
    return `${id}-0`;
  };
  /** A conversation with a segment; returns both ids. */
  const said = async (changes: { locked?: boolean } = {}) => {
    const { id, segments } = await completedConversation(rest, rest.user.id);
    await rest.storage.conversations.update(rest.user.id, id, changes);
    return { id, segment: `${id} ${segments[0]?.id}` };
  };
  const marked = async (changes: { locked?: boolean } = {}) => {
    const { id: conversationId } = await said();
    const mark = await rest.marks.add(rest.user.id, { conversationId });
    await rest.storage.conversations.update(rest.user.id, conversationId, changes);
    return mark;
  };
  const fullOfMarks = async () => {
    const { id: conversationId } = await said();
    for (let count = 0; count < MAX_MARKS; count += 1) await rest.marks.add(rest.user.id, { conversationId });
    return conversationId;
  };
  /** A delivery to a webhook of the user, and one attempt. */
  const delivered = async (changes: Partial<Delivery> = {}) => {
    const own = hookRow(newId(1), rest.user.id, { type: newId(1) });
    await rest.storage.hooks.put(own);
    const row = delivery(newId(2), rest.user.id, { targetId: own.id, ...changes });
    await rest.storage.deliveries.insert([row]);
    await rest.storage.deliveries.record([{ attempt: attempt(row, 1), state: 'pending', nextAt: 3 }]);
    return row.id;
  };
  const { segment } = await said();
  await installSmallModel(rest.systemDir, 'other');
  const started = { ...rest.system.simulation, begin() {} };
  const url = 'https://hooks.example.org/';
  const integration = { webhook_url: url, triggers_on: 'memory_created', actions: [...ACTIONS] };
  const app = async (changes: object = {}): Promise<string> =>
    (
      await rest.send('POST', '/v1/apps', {
        name: 'Tea',
        external_integration: { ...integration, ...changes },
      })
    ).body.id;
  const appKey = async () => {
    const id = await app();
    return `${id} ${(await rest.send('POST', `/v1/apps/${id}/keys`)).body.id}`;
  };
  const hook = async (type = 'memory_created') => {
    await rest.send('POST', `/v1/users/developer/webhook/${type}`, { url });
    const { body } = await rest.send('GET', '/v1/hooks');
    return body.find((found: Json) => found.app_id === null && found.type === type).id;
  };
  const appHook = async () => {
    const id = await app();
    const { body } = await rest.send('GET', '/v1/hooks');
    return body.find((found: Json) => found.app_id === id).id;
  };
  await hook();
  const tea = await app();
  const { secret: appSecret } = (await rest.send('POST', `/v1/apps/${tea}/keys`)).body;
  const granted = `uid=${rest.user.id}`;
  await rest.send('POST', `/v1/apps/enable?app_id=${tea}`);
  const ben = await rest.users.add('ben');
  await rest.apps.install(ben.id, tea, { actions: [] });
  /** Failures that all operations of the app API share. */
  const forApp = (query = '', body?: unknown): Call[] => [
    { status: 200, path: tea, query: `${granted}${query}`, ...(body === undefined ? {} : { body }) },
    { status: 404, path: tea, query: `uid=${UNKNOWN}${query}` },
    { status: 422, path: tea },
  ];
  const withAction = (query = '', body?: unknown): Call[] => [
    ...forApp(query, body),
    { status: 403, path: tea, query: `uid=${ben.id}${query}` },
  ];
  const two = await completedConversation(rest, rest.user.id, ['one of two', 'two of two']);
  const heard = (transcribe: typeof rest.voiceMessages.transcribe) =>
    serve({ voiceMessages: { check() {}, transcribe } });
  const failing = (code: ErrorCode) => () => Promise.reject(new AppError(code, 'No text'));
  const unreadable = {
    ...rest.uploads,
    open: () => ({ read: failing('internal'), release: async () => {} }),
  };
  await rest.exportFiles.begin(rest.user);
  await eventually(async () => (await rest.exportFiles.current(rest.user.id))?.state === 'ready');
  const made = await rest.exportFiles.current(rest.user.id);
  const exported = made?.id ?? '';
  if (made) rest.exportFiles.begin = async () => made; // it has to be there for the operations that follow
  /**
   * Calls that provoke failures of single operations, by operation id; common failures are provoked for all.
   */
  /** One import of an account runs at a time. */
  const importsOver = () => eventually(() => !rest.uploadedImports.progress(rest.user).running);
  const calls: Record<string, Call[]> = {
    listConversations: [
      { status: 200 },
      { status: 200, query: 'include_transcript=true&categories=other,work&limit=1000&starred=false' },
      { status: 422, query: 'limit=ten&start_date=soon' },
    ],
    searchConversations: [
      { status: 200, query: 'query=hello' },
      { status: 422, query: 'limit=ten' },
    ],
    getConversation: [
      { status: 200, path: await conversation(), query: 'include_transcript=true' },
      { status: 404, path: UNKNOWN },
      { status: 404, path: 'nonsense' },
      { status: 404, path: await conversation({ locked: true }) },
      { status: 422, path: UNKNOWN, query: 'include_transcript=maybe' },
    ],
    updateConversation: [
      { status: 200, path: await conversation() },
      { status: 404, path: UNKNOWN },
      { status: 404, path: await conversation(), body: { folder_id: UNKNOWN } },
      { status: 422, path: UNKNOWN, body: { title: null } },
      { status: 423, path: await conversation({ locked: true }) },
    ],
    deleteConversation: [
      { status: 200, path: await conversation() },
      { status: 404, path: UNKNOWN },
      { status: 423, path: await conversation({ locked: true }) },
    ],
    createConversation: [{ status: 200 }, { status: 422, body: { text: ' ', source: 'radio' } }],
    createConversationFromSegments: [
      { status: 200 },
      { status: 422, body: { transcript_segments: [{ text: 'x', start: 1, end: 1 }] } },
    ],
    listFolders: [{ status: 200 }],
    listGoals: [
      { status: 200, query: 'include_inactive=true' },
      { status: 422, query: 'limit=x' },
    ],
    getGoal: [
      { status: 200, path: await goal() },
      { status: 404, path: UNKNOWN },
    ],
    streamEvents: [{ status: 200 }],
    getReadiness: [{ status: 200 }],
    listModels: [{ status: 200 }],
    downloadModel: [
      { status: 200, path: 'small' },
      { status: 404, path: 'smal' },
    ],
    removeModel: [
      { status: 200, path: 'other' },
      { status: 404, path: 'other' },
    ],
    getSimulation: [{ status: 200 }],
    startSimulation: [
      { status: 200, url: await serve({ system: { ...rest.system, simulation: started } }) },
      { status: 503 },
    ],
    stopSimulation: [{ status: 200 }],
    listPlugins: [{ status: 200 }],
    changePlugin: [
      { status: 200, path: 'log', body: { options: {} } },
      { status: 404, path: 'lo', body: { options: {} } },
      { status: 422, path: 'log', body: { options: [] } },
    ],
    getDiskUsage: [{ status: 200 }],
    getLatency: [{ status: 200 }],
    listJobs: [{ status: 200 }],
    listLogLines: [
      { status: 200, query: 'level=warn&limit=2' },
      { status: 422, query: 'level=loud' },
    ],
    getExamination: [{ status: 200 }],
    startExamination: [{ status: 200 }],
    getBackupState: [{ status: 200 }],
    startBackup: [{ status: 200 }],
    listDailySummaries: [{ status: 200 }, { status: 422, query: 'limit=x' }],
    getDailySummary: [
      { status: 200, path: '2026-11-02' },
      { status: 404, path: '2026-11-03' },
    ],
    createGoal: [{ status: 200 }, { status: 422, body: { title: 'x', min_value: 2, max_value: 1 } }],
    updateGoal: [
      { status: 200, path: await goal() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await goal(), body: { title: 'Tea', expected: { title: 'Coffee' } } },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    updateGoalProgress: [
      { status: 200, path: await goal(), query: 'current_value=1' },
      { status: 404, path: UNKNOWN, query: 'current_value=1' },
      { status: 422, path: UNKNOWN },
    ],
    listGoalSuggestions: [{ status: 200 }],
    acceptGoalSuggestion: [
      { status: 200, path: await suggestion() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await suggestion('refused') },
    ],
    refuseGoalSuggestion: [
      { status: 200, path: await suggestion() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await suggestion('accepted') },
    ],
    getGoalHistory: [
      { status: 200, path: await goal() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, query: 'days=all' },
    ],
    deleteGoal: [
      { status: 200, path: await goal() },
      { status: 404, path: UNKNOWN },
    ],
    createToken: [
      { status: 200 },
      { status: 401, body: { name: 'owner', password: 'wrong' } },
      { status: 422, body: { name: ' ', password: '' } },
    ],
    createSession: [
      { status: 200 },
      { status: 401, body: { name: 'owner', password: 'wrong' } },
      { status: 422, body: { name: ' ', password: '' } },
    ],
    renewSession: [
      { status: 200, headers: { Cookie: `earshot_session=${await rest.users.token('anna')}` } },
      { status: 401 },
    ],
    endSession: [{ status: 200 }],
    acceptWelcome: [
      {
        status: 200,
        url: fresh.url,
        body: { code: await fresh.signIn.welcome(), password: 'correct horse battery' },
      },
      { status: 401, body: { code: 'nonsense', password: 'correct horse battery' } },
      { status: 422, body: { code: '', password: '' } },
    ],
    getPublicKeys: [{ status: 200 }],
    listSessions: [{ status: 200 }],
    endOtherSessions: [{ status: 204 }],
    endOneSession: [
      { status: 204, path: await session() },
      { status: 404, path: UNKNOWN },
    ],
    listKeys: [{ status: 200 }],
    createKey: [
      { status: 200 },
      { status: 422, body: { name: ' ', scopes: ['everything'] } },
      { status: 422, body: { name: 'x', scopes: [] } },
    ],
    rotateKey: [
      { status: 200, path: await key() },
      { status: 404, path: UNKNOWN },
    ],
    deleteKey: [
      { status: 204, path: await key() },
      { status: 404, path: UNKNOWN },
    ],
    getOwnKey: [{ status: 200 }],
    createFolder: [{ status: 200 }, { status: 422, body: { name: ' ', color: 'red' } }],
    updateFolder: [
      { status: 200, path: await folder() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    deleteFolder: [
      { status: 200, path: await folder() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: (await rest.storage.folders.list(rest.user.id))[0]?.id ?? '' },
    ],
    listSummaryTemplates: [{ status: 200 }],
    createSummaryTemplate: [{ status: 200 }, { status: 422, body: { name: 'x', categories: ['tea'] } }],
    getSummaryTemplate: [
      { status: 200, path: await template() },
      { status: 404, path: UNKNOWN },
    ],
    updateSummaryTemplate: [
      { status: 200, path: await template() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: 'meeting' },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    deleteSummaryTemplate: [
      { status: 200, path: await template() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: 'meeting' },
    ],
    getSummarySettings: [{ status: 200 }],
    getSpeechSettings: [{ status: 200 }],
    updateSpeechSettings: [{ status: 200 }, { status: 422, body: { translate_to: 'klingonish' } }],
    getListening: [{ status: 200 }],
    putListeningSchedule: [{ status: 200 }, { status: 422, body: { schedule: [{ days: [] }] } }],
    pauseListening: [{ status: 200 }, { status: 422, body: { minutes: 0 } }],
    resumeListening: [{ status: 200 }],
    listAccesses: [{ status: 200 }, { status: 422, query: 'limit=ten' }],
    getRetention: [{ status: 200 }],
    putRetention: [
      { status: 200 },
      { status: 404, body: { rules: [{ data: 'photos', days: 1, folder_id: UNKNOWN }] } },
      { status: 422, body: { rules: [{ data: 'audio', days: 0 }] } },
    ],
    previewRetention: [
      { status: 200 },
      { status: 404, body: { rules: [{ data: 'photos', days: 1, folder_id: UNKNOWN }] } },
      { status: 422, body: { rules: [{ data: 'audio', days: 0 }] } },
    ],
    listDevices: [{ status: 200 }],
    getDevice: [
      { status: 200, path: await device() },
      { status: 404, path: UNKNOWN },
    ],
    updateDevice: [
      { status: 200, path: await device() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    deleteDevice: [
      { status: 200, path: await device() },
      { status: 404, path: UNKNOWN },
    ],
    reportDevices: [{ status: 200 }, { status: 422, body: { name: 'x', devices: 1 } }],
    mergePeople: [
      { status: 200, path: await person(), body: { other_person_id: await person() } },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    assignSpeaker: [
      { status: 200, path: `${await conversation()} 0`, body: { person_id: 'user' } },
      { status: 404, path: `${UNKNOWN} 0` },
      { status: 422, path: `${UNKNOWN} 0`, body: {} },
      { status: 423, path: `${await conversation({ locked: true })} 0` },
    ],
    listVoiceAssignments: [{ status: 200 }],
    getVoiceAssignment: [
      { status: 200, path: await assigned() },
      { status: 404, path: UNKNOWN },
    ],
    undoVoiceAssignment: [
      { status: 200, path: await assigned() },
      { status: 404, path: UNKNOWN },
    ],
    startImport: [
      { status: 200, before: importsOver },
      { status: 422, query: 'dry_run=perhaps' },
    ],
    getImportProgress: [{ status: 200 }],
    listImports: [{ status: 200 }],
    undoImport: [
      { status: 200, path: await importOf(rest), before: importsOver },
      { status: 404, path: UNKNOWN },
    ],
    importAudio: [{ status: 200 }, { status: 422, query: 'silence=1' }],
    listRecordings: [{ status: 200 }, { status: 422, query: 'limit=x' }],
    getRecording: [
      { status: 200, path: await recordingOf(rest) },
      { status: 404, path: UNKNOWN },
    ],
    deleteRecording: [
      { status: 200, path: await recordingOf(rest) },
      { status: 404, path: UNKNOWN },
    ],
    getSpeechProfile: [{ status: 200 }],
    recordSpeechProfile: [
      {
        status: 200,
        url: await serve({ speechProfiles: { ...rest.speechProfiles, record: async () => VOICE } }),
      },
      { status: 422, query: 'channels=3' },
    ],
    deleteSpeechProfile: [{ status: 200 }],
    listVoiceSamples: [
      { status: 200, path: await person() },
      { status: 404, path: UNKNOWN },
    ],
    recordVoiceSample: [
      {
        status: 200,
        path: await person(),
        url: await serve({ speechProfiles: { ...rest.speechProfiles, recordPerson: async () => {} } }),
      },
      {
        status: 404,
        path: UNKNOWN,
        url: await serve({ speechProfiles: { ...rest.speechProfiles, recordPerson: async () => {} } }),
      },
      { status: 422, path: UNKNOWN, query: 'channels=3' },
    ],
    deleteVoiceSample: [
      { status: 200, path: await voiceOf(rest) },
      { status: 404, path: UNKNOWN },
    ],
    getCalendarLink: [{ status: 200 }],
    renewCalendarLink: [{ status: 200 }],
    deleteCalendarLink: [{ status: 204 }, { status: 404 }],
    getWeeklyReview: [{ status: 200 }, { status: 422, query: 'to=soon' }],
    getCalendarAccount: [{ status: 200 }],
    connectCalendarAccount: [
      {
        status: 200,
        body: { address: { url: (await calendar()).url, username: 'ada', password: 'secret' } },
      },
      { status: 422, body: { address: { url: 'nowhere' } } },
    ],
    disconnectCalendarAccount: [{ status: 204 }, { status: 404 }],
    updateSummarySettings: [{ status: 200 }, { status: 422, body: { language: 'klingonish' } }],
    reprocessConversation: [
      { status: 200, path: await conversation() },
      { status: 404, path: UNKNOWN },
      { status: 404, path: await conversation(), body: { template_id: UNKNOWN } },
      { status: 409, path: await ongoing() },
      { status: 423, path: await conversation({ locked: true }) },
    ],
    correctSegment: [
      { status: 200, path: segment, body: { person_id: 'user' } },
      { status: 404, path: UNKNOWN },
      { status: 404, path: segment, body: { person_id: UNKNOWN } },
      { status: 422, path: segment, body: { text: ' ' } },
      { status: 423, path: (await said({ locked: true })).segment },
    ],
    finishConversation: [
      { status: 200, path: await conversation() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await ongoing() },
      { status: 423, path: await conversation({ locked: true }) },
    ],
    mergeConversations: [
      { status: 200, path: await conversation(), body: { with: await conversation() } },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await conversation(), body: { with: await ongoing() } },
      { status: 422, path: UNKNOWN, body: {} },
      { status: 423, path: await conversation({ locked: true }) },
    ],
    splitConversation: [
      { status: 200, path: two.id, body: { segment_id: two.segments[1]?.id } },
      { status: 404, path: await conversation() },
      { status: 409, path: await ongoing() },
      { status: 422, path: UNKNOWN, body: {} },
      { status: 423, path: await conversation({ locked: true }) },
    ],
    ask: [{ status: 200 }, { status: 422, body: { question: ' ' } }],
    askStreaming: [{ status: 200 }, { status: 422, body: { question: ' ' } }],
    sendMessage: [
      { status: 200 },
      { status: 404, query: `chat_session_id=${UNKNOWN}` },
      { status: 422, body: { text: ' ' } },
    ],
    listMessages: [
      { status: 200 },
      { status: 404, query: `chat_session_id=${UNKNOWN}` },
      { status: 422, query: 'limit=x' },
    ],
    clearMessages: [
      { status: 200, query: `chat_session_id=${(await rest.chat.begin(rest.user.id)).id}` },
      { status: 404, query: `chat_session_id=${UNKNOWN}` },
      { status: 422, query: `chat_session_id=${'x'.repeat(4001)}` },
    ],
    createChatSession: [{ status: 200 }],
    listChatSessions: [{ status: 200 }, { status: 422, query: 'limit=x' }],
    deleteChatSession: [
      { status: 200, path: (await rest.chat.begin(rest.user.id)).id },
      { status: 404, path: UNKNOWN },
    ],
    changePassword: [
      {
        status: 200,
        body: { name: 'owner', password: 'correct horse battery', new_password: 'correct horse battery' },
      },
      { status: 401, body: { name: 'owner', password: 'wrong', new_password: 'correct horse battery' } },
      { status: 422, body: { name: 'owner', password: 'wrong', new_password: 'short' } },
    ],
    listAccounts: [{ status: 200 }],
    editAccount: [
      { status: 200, path: rest.user.id, body: { name: 'anna' } },
      { status: 404, path: UNKNOWN, body: { name: 'anna b' } },
      { status: 422, path: UNKNOWN, body: { name: '' } },
    ],
    getVocabulary: [{ status: 200 }],
    putVocabulary: [{ status: 200 }, { status: 422, body: { words: [''] } }],
    exportAccount: [{ status: 200 }],
    listExports: [{ status: 200 }],
    getExportFile: [
      { status: 200, path: exported },
      { status: 206, path: exported, headers: { Range: 'bytes=10-' } },
      { status: 416, path: exported, headers: { Range: 'bytes=999999999-' } },
      { status: 404, path: UNKNOWN },
    ],
    deleteExport: [
      { status: 200, path: exported },
      { status: 404, path: UNKNOWN },
    ],
    startExport: [{ status: 200 }],
    removeOwnAccount: [
      { status: 200, url: guarded, body: { name: rest.user.name } },
      { status: 409, body: { name: 'somebody' } },
      { status: 422, body: {} },
    ],
    getStatistics: [
      { status: 200, query: 'days=3&time_zone=Europe/Berlin' },
      { status: 422, query: 'days=0' },
    ],
    listPeople: [{ status: 200 }],
    listPlaces: [{ status: 200, before: async () => void (await place()) }],
    createPlace: [{ status: 200 }, { status: 422, body: { name: 'Home', latitude: 91, longitude: 0 } }],
    renamePlace: [
      { status: 200, path: await place() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await place(), body: { name: 'Garden', expected: { name: 'House' } } },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    deletePlace: [
      { status: 200, path: await place() },
      { status: 404, path: UNKNOWN },
    ],
    createPerson: [{ status: 200 }, { status: 422, body: {} }],
    renamePerson: [
      { status: 200, path: await person() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: { name: '' } },
    ],
    deletePerson: [
      { status: 200, path: await person() },
      { status: 404, path: UNKNOWN },
    ],
    listActionItems: [
      { status: 200, query: 'completed=false&limit=5' },
      { status: 422, query: 'completed=maybe' },
    ],
    getActionItem: [
      { status: 200, path: await actionItem() },
      { status: 404, path: await actionItem({ locked: true }) },
    ],
    createActionItem: [{ status: 200 }, { status: 422, body: { description: ' ' } }],
    createActionItems: [{ status: 200 }, { status: 422, body: { action_items: [{}] } }],
    updateActionItem: [
      { status: 200, path: await actionItem() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: {} },
      { status: 423, path: await actionItem({ locked: true }) },
    ],
    deleteActionItem: [
      { status: 200, path: await actionItem() },
      { status: 404, path: UNKNOWN },
      { status: 423, path: await actionItem({ locked: true }) },
    ],
    getMetrics: [
      { status: 200 },
      { status: 403, headers: { 'X-Forwarded-For': '192.0.2.1' } },
      { status: 401, url: guarded },
    ],
    getHealth: [{ status: 200 }, { status: 503, url: guarded }],
    getMcpMetadata: [{ status: 200, url: guarded }, { status: 404 }],
    listMemories: [
      { status: 200, query: 'categories=work,other&limit=5' },
      { status: 422, query: 'categories=news' },
    ],
    searchMemories: [
      { status: 200, query: 'query=tea&limit=5' },
      { status: 422, query: 'limit=101' },
    ],
    getMemory: [
      { status: 200, path: await memory() },
      { status: 404, path: await memory({ locked: true }) },
    ],
    createMemory: [{ status: 200 }, { status: 422, body: { content: ' ' } }],
    createMemories: [{ status: 200 }, { status: 422, body: { memories: [{}] } }],
    updateMemory: [
      { status: 200, path: await memory() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: {} },
      { status: 423, path: await memory({ locked: true }) },
    ],
    deleteMemory: [
      { status: 200, path: await memory() },
      { status: 404, path: UNKNOWN },
      { status: 423, path: await memory({ locked: true }) },
    ],
    getMemoryHistory: [
      { status: 200, path: await memory() },
      { status: 404, path: UNKNOWN },
    ],
    restoreMemory: [
      { status: 200, path: await memory() },
      { status: 404, path: UNKNOWN },
      { status: 423, path: await memory({ locked: true }) },
    ],
    reviewMemory: [
      { status: 200, path: await memory() },
      { status: 404, path: UNKNOWN },
      { status: 423, path: await memory({ locked: true }) },
    ],
    listApps: [{ status: 200 }],
    createApp: [
      { status: 200 },
      { status: 422, body: { name: ' ', external_integration: { triggers_on: 'radio' } } },
    ],
    listInstalledApps: [{ status: 200 }],
    installApp: [
      { status: 200, query: `app_id=${tea}`, body: {} },
      { status: 404, query: `app_id=${UNKNOWN}` },
      { status: 422 },
    ],
    uninstallApp: [
      { status: 200, query: `app_id=${await app()}` },
      { status: 404, query: `app_id=${UNKNOWN}` },
      { status: 422 },
    ],
    getApp: [
      { status: 200, path: tea },
      { status: 404, path: UNKNOWN },
    ],
    updateApp: [
      { status: 200, path: await app() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: tea, body: { external_integration: { webhook_url: 'ftp://x' } } },
    ],
    deleteApp: [
      { status: 200, path: await app() },
      { status: 404, path: UNKNOWN },
    ],
    rotateAppSigningSecret: [
      { status: 200, path: tea },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await app({ triggers_on: [] }) },
    ],
    listAppKeys: [
      { status: 200, path: tea },
      { status: 404, path: UNKNOWN },
    ],
    createAppKey: [
      { status: 200, path: await app() },
      { status: 404, path: UNKNOWN },
    ],
    deleteAppKey: [
      { status: 200, path: await appKey() },
      { status: 404, path: tea },
    ],
    listHooks: [{ status: 200 }],
    createHook: [
      { status: 200 },
      { status: 404, body: { type: 'nonsense', url } },
      { status: 409 },
      { status: 422, body: { type: 'memory_created', url: 'http://10.0.0.1' } },
    ],
    updateHook: [
      { status: 200, path: await hook('day_summary') },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await hook('day_summary'), body: { type: 'memory_created' } },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    deleteHook: [
      { status: 204, path: await hook('device_event') },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await appHook() },
    ],
    testHook: [
      { status: 200, path: await hook('day_summary') },
      { status: 404, path: UNKNOWN },
    ],
    enableHook: [
      { status: 200, path: await hook('day_summary') },
      { status: 404, path: UNKNOWN },
    ],
    disableHook: [
      { status: 200, path: await hook('day_summary') },
      { status: 404, path: UNKNOWN },
    ],
    getDeveloperWebhookStatus: [{ status: 200 }],
    getDeveloperWebhookSecret: [{ status: 200 }],
    rotateDeveloperWebhookSecret: [{ status: 200 }],
    getDeveloperWebhook: [
      { status: 200, path: 'memory_creation' },
      { status: 404, path: 'nonsense' },
    ],
    setDeveloperWebhook: [
      { status: 200, path: 'audio_bytes', body: { url: `${url},9` } },
      { status: 404, path: 'nonsense' },
      { status: 422, path: 'audio_bytes', body: { url: `${url},0` } },
    ],
    enableDeveloperWebhook: [
      { status: 200, path: 'memory_created' },
      { status: 404, path: 'nonsense' },
      { status: 409, path: 'realtime_transcript' },
    ],
    disableDeveloperWebhook: [
      { status: 200, path: 'memory_created' },
      { status: 404, path: 'nonsense' },
    ],
    notifyUser: [
      { status: 200, path: tea, query: `${granted}&message=Tea` },
      { status: 404, path: tea, query: `uid=${UNKNOWN}&message=Tea` },
      { status: 422, path: tea, query: granted },
    ],
    notifyUserByBody: [
      { status: 200, body: { uid: rest.user.id, aid: tea, message: 'Tea' } },
      { status: 404, body: { uid: UNKNOWN, aid: tea, message: 'Tea' } },
      { status: 422, body: { aid: tea } },
    ],
    listUserConversations: withAction('&statuses=completed&statuses=processing&max_transcript_segments=-1'),
    searchUserConversations: withAction(),
    createUserConversation: withAction(),
    listUserMemories: withAction('&limit=5'),
    createUserMemories: withAction('', { text: 'Likes tea.' }),
    listUserTasks: withAction('&completed=false'),
    listNotifications: [
      { status: 200, query: 'unread=true&limit=5' },
      { status: 422, query: 'unread=maybe' },
    ],
    readNotifications: [{ status: 200 }, { status: 422, body: {} }],
    muteNotifications: [{ status: 200 }, { status: 422, body: {} }],
    unmuteNotifications: [{ status: 200 }, { status: 422, body: {} }],
    getNotificationSettings: [{ status: 200 }],
    updateNotificationSettings: [{ status: 200 }, { status: 422, body: { time_zone: 'Mars' } }],
    listNotificationChannels: [{ status: 200 }],
    listNotificationAddresses: [{ status: 200 }],
    createNotificationAddress: [{ status: 200 }, { status: 422, body: { channel: 'pigeon', address: {} } }],
    updateNotificationAddress: [
      { status: 200, path: await address() },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, body: {} },
    ],
    deleteNotificationAddress: [
      { status: 200, path: await address() },
      { status: 404, path: UNKNOWN },
    ],
    testNotificationAddress: [
      { status: 200, path: await address() },
      { status: 404, path: UNKNOWN },
    ],
    getCalendarFeed: [
      { status: 200, query: await calendarQuery() },
      { status: 404, query: 'token=nonsense' },
    ],
    getMutePage: [
      { status: 200, query: await muteQuery() },
      { status: 404, query: 'token=nonsense' },
    ],
    listDeliveries: [
      { status: 200, query: 'state=pending&limit=5' },
      { status: 422, query: 'state=lost' },
    ],
    getDelivery: [
      { status: 200, path: await delivered() },
      { status: 404, path: UNKNOWN },
    ],
    replayDelivery: [
      { status: 200, path: await delivered() },
      { status: 404, path: UNKNOWN },
      { status: 409, path: await delivered({ body: null }) },
    ],
    getOpenApi: [{ status: 200 }],
    getDocs: [{ status: 200 }],
    listMarks: [
      { status: 200, path: (await marked()).conversationId },
      { status: 404, path: UNKNOWN },
    ],
    createMark: [
      { status: 200, body: { conversation_id: (await said()).id } },
      { status: 404, body: { conversation_id: UNKNOWN } },
      { status: 409, body: { conversation_id: await fullOfMarks() } },
      { status: 422, body: { at: 'tomorrow' } },
      { status: 423, body: { conversation_id: (await said({ locked: true })).id } },
    ],
    deleteMark: [
      { status: 200, path: (await marked()).id },
      { status: 404, path: UNKNOWN },
      { status: 423, path: (await marked({ locked: true })).id },
    ],
    listPhotos: [
      { status: 200, path: (await photo()).conversationId },
      { status: 404, path: UNKNOWN },
    ],
    listKeptAudio: [
      { status: 200, path: (await photo()).conversationId },
      { status: 422, path: UNKNOWN, query: 'limit=0' },
      { status: 404, path: UNKNOWN },
    ],
    getKeptAudio: [
      { status: 200, path: await keptAudio() },
      { status: 206, path: await keptAudio(), headers: { Range: 'bytes=0-1' } },
      { status: 416, path: await keptAudio(), headers: { Range: 'bytes=99-' } },
      { status: 404, path: `${UNKNOWN}-0` },
    ],
    getPhoto: [
      { status: 200, path: (await photo()).id, query: 'size=small' },
      { status: 404, path: UNKNOWN },
      { status: 422, path: UNKNOWN, query: 'size=huge' },
    ],
    deletePhoto: [
      { status: 200, path: (await photo()).id },
      { status: 404, path: UNKNOWN },
      { status: 423, path: (await photo({ locked: true })).id },
    ],
    sendVoiceMessage: [
      { status: 200, url: await heard(async () => TRANSCRIPT) },
      { status: 400, query: 'channels=3' },
      { status: 502, url: await serve({ uploads: unreadable }) },
    ],
    transcribeVoiceMessage: [
      { status: 200, url: await heard(async () => TRANSCRIPT) },
      { status: 400, query: 'channels=3' },
      { status: 502, url: await heard(failing('empty_unexpected')) },
      { status: 503, url: await heard(failing('config_error')) },
      { status: 504, url: await heard(failing('timeout')) },
    ],
  };
  return { ...rest, operator, url: served, serve, document, deviceKey, strangerKey, appSecret, calls };
}

const TRANSCRIPT = {
  ...{ outcome: 'success' as const, transcript: 'Tea', language: 'en' },
  ...{ sttProvider: 'sherpa-onnx', sttModel: null },
};

const VOICE = { hasProfile: true, seconds: 9, samples: [] };

/** Returns the id of an import from another product that has stored nothing. */
async function importOf({ storage, user }: Awaited<ReturnType<typeof openRest>>): Promise<string> {
  const id = newId(1);
  await storage.foreignImports.insert({
    ...{ id, userId: user.id, format: 'SRT', name: 'talk.srt', state: 'done', counts: {} },
    ...{ startedAt: 1, endedAt: 2 },
  });
  return id;
}

async function recordingOf({ recordings, user }: Awaited<ReturnType<typeof openRest>>): Promise<string> {
  return (await recordings.add(user.id, { path: import.meta.filename, name: 'this' })).id;
}

/** Returns the id of a voice sample. */
async function voiceOf({ storage, people, user }: Awaited<ReturnType<typeof openRest>>): Promise<string> {
  const { id: personId } = await people.create(user.id, 'Vera');
  const place = { conversationId: null, speakerId: null, createdAt: 1 };
  const heard = { space: 'model', vector: Float32Array.of(1, 0), seconds: 9 };
  await storage.voices.putSample({ id: personId, userId: user.id, personId, ...heard, ...place });
  return personId;
}

interface Target {
  url: string;
  document: OpenApi;
  credential: string | null;
}

/** Calls an operation as `call` describes. */
async function exchange(target: Target, id: string, call: Omit<Call, 'status'>): Promise<Exchange> {
  const { operation } = find(target.document, id);
  const file = fileOf(operation);
  if (file) return send(target, id, call, { type: file.type, text: file });
  const sent = call.body ?? exampleOf(target.document, operation);
  const raw = { type: 'application/json', text: JSON.stringify(sent) };
  return { ...(await send(target, id, call, sent === undefined ? null : raw)), sent };
}

/** The same with a raw body. */
async function send(
  { url, document, credential }: Target,
  id: string,
  { path = UNKNOWN, query = '', headers = {}, ...call }: Omit<Call, 'status'>,
  body: { type: string; text: Blob | string } | null,
): Promise<Exchange> {
  const { method, template } = find(document, id);
  const response = await fetch(`${call.url ?? url}${placeOf(template, path)}?${query}`, {
    method: method.toUpperCase(),
    headers: {
      ...headers,
      ...(credential === null ? {} : { Authorization: `Bearer ${credential}` }),
      ...(body ? { 'Content-Type': body.type } : {}),
    },
    ...(body ? { body: body.text } : {}),
  });
  const answered = await textOf(response);
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  const parsed: unknown = type === 'application/json' ? JSON.parse(answered) : answered || null;
  return { operation: id, status: response.status, type, headers: response.headers, body: parsed };
}

/** Fills a path's parameters with these ids, one after the other. */
function placeOf(template: string, path: string): string {
  const ids = path.split(' ');
  return template.replace(/\{(\w+)\}/g, (_, name) => ids.shift() ?? (name === 'speaker_id' ? '0' : UNKNOWN));
}

/** Sends a Content-Length above every limit, without the body. */
async function announceLarge(
  { url, document, credential }: Target,
  id: string,
  { path = UNKNOWN, query = '' }: { path?: string; query?: string },
  type: string,
): Promise<Exchange> {
  const { method, template } = find(document, id);
  const asked = request(`${url}${placeOf(template, path)}?${query}`, {
    method: method.toUpperCase(),
    headers: { Authorization: `Bearer ${credential}`, 'Content-Type': type, 'Content-Length': 2 ** 50 },
  });
  asked.flushHeaders();
  const [answer]: [IncomingMessage] = (await once(asked, 'response')) as [IncomingMessage];
  const body: unknown = JSON.parse(await text(answer));
  asked.destroy();
  const headers = new Headers(answer.headers as Record<string, string>);
  return { operation: id, status: answer.statusCode ?? 0, type: 'application/json', headers, body };
}

/** It calls no service, so none can fail. */
const UNBREAKABLE = 'endSession';

/**
 * Lists contradictions between these exchanges and the document, and documented responses that none of them
 * shows.
 */
function complaints(document: OpenApi, exchanges: Exchange[]): string[] {
  const check = checker(document);
  return operationsOf(document).flatMap(({ operation }) => {
    const id = operation.operationId;
    const own = exchanges.filter(it => it.operation === id);
    const unseen = Object.keys(operation.responses).filter(
      status => !own.some(it => String(it.status) === status) && !(id === UNBREAKABLE && status >= '429'),
    );
    return [...unseen.map(status => `${id} never answered ${status}`), ...own.flatMap(judge(operation))];
  });

  function judge(operation: Operation) {
    return (it: Exchange): string[] => {
      const name = `${it.operation} ${it.status}`;
      const declared = operation.responses[it.status];
      if (!declared) return [`${name} is not declared`];
      const answer = resolve(document, declared);
      if (!answer.content && it.type === '') return it.body === null ? [] : [`${name} has a body`];
      const range = it.type.replace(/\/.*/, '/*'); // some operations leave open which type of the range it is
      const schema = (answer.content?.[it.type] ?? answer.content?.[range])?.schema;
      if (!schema) return [`${name} is of the undeclared type ${it.type}`];
      const headers = Object.entries(answer.headers ?? {}).filter(([, { required }]) => required);
      const body = bodyOf(document, operation);
      return [
        ...check(schema, it.body).map(problem => `${name}: ${problem}`),
        ...headers.filter(([header]) => !it.headers.has(header)).map(([header]) => `${name} lacks ${header}`),
        ...(body && it.status === 200
          ? check(body, it.sent).map(problem => `${name}, sent: ${problem}`)
          : []),
      ];
    };
  }
}

test('Every operation answers as the OpenAPI document says, with success and with each of its failures', async t => {
  const { url, serve, document, deviceKey, strangerKey, appSecret, calls, token, operator, ...rest } =
    await start(t);
  let failure = new Error('broken');
  const reject = () => Promise.reject(failure);
  const fail = () => {
    throw failure;
  };
  const breaking = <T extends object>(service: T) =>
    new Proxy(service, {
      get: (of, name) => (typeof Reflect.get(of, name) === 'function' ? reject : Reflect.get(of, name)),
    });
  const brokenUrl = await serve({
    signIn: breaking(rest.signIn),
    sessions: breaking(rest.sessions),
    accounts: breaking(rest.accounts),
    accountExport: {
      archive: fail,
    },
    exportFiles: breaking(rest.exportFiles),
    users: breaking(rest.users),
    conversations: breaking(rest.conversations),
    keys: breaking(rest.keys),
    actionItems: breaking(rest.actionItems),
    goals: breaking(rest.goals),
    memories: breaking(rest.memories),
    search: breaking(rest.search),
    folders: breaking(rest.folders),
    places: breaking(rest.places),
    summaryTemplates: breaking(rest.summaryTemplates),
    speechSettings: breaking(rest.speechSettings),
    listening: breaking(rest.listening),
    retention: breaking(rest.retention),
    accesses: { ...rest.accesses, list: reject },
    speechProfiles: breaking(rest.speechProfiles),
    voiceSamples: breaking(rest.voiceSamples),
    voiceAssignments: breaking(rest.voiceAssignments),
    recordings: breaking(rest.recordings),
    uploadedImports: { add: reject, undo: reject, list: reject, progress: fail },
    calendarLinks: breaking(rest.calendarLinks),
    calendarSync: breaking(rest.calendarSync),
    devices: breaking(rest.devices),
    people: breaking(rest.people),
    vocabularies: breaking(rest.vocabularies),
    ask: breaking(rest.ask),
    chat: breaking(rest.chat),
    daySummaries: breaking(rest.daySummaries),
    weeklyReview: breaking({ review: rest.weeklyReview }).review,
    deliveries: breaking(rest.deliveries),
    feed: { ...rest.feed, subscribe: reject },
    system: {
      readiness: reject,
      models: breaking(rest.system.models),
      simulation: { state: fail, begin: fail, stop: reject },
      examination: { state: fail, begin: fail },
      diskUsage: reject,
      jobs: reject,
      latency: fail,
      plugins: fail,
      changePlugin: reject,
      logLines: fail,
      backups: { begin: fail, progress: fail, state: reject },
    },
    apps: breaking(rest.apps),
    hooks: breaking(rest.hooks),
    notifications: breaking(rest.notifications),
    channelAddresses: breaking(rest.channelAddresses),
    marks: breaking(rest.marks),
    photos: breaking(rest.photos),
    keptAudios: breaking(rest.keptAudios),
  });
  const one = { read: 1, write: 1, batch: 1, transcript: 1, search: 1, failed: 1 };
  const exhaustedUrl = await serve({
    rateLimits: createRateLimits({ ...rest, limits: one }),
    notificationLimit: createNotificationLimit({ ...rest, perHour: 1 }),
  });

  const exchanges: Exchange[] = [];
  const expect = async (status: number, answer: Promise<Exchange>) => {
    const made = await answer;
    exchanges.push(made);
    t.is(made.status, status, `${made.operation}: ${JSON.stringify(made.body)}`);
  };
  for (const { operation } of operationsOf(document)) {
    const { operationId: id, responses, security } = operation;
    const takesToken = security.some(({ idToken }) => idToken);
    const isForApps = security.some(each => each.appSecret);
    const role = operation['x-required-role'];
    const credential = role ? operator : takesToken ? token : isForApps ? appSecret : deviceKey;
    const target = { url, document, credential };
    const broken = { ...target, url: brokenUrl };
    const good = calls[id]?.find(({ status }) => status < 300);
    const usual = {
      query: good?.query ?? '',
      ...(good?.headers ? { headers: good.headers } : {}),
      ...(isForApps ? { path: good?.path ?? UNKNOWN } : {}),
      ...(isForApps && good?.body ? { body: good.body } : {}),
    };
    for (const { status, before, ...call } of calls[id] ?? []) {
      await before?.();
      await expect(status, exchange(target, id, call));
    }
    if (responses[429] && security.length > 0) {
      await expect(401, exchange({ ...target, credential: null }, id, {}));
      await expect(401, exchange({ ...target, credential: 'nonsense' }, id, {}));
      const stranger = operation['x-required-scope'] === 'listen' ? strangerKey : deviceKey;
      await expect(
        takesToken ? (responses[403] && !role ? 403 : 401) : isForApps ? 401 : 200,
        exchange({ ...target, credential: stranger }, id, {}),
      );
    }
    if (role) await expect(403, exchange({ ...target, credential: token }, id, {}));
    if (id === UNBREAKABLE) continue;
    if (responses[500]) await expect(500, exchange(broken, id, usual));
    const file = fileOf(operation);
    if (file) {
      await expect(413, announceLarge(target, id, usual, file.type));
      if (responses[415]) await expect(415, send(target, id, usual, { type: 'text/plain', text: '{}' }));
    } else if (operation.requestBody) {
      const json = 'application/json';
      await expect(422, send(target, id, usual, { type: json, text: '{"half":' }));
      if (operation.requestBody.required) await expect(422, send(target, id, usual, null));
      await expect(415, send(target, id, usual, { type: 'text/plain', text: '{}' }));
      await expect(413, announceLarge(target, id, usual, json));
    }
    if (responses[429] && security.length > 0) {
      const spent = { ...target, url: exhaustedUrl };
      await exchange(spent, id, isForApps ? usual : {});
      await expect(429, exchange(spent, id, isForApps ? usual : {}));
    }
    if (responses[409]) {
      failure = new AppError('conflict', 'The conversation has just changed');
      await expect(409, exchange(broken, id, usual));
    }
    if (responses[429] && security.length === 0) {
      failure = new AppError('rate_limited', 'Too often', { retryAfter: 1 });
      await expect(429, exchange(broken, id, usual));
    }
    if (responses[503] && !exchanges.some(made => made.operation === id && made.status === 503)) {
      failure = new AppError('unavailable', 'Not now', { retryAfter: 1 });
      await expect(503, exchange(broken, id, usual));
    }
    failure = new Error('broken');
  }
  t.deepEqual(complaints(document, exchanges), []);
  const limited = exchanges.filter(({ operation: id, status }) => {
    const { responses, security } = find(document, id).operation;
    const isForApps = security.some(each => each.appSecret); // the user is looked up first
    return responses[429] && security.length > 0 && !(isForApps && status >= 500);
  });
  for (const { operation, status, headers } of limited)
    for (const name of ['limit', 'remaining', 'reset'])
      t.regex(headers.get(`x-ratelimit-${name}`) ?? '', /^\d+$/, `${operation} ${status}`);
  t.true(exchanges.length > 60);

  // The same responses contradict a modified document.
  const other = structuredClone(document);
  const path = '/v1/dev/user/conversations';
  const list = other.paths[path]?.get as Operation;
  const folder = other.components.schemas.Folder as { properties: Json };
  other.paths['/v1/dev/user/wishes'] = {
    get: { ...list, operationId: 'listWishes', responses: { 200: list.responses[200] as Answer } },
  };
  delete list.responses[422];
  delete folder.properties.icon;
  folder.properties.order = { type: 'string' };
  (other.components.responses.Forbidden as Answer).headers = { 'X-Scope': { required: true } };
  const found = new Set(complaints(other, exchanges));
  for (const complaint of [
    'listWishes never answered 200',
    'listConversations 422 is not declared',
    'listFolders 200: /0 must NOT have additional properties',
    'listFolders 200: /0/order must be string',
    'deleteConversation 403 lacks X-Scope',
  ])
    t.true(found.has(complaint), complaint);
});

test('The document is OpenAPI 3.1, version 1.0.0, and every operation states who may call it', async t => {
  const { url } = await openRest(t);
  const document = await documentOf(url);
  t.regex(document.openapi, /^3\.1\./);
  t.is(document.info.version, '1.0.0');
  t.is(document.info['x-earshot-version'], version);
  t.deepEqual(await new Validator().validate({ ...structuredClone(document) }), { valid: true });
  const operations = operationsOf(document).map(({ operation }) => operation);
  const ids = operations.map(({ operationId }) => operationId);
  t.is(new Set(ids).size, ids.length);
  for (const { operationId, summary, tags, security, ...rest } of operations) {
    t.truthy(summary && tags[0], operationId);
    const scope = rest['x-required-scope'];
    const alone = security.length === 1 ? [{ [Object.keys(security[0] ?? {})[0] ?? '']: [] }] : [];
    t.deepEqual(security, scope ? [{ apiKey: [scope] }, { idToken: [] }] : alone, operationId);
  }
  const broken = { ...structuredClone(document), info: {} };
  t.false((await new Validator().validate(broken)).valid);
});

test('Parameters are described with their meaning, defaults and tables', async t => {
  const { url } = await openRest(t);
  const response = await fetch(`${url}/openapi.json`);
  const { paths } = (await response.json()) as {
    paths: Record<string, Record<string, { parameters: Json[] }>>;
  };
  const parameters = paths['/v1/dev/user/conversations']?.get?.parameters ?? [];
  const schemas = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]));
  t.like(schemas.limit, { type: 'integer', default: 25 });
  t.like(schemas.offset, { type: 'integer', default: 0 });
  t.deepEqual(schemas.starred, { type: 'boolean' });
  t.deepEqual(schemas.include_transcript, { type: 'boolean', default: false });
  t.like(schemas.start_date, { type: 'string', format: 'date-time' });
  t.like(schemas.folder_id, { type: 'string', minLength: 1 });
  t.is((schemas.categories as { items: { enum: string[] } }).items.enum.length, 33);
  t.like(
    parameters.find(({ name }) => name === 'categories'),
    { style: 'form', explode: false },
  );
});

const KEYWORDS = new Set([
  ...['$ref', 'type', 'enum', 'const', 'anyOf', 'allOf', 'oneOf', 'format', 'pattern', 'default', 'examples'],
  ...[
    'properties',
    'required',
    'additionalProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
    'items',
    'description',
  ],
  ...['minItems', 'maxItems', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'],
]);

/** All keywords of a schema and its subschemas, each with its path. */
function* keywordsOf(schema: Json, place: string): Iterable<[keyword: string, place: string]> {
  for (const [keyword, value] of Object.entries(schema)) {
    yield [keyword, place];
    const named = keyword === 'properties' ? Object.entries(value as Json) : [];
    const listed = ['anyOf', 'allOf', 'oneOf'].includes(keyword) ? Object.entries(value as Json) : [];
    const single = ['items', 'additionalProperties', 'propertyNames'].includes(keyword) ? [['', value]] : [];
    for (const [name, inner] of [...named, ...listed, ...single] as [string, unknown][])
      if (typeof inner === 'object') yield* keywordsOf(inner as Json, `${place}/${keyword}/${name}`);
  }
}

test('Schemas are plain JSON Schema, and each field states its bounds', async t => {
  const { url } = await openRest(t);
  const document = await documentOf(url);
  const { schemas } = document.components;
  const inline = operationsOf(document).flatMap(({ operation: { operationId, ...it } }) => [
    ...(it.parameters ?? []).map(({ name, schema }) => [`${operationId} ${name}`, schema] as const),
    ...[it.requestBody, ...Object.values(it.responses)].flatMap(body =>
      Object.values(body?.content ?? {}).map(({ schema }) => [operationId, schema] as const),
    ),
  ]);
  const all = [...Object.entries(schemas), ...inline].flatMap(([name, schema]) => [
    ...keywordsOf(schema, name),
  ]);
  t.true(all.length > 1000);
  t.deepEqual(
    all.filter(([keyword]) => !KEYWORDS.has(keyword)),
    [],
  );
  const fieldOf = (schema: string, field: string) =>
    (schemas[schema]?.properties as Record<string, Json> | undefined)?.[field];
  for (const schema of ['MemoryDraft', 'MemoryEdit'])
    t.like(fieldOf(schema, 'tags'), { maxItems: 50, items: { minLength: 1, maxLength: 100 } }, schema);
  t.deepEqual(fieldOf('ConversationFromSegments', 'client_session_id')?.type, ['string', 'null']);
  t.like(fieldOf('ConversationFromSegments', 'client_session_id'), { minLength: 1, maxLength: 200 });
});

test('The document and the page are not sent again to a client that has them', async t => {
  const { url } = await openRest(t);
  for (const path of ['/openapi.json', '/docs', '/docs/swagger-ui.css']) {
    const first = await fetch(url + path);
    const etag = first.headers.get('etag');
    await first.text();
    t.is(first.headers.get('cache-control'), 'no-cache');
    const ask = (known: string) =>
      fetch(url + path, { headers: { 'If-None-Match': known, 'Cache-Control': 'max-age=0' } });
    const again = await ask(String(etag));
    t.is(again.status, 304, path);
    t.is(await again.text(), '');
    t.is((await ask('"other"')).status, 200);
  }
});

test("The page consists of this server's files, and may load nothing else", async t => {
  const { url } = await openRest(t);
  const page = await fetch(`${url}/docs`);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'none'/);
  t.notRegex(policy, /unsafe|http|\*/);
  const html = await page.text();
  const targets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target = '']) => target);
  const files = targets.filter(target => target.startsWith('/docs/'));
  t.true(files.length >= 4);
  t.deepEqual(
    targets.filter(target => !target.startsWith('/')),
    ['data:,'],
  );
  const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' };
  for (const file of files) {
    const { status, headers } = await fetch(url + file);
    t.is(status, 200, file);
    t.is(headers.get('content-type'), types[file.endsWith('.css') ? 'css' : 'js']);
  }
  for (const name of ['page.html', '..%2fpage.html', 'index.html', 'toString'])
    t.is((await fetch(`${url}/docs/${name}`)).status, 404, name);
});
