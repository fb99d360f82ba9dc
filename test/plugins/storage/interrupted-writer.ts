/**
 * A process for the test to kill: it commits one user, begins a transaction with a second one, says so, and stays.
 * Usage: node interrupted-writer.ts <database file>
 */

import { user } from '../../conformance/storage-rows.ts';
import { openStorage } from '../../helpers/storage.ts';

const [file] = process.argv.slice(2);
if (!file) throw new Error('which database file?');
const { storage } = await openStorage(file);
await storage.users.insert(user('committed'));
await storage.transaction('interrupted', async tx => {
  await tx.users.insert(user('uncommitted'));
  process.stdout.write('writing\n');
  await new Promise(() => setInterval(() => {}, 60_000));
});
