import type { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import type { z } from 'zod';
import type { Principal } from '../domain/accounts/credentials.ts';
import type { AppError } from '../runtime/errors.ts';
import type { Access } from './auth.ts';
import type { Failure } from './failure.ts';
import type { Streamable } from './json-answer.ts';
import type { FailureCode } from './openapi.ts';
import type { Policy } from './rate-limit.ts';
import { NO_UPLOAD, type Upload, type UploadRules } from './uploads.ts';
import { validate } from './validate.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Description that every operation has. */
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

/** Failures as the operations of one kind answer them. */
export interface FailureForm {
  /** @param usual as all others do */
  answer(error: AppError, usual: Failure): Failure;
  /** Schema of the response body. */
  schema: z.ZodType;
  /** Meaning of each status, for the OpenAPI document. */
  statuses: Readonly<Record<number, string>>;
}

/** An answer that goes on until one side ends it: server-sent events. */
export class EventStream {
  readonly readable: Readable;
  constructor(readable: Readable) {
    this.readable = readable;
  }
}

/** An answer that is bytes in memory, such as a picture. */
export class Binary {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** An answer that is a file, made while it is sent. */
export class Download {
  readonly readable: Readable;
  /** In ASCII. */
  readonly fileName: string;
  constructor(readable: Readable, fileName: string) {
    this.readable = readable;
    this.fileName = fileName;
  }
}

/** Types of answers that are not JSON: `handle` resolves to an `EventStream`, a `Binary` or a `Download`. */
export type AnswerType = 'text/event-stream' | 'image/jpeg' | 'application/zip';

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
    /** JSON, or, where files come, the fields of the form beside them; absent: none is read. */
    body?: Body;
    /** Absent: 1 MiB. */
    maxBodyBytes?: number;
    /** It takes files. */
    upload?: UploadRules;
    /** How it answers a failure, where that is not `{detail}`. */
    failure?: FailureForm;
    /** Response body; absent: 204 without a body. */
    response?: Response;
    /** Content type of a response that is not JSON. */
    type?: AnswerType;
    /** Rate-limit policy; the default is `read` for GET and `write` for the other methods. */
    policy?: Policy | ((query: z.output<Query>) => Policy);
    handle(request: {
      principal: Principal;
      params: z.output<Params>;
      query: z.output<Query>;
      body: z.output<Body>;
      upload: Upload;
      /** Aborted when the client is gone. */
      signal: AbortSignal;
      /** Header Last-Event-ID: the last event that a reconnecting client received. */
      lastEventId: string | undefined;
    }): Promise<Streamable<z.input<Response>> | EventStream | Binary | Download>;
  };

/** A route as the server sees it: its parameters still as they came. */
export type Route = Operation &
  Access & {
    params: z.ZodObject;
    query: z.ZodObject;
    body?: z.ZodType;
    maxBodyBytes?: number;
    upload?: UploadRules;
    failure?: FailureForm;
    response?: z.ZodType;
    type?: AnswerType;
    policy(query: unknown): Policy;
    /** Validates and handles; `invalid_request` where a parameter or the body is wrong. */
    run(request: {
      principal: Principal;
      params: unknown;
      query: unknown;
      body: unknown;
      upload?: Upload | undefined;
      signal?: AbortSignal;
      lastEventId?: string | undefined;
    }): Promise<unknown>;
  };

/** Operation without account data: it has no parameters, and its own credential, if any. */
export interface OpenRoute extends Description {
  /** As OpenAPI has it; absent: anyone can get it. */
  security?: Record<string, string[]>[];
  /** By status. */
  answers: Record<number, { description: string; type: string; schema: z.ZodType }>;
  serve: Middleware;
}

/** An operation that needs no credential: its body says who asks. */
interface OpenOperationSpec<Body extends z.ZodType, Response extends z.ZodType> extends Operation {
  /** Absent: none is read. */
  body?: Body;
  response: Response;
  handle(request: {
    address: string;
    body: z.output<Body>;
    session: SessionCookie;
  }): Promise<z.input<Response>>;
}

/** Session cookie, which scripts in the browser cannot read. */
export interface SessionCookie {
  /** Absent: there is none. */
  token(): string | undefined;
  /** For so long. */
  keep(token: string, seconds: number): void;
  drop(): void;
}

export interface OpenOperation extends Operation {
  body?: z.ZodType;
  response: z.ZodType;
  /** @param request where it comes from: an IP address */
  run(request: { address: string; body: unknown; session: SessionCookie }): Promise<unknown>;
}

export function openOperation<Body extends z.ZodType, Response extends z.ZodType>(
  spec: OpenOperationSpec<Body, Response>,
): OpenOperation {
  const { handle, ...description } = spec;
  return {
    ...description,
    run: ({ address, body, session }) =>
      handle({
        ...{ address, session },
        body: spec.body ? validate(spec.body, body, 'body') : (undefined as z.output<Body>), // nobody reads it
      }),
  };
}

const NEVER = new AbortController().signal;

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
    run: ({ principal, params, query, body, upload = NO_UPLOAD, signal = NEVER, lastEventId }) =>
      handle({
        ...{ principal, upload, signal, lastEventId },
        params: validate(spec.params, params, 'path'),
        query: validate(spec.query, query, 'query'),
        body: spec.body ? validate(spec.body, body, 'body') : (undefined as z.output<Body>), // nobody reads it
      }),
  };
}
