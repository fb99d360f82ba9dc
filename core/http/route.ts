import type { z } from 'zod';
import type { Principal } from '../domain/credentials.ts';
import type { Scope } from '../model.ts';
import { validate } from './validate.ts';

/** One operation of the interface as data: enough to serve it, and to describe it. */
interface RouteSpec<Params extends z.ZodObject, Query extends z.ZodObject, Response extends z.ZodType> {
  method: 'get';
  /** With parameters in braces, as the interface's documents write it. */
  path: `/${string}`;
  summary: string;
  /** What a key needs; the owner's ID token may do everything. */
  scope: Scope;
  params: Params;
  query: Query;
  /** Of the answer's body. */
  response: Response;
  handle(request: {
    principal: Principal;
    params: z.output<Params>;
    query: z.output<Query>;
  }): Promise<z.input<Response>>;
}

/** A route as the server sees it: its parameters still as they came. */
export interface Route {
  method: 'get';
  path: `/${string}`;
  summary: string;
  scope: Scope;
  params: z.ZodObject;
  query: z.ZodObject;
  response: z.ZodType;
  /** Validates and handles; `invalid_request` where a parameter is wrong. */
  run(request: { principal: Principal; params: unknown; query: unknown }): Promise<unknown>;
}

export function route<Params extends z.ZodObject, Query extends z.ZodObject, Response extends z.ZodType>(
  spec: RouteSpec<Params, Query, Response>,
): Route {
  const { handle, ...description } = spec;
  return {
    ...description,
    run: ({ principal, params, query }) =>
      handle({
        principal,
        params: validate(spec.params, params, 'path'),
        query: validate(spec.query, query, 'query'),
      }),
  };
}
