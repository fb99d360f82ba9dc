import test, { type ExecutionContext } from 'ava';
import type { Storage } from '../../../core/contract/plugin.ts';
import type { Dialect } from '../../../plugins/storage/sql/dialect.ts';
import { openPostgres } from '../../../plugins/storage/sql/postgres.ts';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../../plugins/storage/sql/storage.ts';
import { matchWords } from '../../../plugins/storage/sql/word-index.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { explain } from '../../helpers/explain.ts';
import { type PostgresServer, postgresOptions, startPostgres } from '../../helpers/postgres.ts';
import { storageContext } from '../../helpers/storage.ts';
import { amount } from '../../helpers/thorough.ts';

/** A Postgres server of our own, or the reason why there is none. */
const server: PostgresServer | Error = await startPostgres().catch(error => error);
test.after.always('stop Postgres', async () => {
  if (!(server instanceof Error)) await server.stop();
});

test('Postgres can be started, or this is not CI and its lists are skipped', t => {
  if (!(server instanceof Error)) return t.true(server.port > 0);
  t.log(`SKIPPED: all lists on Postgres, for it cannot be started here. ${server}`);
  t.falsy(process.env.CI, String(server));
});

/** With fewer, Postgres prefers other plans. */
const ROWS = amount(50_000, 100_000);
/** Anna has nine rows of ten. */
const OWNER = `case when n % 10 = 0 then 'ben' else 'anna' end`;

interface Shape {
  columns: string;
  values: string;
}

const YES = { sqlite: '1', postgres: 'true' };
const NO = { sqlite: '0', postgres: 'false' };

/** Schemas of tables, `n` being the row number: `@yes` and `@no` are the database's booleans. */
const TABLES: Record<string, Shape> = {
  memories: {
    columns:
      'id, user_id, content, words, category, visibility, tags, created_at, updated_at, manually_added, scoring, reviewed, user_review, edited, locked, topic',
    values: `'m' || n, ${OWNER}, 'Likes tea number ' || n, 'likes tea number ' || n,
      case when n % 20 = 1 then 'work' else 'other' end, 'private', '[]', n, n, @yes,
      '01_997_' || (1790000000 + n), case when n % 40 = 1 then @no else @yes end, @yes, @no,
      case when n % 50 = 0 then @yes else @no end, case when n % 30 = 1 then 'topic ' || n end`,
  },
  conversations: {
    columns:
      'id, user_id, status, created_at, structured, category, source, folder_id, discarded, starred, locked, timeout_ms, last_activity_at',
    values: `'c' || n, ${OWNER}, 'completed', n, '{}', case when n % 20 = 1 then 'work' else 'other' end, 'omi',
      'f' || (n % 3), case when n % 5 = 0 then @yes else @no end, @no, @no, 120000, n`,
  },
  segments: {
    columns: 'id, user_id, conversation_id, text, start, "end", speaker, speaker_id, is_user',
    values: `'s' || n, ${OWNER}, 'c' || (n / 100 * 10 + 10 + n % 10), 'text', n, n + 1, 'SPEAKER_00', 0, @no`,
  },
  keys: {
    columns: 'id, user_id, name, hash, hint, scopes, created_at',
    values: `'k' || n, ${OWNER}, 'key', 'hash' || n, 'hint', '[]', n`,
  },
  forgotten_memories: {
    columns: 'id, user_id, salt, words, forgotten_at',
    values: `'f' || n, ${OWNER}, 'salt', '[]', n`,
  },
  folders: {
    columns: 'id, user_id, name, color, icon, "order", is_default, is_system, created_at, updated_at',
    values: `'f' || n, ${OWNER}, 'folder', '#000000', 'x', n, @no, @no, n, n`,
  },
  action_items: {
    columns: 'id, user_id, description, completed, created_at, updated_at, due_at, conversation_id, locked',
    values: `'a' || n, ${OWNER}, 'task', case when n % 7 = 0 then @yes else @no end, n, n,
      case when n % 2 = 0 then n end, 'c' || (n % 100), @no`,
  },
  goals: {
    columns:
      'id, user_id, title, success_criteria, goal_type, start_value, current_value, paused, reached, created_at, updated_at',
    values: `'g' || n, ${OWNER}, 'goal', '[]', 'numeric', 0, 0, @no, case when n % 7 = 0 then @yes else @no end, n, n`,
  },
  goal_progress: {
    columns: 'user_id, goal_id, day, value, recorded_at',
    values: `${OWNER}, 'g' || (n / 100 * 10 + 10 + n % 10), n, n, n`,
  },
  goal_suggestions: {
    columns: 'id, user_id, goal_id, conversation_id, segment_ids, text, value, adds, state, created_at',
    values: `'s' || n, ${OWNER}, 'g' || n, 'c' || (n / 100 * 10 + 10 + n % 10), '[]', 'I ran', 1, @yes,
      case when n % 7 = 0 then 'refused' else 'open' end, n`,
  },
  people: { columns: 'id, user_id, name, created_at', values: `'p' || n, ${OWNER}, 'Eve', n` },
  memory_changes: { columns: 'id, user_id, changed_at', values: `'m' || n, ${OWNER}, n` },
  apps: {
    columns:
      'id, user_id, name, description, capabilities, triggers_on, actions, notification_scopes, created_at, updated_at',
    values: `'app' || n, ${OWNER}, 'app', '', '[]', '[]', '[]', '[]', n, n`,
  },
  installations: {
    columns: 'user_id, app_id, scopes, actions, installed_at',
    values: `case when n < 20 then 'anna' else 'ben' end, 'app' || n, '[]', '[]', n`,
  },
  hooks: {
    columns: 'id, user_id, app_id, type, url, enabled, secret, created_at, updated_at',
    values: `'h' || n, ${OWNER}, 'app' || n, 'memory_created', '', @yes, '', n, n`,
  },
  deliveries: {
    columns:
      'id, user_id, target_kind, target_id, app_id, type, subject, state, query, content_type, body, attempts, next_at, created_at',
    values: `'d' || (100000 + n), ${OWNER}, 'hook', 'h' || (n % 7), 'app' || (n % 3), 'memory_created', 'c1',
      case when n % 11 = 0 then 'pending' when n % 13 = 0 then 'failed' else 'delivered' end, '', '', '{}', 1,
      case when n % 11 = 0 then n end, n`,
  },
  delivery_attempts: {
    columns: 'user_id, delivery_id, number, at, took_ms',
    values: `${OWNER}, 'd' || (100000 + n), 1, n, 5`,
  },
  notifications: {
    columns: 'id, user_id, app_id, event, rule, title, text, data, created_at, read_at, held_until',
    values: `'n' || n, ${OWNER}, 'app' || (n % 3), 'event', '', '', '', '{}', n,
      case when n % 9 = 1 then null else n end, case when n % 9 = 1 then n end`,
  },
  channel_addresses: {
    columns: 'id, user_id, channel, label, address, enabled, created_at',
    values: `'a' || n, ${OWNER}, 'log', '', '{}', @yes, n`,
  },
  jobs: {
    columns: 'id, kind, key, payload, state, run_at, due_at, attempts, created_at',
    values: `'j' || n, 'finish', 'k' || n, '{}', 'open', n, n, 0, n`,
  },
};

async function fill({ writer }: Dialect, client: 'sqlite' | 'postgres'): Promise<void> {
  const numbers =
    client === 'postgres'
      ? `generate_series(1, ${ROWS}) as n`
      : `(with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${ROWS})
         select n from counted)`;
  for (const name of ['anna', 'ben'])
    await writer('users').insert({
      id: name,
      name,
      name_key: name,
      issuer: 'earshot',
      subject: name,
      created_at: 1,
    });
  for (const [table, { columns, values }] of Object.entries(TABLES)) {
    const row = values.replaceAll('@yes', YES[client]).replaceAll('@no', NO[client]);
    await writer.raw(`insert into ${table} (${columns}) select ${row} from ${numbers}`);
  }
  await writer.raw('analyze');
}

const PAGE = { limit: 25, offset: 50 };
const SHOWN = { statuses: ['completed' as const], discarded: false, locked: false, ...PAGE };

/** Every list of a user's data: one query each. */
const LISTS: Record<string, (storage: Storage) => Promise<unknown>> = {
  memories: ({ memories }) => memories.list('anna', PAGE),
  'many memories': ({ memories }) => memories.list('anna', { limit: 1000, offset: 0 }),
  'memories of some categories': ({ memories }) =>
    memories.list('anna', { categories: ['work', 'skills'], ...PAGE }),
  'memories of common categories': ({ memories }) =>
    memories.list('anna', { categories: ['other', 'core', 'system'], ...PAGE }),
  'memories to review': ({ memories }) => memories.list('anna', { reviewed: false, ...PAGE }),
  'memories of a topic': ({ memories }) => memories.ofTopic('anna', 'topic 31'),
  'forgotten memories': ({ forgottenMemories }) => forgottenMemories.list('anna', 1000),
  'memories by id': ({ memories }) => memories.page('anna', 'm5', 256),
  'versions of a memory': ({ embeddings }) => embeddings.changes('anna', 256),
  conversations: ({ conversations }) => conversations.list('anna', SHOWN),
  'conversations of a category': ({ conversations }) =>
    conversations.list('anna', { ...SHOWN, categories: ['work'] }),
  'conversations of a period': ({ conversations }) =>
    conversations.list('anna', { ...SHOWN, createdFrom: 500, createdTo: 90_000 }),
  'conversations of a folder': ({ conversations }) =>
    conversations.list('anna', { ...SHOWN, folderId: 'f1' }),
  'segments of a conversation': ({ segments }) => segments.list('anna', ['c41']),
  folders: ({ folders }) => folders.list('anna'),
  keys: ({ keys }) => keys.list('anna'),
  'action items': ({ actionItems }) => actionItems.list('anna', { locked: false, ...PAGE }),
  'action items far down the list': ({ actionItems }) =>
    actionItems.list('anna', { locked: false, limit: 1000, offset: 1000 }),
  'open action items': ({ actionItems }) =>
    actionItems.list('anna', { locked: false, completed: false, ...PAGE }),
  'action items of a period': ({ actionItems }) =>
    actionItems.list('anna', { locked: false, createdFrom: 500, createdTo: 90_000, ...PAGE }),
  'action items of a conversation': ({ actionItems }) =>
    actionItems.list('anna', { locked: false, conversationId: 'c41', ...PAGE }),
  goals: ({ goals }) => goals.list('anna', { active: false, limit: 1000 }),
  'active goals': ({ goals }) => goals.list('anna', { active: true, limit: 10 }),
  'open suggestions for goals': ({ goalSuggestions }) => goalSuggestions.open('anna', 100),
  'suggestions of a conversation': ({ goalSuggestions }) =>
    goalSuggestions.ofConversation('anna', 'c41', 1000),
  'the progress of a goal': ({ goals }) => goals.progress('anna', 'g1', 5),
  people: ({ people }) => people.list('anna'),
  'installed apps of a user': ({ apps }) => apps.list('anna'),
  hooks: ({ hooks }) => hooks.list('anna'),
  deliveries: ({ deliveries }) => deliveries.list('anna', { limit: 25 }),
  'deliveries to a target': ({ deliveries }) => deliveries.list('anna', { targetId: 'h3', limit: 25 }),
  'deliveries of a state': ({ deliveries }) => deliveries.list('anna', { state: 'failed', limit: 25 }),
  'deliveries to a target, of a state, further down': ({ deliveries }) =>
    deliveries.list('anna', { targetId: 'h3', state: 'failed', beforeId: 'd150000', limit: 25 }),
  'deliveries of an app': ({ deliveries }) => deliveries.listOfApp('app1', { limit: 25 }),
  'deliveries of an app, of a state': ({ deliveries }) =>
    deliveries.listOfApp('app1', { state: 'failed', beforeId: 'd150000', limit: 25 }),
  'deliveries of an app to a target': ({ deliveries }) =>
    deliveries.listOfApp('app1', { targetId: 'h3', limit: 25 }),
  'deliveries of an app to a target, of a state': ({ deliveries }) =>
    deliveries.listOfApp('app1', { targetId: 'h3', state: 'failed', limit: 25 }),
  'attempts of a delivery': ({ deliveries }) => deliveries.attempts('anna', 'd100001'),
  'due deliveries': ({ deliveries }) => deliveries.due('h3', 90_000, 25),
  'the next delivery': ({ deliveries }) => deliveries.nextAt('h3'),
  notifications: ({ notifications }) => notifications.list('anna', { limit: 25 }),
  'unread notifications': ({ notifications }) => notifications.list('anna', { unread: true, limit: 25 }),
  'notifications of an app': ({ notifications }) =>
    notifications.list('anna', { appId: 'app1', beforeId: 'n5', limit: 25 }),
  'held notifications': ({ notifications }) => notifications.held('anna', 90_000, 25),
  'addresses of channels': ({ channelAddresses }) => channelAddresses.list('anna'),
};

/** Queries for a few rows by their keys, in any order. */
const LOOKS: Record<string, (storage: Storage, dialect: Dialect) => Promise<unknown>> = {
  'memories by ids': ({ memories }) => memories.some('anna', ['m1', 'm2', 'm3']),
  'segments of several conversations': ({ segments }) => segments.list('anna', ['c41', 'c43']),
  'the words of memories': (_, { writer }) =>
    matchWords(writer, 'memories', { userId: 'anna', text: '77 99001', limit: 10 }),
  'users to notify': ({ hooks }) => hooks.targets('anna', ['memory_created']),
  'finished deliveries': ({ deliveries }) => deliveries.prune(50, 10),
  'old notifications': ({ notifications }) => notifications.prune(50, 10),
  'unread notifications, counted': ({ notifications }) => notifications.countUnread('anna'),
  'due jobs': ({ jobs }) => jobs.claim(['finish', 'embed'], 10, 1000, 4),
  'the next job': ({ jobs }) => jobs.nextRunAt(['finish', 'embed']),
};

/** Queries for a few of all conversations, each with the index that it needs: any other one leads to all of them. */
const FEW: Record<string, { index: string; ask(storage: Storage): Promise<unknown> }> = {
  'the open conversation of a device': {
    index: 'conversations_open',
    ask: ({ conversations }) => conversations.findOpen('anna', 'omi', 'pendant'),
  },
  'unfinished conversations': {
    index: 'conversations_unfinished',
    ask: ({ conversations }) =>
      conversations.list('anna', { statuses: ['in_progress', 'processing'], locked: false, ...PAGE }),
  },
  'conversations with a position': {
    index: 'conversations_located',
    ask: ({ conversations }) => conversations.positions('anna', SHOWN),
  },
  'the number of conversations in each folder': {
    index: 'COVERING INDEX conversations_folder',
    ask: ({ folders }) => folders.counts('anna'),
  },
  'running conversations': {
    index: 'conversations_unfinished',
    ask: ({ conversations }) =>
      conversations.list('anna', { statuses: ['in_progress'], locked: false, ...PAGE }),
  },
};

const CLIENTS = server instanceof Error ? (['sqlite'] as const) : (['sqlite', 'postgres'] as const);

for (const client of CLIENTS)
  test.serial(`${client}: with ${ROWS} rows in each table, no list reads all of one, or sorts`, async t => {
    const { dialect, storage } = await open(t, client);
    await fill(dialect, client);
    for (const [title, ask] of Object.entries(LISTS)) {
      const plans = await explain(dialect, () => ask(storage));
      t.is(plans.length, 1, title);
      t.deepEqual(
        plans.flatMap(({ faults }) => faults),
        [],
        `${title}: ${JSON.stringify(plans)}`,
      );
    }
    for (const [title, ask] of Object.entries(LOOKS)) {
      const plans = await explain(dialect, () => ask(storage, dialect));
      const scans = plans.flatMap(({ faults }) => faults.filter(fault => /scan/i.test(fault)));
      t.deepEqual(scans, [], `${title}: ${JSON.stringify(plans)}`);
    }
    for (const [title, { index, ask }] of Object.entries(FEW)) {
      const [plan] = await explain(dialect, () => ask(storage));
      t.true(
        plan?.steps.some(step => step.includes(index)) || (client === 'postgres' && index.includes(' ')),
        `${title}: ${JSON.stringify(plan)}`,
      );
    }
    for (const { name, rows } of await storage.owned()) {
      const pages = await explain(dialect, async () => {
        let read = 0;
        for await (const page of rows('anna')) if (page.length > 0 && ++read === 2) break;
      });
      if (client === 'postgres' || pages.length < 2) continue;
      const steps = pages[1]?.steps.join('; ') ?? '';
      t.regex(
        steps,
        /^SEARCH [^;]*>\(?\?[^;]*$/,
        `a later page of ${name} begins where the one before it ended`,
      );
    }
    // The same helper detects bad queries.
    const unsorted = explain(dialect, () =>
      dialect.reader('memories').where('content', 'x').orderBy('content'),
    );
    t.true((await unsorted).every(({ faults }) => faults.length > 0));
  });

async function open(t: ExecutionContext, client: 'sqlite' | 'postgres') {
  const context = storageContext();
  const dialect =
    client === 'postgres' && !(server instanceof Error)
      ? openPostgres(postgresOptions({ url: server.url('postgres') }), context)
      : openSqlite(`${await temporaryDirectory(t)}/earshot.db`, context);
  t.teardown(() => dialect.close());
  const storage = await createStorage(dialect, context);
  await storage.migrate();
  return { dialect, storage };
}
