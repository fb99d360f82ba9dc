// The smallest server with a database: Koa and better-sqlite3, without our code.
import Database from 'better-sqlite3';
import Koa from 'koa';

const [file, port] = process.argv.slice(2);
const database = new Database(file);
const app = new Koa();
app.use(context => {
  context.body = database.prepare('select 1 as ok').get();
});
app.listen(Number(port), '127.0.0.1');
