/**
 * A process whose disk writes are traced: it creates a database, stores transaction after transaction, a few
 * before the first one is reported, and records each as promised once it is committed. Usage: node
 * promising-writer.ts <database file> <file of promises> <transactions>
 */

import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../../plugins/storage/sql/storage.ts';
import { storageContext } from '../../helpers/storage.ts';
import { AT_ONCE, begin, storeNext } from './promised-rows.ts';

const [database = '', promises = '', transactions] = process.argv.slice(2);
const context = storageContext();
const dialect = openSqlite(database, context);
const storage = await createStorage(dialect, context);
await storage.migrate();
const told = openSync(promises, 'a');
const tell = (number: number) => writeSync(told, `${number}\n`);
await begin(storage);
tell(0);
const storing: Promise<unknown>[] = [];
for (let number = 1; number <= Number(transactions); number++) {
  storing.push(storeNext(storage, number).then(() => tell(number)));
  if (storing.length === AT_ONCE) await storing.shift();
  await sleep(1); // otherwise it would share the commit of the one before
}
await Promise.all(storing);
await dialect.close();
