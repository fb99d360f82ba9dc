import test from 'ava';
import type { z } from 'zod';
import { maximumOf } from '../../../core/http/excess.ts';
import { identityOperations } from '../../../core/http/routes/identity.ts';
import { routesOf } from '../../../core/http/server.ts';
import { openDomain } from '../../helpers/domain.ts';
import { openRest } from '../../helpers/rest.ts';

type Schema = z.core.$ZodTypes;

/** Bodies below this size need no other bound. */
const SMALL_BYTES = 64 * 1024;

/** Paths of texts, lists and objects whose length is limited only by the body. */
function unbounded(schema: z.core.$ZodType, place: string): string[] {
  const { def } = (schema as Schema)._zod;
  const most = maximumOf(schema) ?? (schema as z.ZodType).meta()?.maxLength;
  switch (def.type) {
    case 'string':
      return typeof most === 'number' ? [] : [place];
    case 'array':
      return [...(typeof most === 'number' ? [] : [place]), ...unbounded(def.element, `${place}[]`)];
    case 'object':
      return Object.entries(def.shape).flatMap(([key, part]) => unbounded(part, `${place}.${key}`));
    case 'record': {
      const names = (schema as z.ZodType).meta()?.maxProperties;
      const inner = [unbounded(def.keyType, `${place} names`), unbounded(def.valueType, `${place}.*`)];
      return [...(typeof names === 'number' ? [] : [place]), ...inner.flat()];
    }
    case 'union':
      return def.options.flatMap(option => unbounded(option, place));
    case 'pipe':
      return unbounded(def.in, place);
    case 'unknown':
    case 'any':
      return [place];
    default:
      return 'innerType' in def ? unbounded(def.innerType, place) : [];
  }
}

test('Every text and every list in a body is bounded', async t => {
  const domain = await openDomain(t);
  const routes = routesOf(domain);
  const operations = identityOperations(domain);
  const bodies = [...routes, ...operations].flatMap(route =>
    route.body && !('maxBodyBytes' in route && (route.maxBodyBytes ?? SMALL_BYTES + 1) <= SMALL_BYTES)
      ? unbounded(route.body, route.id)
      : [],
  );
  t.deepEqual(bodies, []);
  const searches = routes.filter(({ query }) => 'query' in query.shape);
  t.true(searches.length >= 2);
  for (const { id, query } of searches) t.deepEqual(unbounded(query.shape.query as z.ZodType, id), []);
});

test('A list that is too long is one error, whatever it contains, and only the first of many errors are reported', async t => {
  const { send } = await openRest(t);
  const path = '/v1/notifications/settings';
  const zeros = (count: number) => `{"muted":[${Array(count).fill(0).join()}]}`;
  const tooMany = await send('PATCH', path, zeros(60_000));
  t.is(tooMany.status, 422);
  const issue = {
    loc: ['body', 'muted'],
    msg: 'List should have at most 1000 items',
    type: 'too_long',
  };
  t.deepEqual(tooMany.body.detail, [issue]);
  const many = await send('PATCH', path, zeros(500_000));
  t.is(many.status, 413);
  t.deepEqual(many.body, { detail: 'A request body may have 65536 values at most' });
  const wrong = await send('PATCH', path, zeros(1000));
  t.is(wrong.body.detail.length, 20);
  const names = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`app ${at}`, 'x']));
  const record = await send('PATCH', path, { budgets: names });
  t.deepEqual(record.body.detail, [
    { loc: ['body', 'budgets'], msg: 'Object should have at most 1000 items', type: 'too_long' },
  ]);
});
