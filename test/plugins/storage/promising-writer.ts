/**
 * A process whose disk is watched: it sets a new database up, stores transaction after transaction, and writes down
 * each as promised once it is committed.
 * Usage: node promising-writer.ts <database file> <file of promises> <transactions> <full | normal | off>
 */

import { openSync, writeSync } from 'node:fs';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../../plugins/storage/sql/storage.ts';
import { storageContext } from '../../helpers/storage.ts';
import { begin, storeNext } from './promised-rows.ts';

const [database = '', promises = '', transactions, synchronous] = process.argv.slice(2);
const context = storageContext();
const dialect = openSqlite(database, context);
const storage = await createStorage(dialect, context);
if (synchronous !== 'full') await dialect.writer.raw(`pragma synchronous = ${synchronous}`);
await storage.migrate();
const told = openSync(promises, 'a');
await begin(storage);
for (let number = 0; number <= Number(transactions); number++) {
  if (number > 0) await storeNext(storage, number);
  writeSync(told, `${number}\n`);
}
await dialect.close();
