import test from 'ava';
import { z } from 'zod';
import { toFailure } from '../../../core/http/failure.ts';
import { validate } from '../../../core/http/validate.ts';
import { AppError } from '../../../core/runtime/errors.ts';

const Body = z.object({
  memories: z
    .array(z.object({ content: z.string().trim().min(1).max(5), visibility: z.enum(['public', 'private']) }))
    .max(2),
  count: z.int().min(1).max(9).optional(),
  done: z.boolean().optional(),
});

function issuesOf(body: unknown) {
  try {
    validate(Body, body, 'body');
    return null;
  } catch (error) {
    return error instanceof AppError ? error.issues : undefined;
  }
}
const memory = { content: 'x', visibility: 'public' };

test('Valid data is returned as its schema converts it, without unknown fields', t => {
  const body = { memories: [{ ...memory, content: ' x ', more: 1 }], extra: true };
  t.deepEqual(validate(Body, body, 'body'), { memories: [{ content: 'x', visibility: 'public' }] });
});

test('Each issue names its path and its kind, in the terms that clients expect', t => {
  const kinds = (body: unknown) => issuesOf(body)?.map(({ loc, type }) => [loc.join('.'), type]);
  t.deepEqual(kinds({}), [['body.memories', 'missing']]);
  t.deepEqual(kinds({ memories: [memory, { content: 1 }] }), [
    ['body.memories.1.content', 'string_type'],
    ['body.memories.1.visibility', 'enum'],
  ]);
  t.deepEqual(kinds({ memories: [memory, memory, memory] }), [['body.memories', 'too_long']]);
  t.deepEqual(kinds({ memories: [{ ...memory, content: ' ' }] }), [
    ['body.memories.0.content', 'string_too_short'],
  ]);
  t.deepEqual(kinds({ memories: [{ ...memory, content: '123456' }] }), [
    ['body.memories.0.content', 'string_too_long'],
  ]);
  t.deepEqual(kinds({ memories: {}, count: 0, done: 'yes' }), [
    ['body.memories', 'list_type'],
    ['body.count', 'greater_than_equal'],
    ['body.done', 'bool_type'],
  ]);
  t.deepEqual(kinds({ memories: [], count: 10 }), [['body.count', 'less_than_equal']]);
  t.deepEqual(kinds([]), [['body', 'dict_type']]);
  t.deepEqual(issuesOf({})?.[0], { loc: ['body', 'memories'], msg: 'Field required', type: 'missing' });
});

test('A violated domain rule has the same form', t => {
  t.deepEqual(toFailure(new AppError('invalid_request', 'Unknown scope "x"')), {
    status: 422,
    headers: {},
    body: { detail: [{ loc: ['body'], msg: 'Unknown scope "x"', type: 'value_error' }] },
  });
});
