// The least that a server with a database can be: Koa and better-sqlite3, no line of ours.
import Database from 'better-sqlite3';
import Koa from 'koa';

const [file, port] = process.argv.slice(2);
const database = new Database(file);
const app = new Koa();
app.use(context => {
  context.body = database.prepare('select 1 as ok').get();
});
app.listen(Number(port), '127.0.0.1');
