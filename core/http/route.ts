import type { Middleware } from 'koa';
import type { z } from 'zod';
import type { Principal } from '../domain/credentials.ts';
import type { Access } from './auth.ts';
import type { FailureCode } from './openapi.ts';
import { validate } from './validate.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** What every operation of the interface says of itself. */
interface Description {
  /** Its name in the OpenAPI document, and in code that is made from that. */
  id: string;
  /** With parameters in braces, as the interface's documents write it. */
  path: `/${string}`;
  tag: string;
  summary: string;
}

interface Operation extends Description {
  method: Method;
  /** How it can fail, beside what every route has: a credential, parameters, a body, a server. */
  errors?: FailureCode[];
}

/** One operation of the interface as data: enough to serve it, and to describe it. */
type RouteSpec<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Response extends z.ZodType,
> = Operation &
  Access & {
    params: Params;
    query: Query;
    /** JSON; absent: none is read. */
    body?: Body;
    /** Of the answer's body; absent: 204, without one. */
    response?: Response;
    handle(request: {
      principal: Principal;
      params: z.output<Params>;
      query: z.output<Query>;
      body: z.output<Body>;
    }): Promise<z.input<Response>>;
  };

/** A route as the server sees it: its parameters still as they came. */
export type Route = Operation &
  Access & {
    params: z.ZodObject;
    query: z.ZodObject;
    body?: z.ZodType;
    response?: z.ZodType;
    /** Validates and handles; `invalid_request` where a parameter or the body is wrong. */
    run(request: { principal: Principal; params: unknown; query: unknown; body: unknown }): Promise<unknown>;
  };

/** What anyone can get: no credential, no parameters. */
export interface OpenRoute extends Description {
  /** By status. */
  answers: Record<number, { description: string; type: string; schema: z.ZodType }>;
  serve: Middleware;
}

export function route<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Response extends z.ZodType = z.ZodVoid,
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
