import type { z } from 'zod';
import type { Principal } from '../domain/credentials.ts';
import type { Scope } from '../model.ts';
import { validate } from './validate.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** One operation of the interface as data: enough to serve it, and to describe it. */
interface RouteSpec<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Response extends z.ZodType,
> {
  method: Method;
  /** With parameters in braces, as the interface's documents write it. */
  path: `/${string}`;
  summary: string;
  /** What a key needs; the owner's ID token may do everything. */
  scope: Scope;
  params: Params;
  query: Query;
  /** JSON; absent: none is read. */
  body?: Body;
  /** Of the answer's body. */
  response: Response;
  handle(request: {
    principal: Principal;
    params: z.output<Params>;
    query: z.output<Query>;
    body: z.output<Body>;
  }): Promise<z.input<Response>>;
}

/** A route as the server sees it: its parameters still as they came. */
export interface Route {
  method: Method;
  path: `/${string}`;
  summary: string;
  scope: Scope;
  params: z.ZodObject;
  query: z.ZodObject;
  body?: z.ZodType;
  response: z.ZodType;
  /** Validates and handles; `invalid_request` where a parameter or the body is wrong. */
  run(request: { principal: Principal; params: unknown; query: unknown; body: unknown }): Promise<unknown>;
}

export function route<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Response extends z.ZodType,
>(spec: RouteSpec<Params, Query, Body, Response>): Route {
  const { handle, ...description } = spec;
  return {
    ...description,
    run: ({ principal, params, query, body }) =>
      handle({
        principal,
        params: validate(spec.params, params, 'path'),
        query: validate(spec.query, query, 'query'),
        body: spec.body ? validate(spec.body, body, 'body') : (undefined as z.output<Body>), // nobody reads it
      }),
  };
}
