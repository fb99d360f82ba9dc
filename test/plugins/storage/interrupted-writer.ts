/**
 * A process for the test to kill: it commits one user, starts a transaction with a second one, reports it,
 * and waits. Usage: node interrupted-writer.ts <database file, or address of a Postgres database>
 */

import { user } from '../../../plugins/kit/suites/storage/rows.ts';
import { openPostgresStorage } from '../../helpers/postgres.ts';
import { openStorage } from '../../helpers/storage.ts';

const [database] = process.argv.slice(2);
if (!database) throw new Error('which database?');
const { storage } = database.startsWith('postgres:')
  ? await openPostgresStorage(database)
  : await openStorage(database);
await storage.users.insert(user('committed'));
await storage.transaction('interrupted', async tx => {
  await tx.users.insert(user('uncommitted'));
  process.stdout.write('writing\n');
  await new Promise(() => setInterval(() => {}, 60_000));
});
