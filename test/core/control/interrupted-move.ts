/**
 * A process to be killed: it moves everything, reports when every row is copied and compared, and waits.
 * Usage: node interrupted-move.ts <from> <to>, each a database file or the address of a Postgres database
 */
import { move } from '../../../core/control/move.ts';
import { openPostgresStorage } from '../../helpers/postgres.ts';
import { openStorage } from '../../helpers/storage.ts';

const [source, target] = await Promise.all(
  process.argv
    .slice(2)
    .map(place => (place.startsWith('postgres:') ? openPostgresStorage(place) : openStorage(place))),
);
if (!source || !target) throw new Error('from where to where?');
await move({
  source: source.storage,
  target: target.storage,
  finish() {
    process.stdout.write('moved\n');
    return new Promise(() => setInterval(() => {}, 60_000));
  },
});
