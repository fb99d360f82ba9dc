import type { Middleware } from 'koa';
import type { z } from 'zod';
import type { Principal } from '../domain/credentials.ts';
import type { Access } from './auth.ts';
import type { FailureCode } from './openapi.ts';
import type { Policy } from './rate-limit.ts';
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
    /** Whose bucket pays for it, where that is not `read` for GET and `write` for the others. */
    policy?: Policy | ((query: z.output<Query>) => Policy);
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
    policy(query: unknown): Policy;
    /** Validates and handles; `invalid_request` where a parameter or the body is wrong. */
    run(request: { principal: Principal; params: unknown; query: unknown; body: unknown }): Promise<unknown>;
  };

/** What is no data of an account: no parameters, and a credential of its own, if any. */
export interface OpenRoute extends Description {
  /** As OpenAPI has it; absent: anyone can get it. */
  security?: Record<string, string[]>[];
  /** By status. */
  answers: Record<number, { description: string; type: string; schema: z.ZodType }>;
  serve: Middleware;
}

/** An operation that needs no credential: its body says who asks. */
interface OpenOperationSpec<Body extends z.ZodType, Response extends z.ZodType> extends Operation {
  body: Body;
  response: Response;
  handle(request: { address: string; body: z.output<Body> }): Promise<z.input<Response>>;
}

export interface OpenOperation extends Operation {
  body: z.ZodType;
  response: z.ZodType;
  /** @param request where it comes from: an IP address */
  run(request: { address: string; body: unknown }): Promise<unknown>;
}

export function openOperation<Body extends z.ZodType, Response extends z.ZodType>(
  spec: OpenOperationSpec<Body, Response>,
): OpenOperation {
  const { handle, ...description } = spec;
  return {
    ...description,
    run: ({ address, body }) => handle({ address, body: validate(spec.body, body, 'body') }),
  };
}

export function route<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Response extends z.ZodType = z.ZodVoid,
>(spec: RouteSpec<Params, Query, Body, Response>): Route {
  const { handle, policy = spec.method === 'get' ? 'read' : 'write', ...description } = spec;
  return {
    ...description,
    policy(query) {
      if (typeof policy === 'string') return policy;
      const parsed = spec.query.safeParse(query);
      return parsed.success ? policy(parsed.data) : 'read'; // what is not valid reads nothing
    },
    run: ({ principal, params, query, body }) =>
      handle({
        principal,
        params: validate(spec.params, params, 'path'),
        query: validate(spec.query, query, 'query'),
        body: spec.body ? validate(spec.body, body, 'body') : (undefined as z.output<Body>), // nobody reads it
      }),
  };
}
