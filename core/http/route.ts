import type { FileHandle } from 'node:fs/promises';
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

/** Part of the description that every operation has. */
interface Description {
  /** Operation id in the OpenAPI document, and in code generated from it. */
  id: string;
  /** Path with parameters in braces, as in OpenAPI. */
  path: `/${string}`;
  tag: string;
  summary: string;
}

interface Operation extends Description {
  method: Method;
  /** Failures in addition to those that follow from its credential, parameters, and body. */
  errors?: FailureCode[];
}

/** Failures in the response form of one kind of operation. */
export interface FailureForm {
  /** @param usual the response that other operations would give */
  answer(error: AppError, usual: Failure): Failure;
  /** Schema of the response body. */
  schema: z.ZodType;
  /** Meaning of each status, for the OpenAPI document. */
  statuses: Readonly<Record<number, string>>;
}

/** A response that continues until one side ends it: server-sent events. */
export class EventStream {
  readonly readable: Readable;
  constructor(readable: Readable) {
    this.readable = readable;
  }
}

/** A response of bytes in memory, such as a picture. */
export class Binary {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** A response that is a file, produced while it is sent. */
export class Download {
  readonly readable: Readable;
  /** ASCII only. */
  readonly fileName: string;
  constructor(readable: Readable, fileName: string) {
    this.readable = readable;
    this.fileName = fileName;
  }
}

/** A response that is a file on the disk, of which a client may ask for a part. */
export class StoredFile {
  /** Closed once it was sent. */
  readonly handle: FileHandle;
  readonly bytes: number;
  /** Another one for other content; letters, digits and hyphens. */
  readonly version: string;
  /** ASCII only. */
  readonly fileName: string;
  /** Where the type of the route leaves it open. */
  readonly type: string | undefined;
  constructor({
    handle,
    bytes,
    version,
    fileName,
    type,
  }: Omit<StoredFile, 'type'> & { type?: string | undefined }) {
    this.type = type;
    this.handle = handle;
    this.bytes = bytes;
    this.version = version;
    this.fileName = fileName;
  }
}

/** Kinds of responses that are not JSON: `handle` resolves to an `EventStream`, or bytes in one of three forms. */
export type AnswerType = 'text/event-stream' | 'image/jpeg' | 'application/zip' | 'audio/*';

/** One operation of the interface as data: enough to serve and to describe it. */
type RouteSpec<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Response extends z.ZodType,
> = Operation &
  Access & {
    params: Params;
    query: Query;
    /** Schema of the JSON body or, for uploads, of the form fields beside the files; absent: no body is read. */
    body?: Body;
    /** Maximum size; absent: 1 MiB. */
    maxBodyBytes?: number;
    /** Accepts files. */
    upload?: UploadRules;
    /** Its form of failures, where that is not `{detail}`. */
    failure?: FailureForm;
    /** Accepts an Idempotency-Key: sent again, it creates nothing and gets the same answer. */
    repeatable?: true;
    /** Response body; absent: 204 without a body. */
    response?: Response;
    /** Content type of a response that is not JSON. */
    type?: AnswerType;
    /** True: answers a `StoredFile`, also a part of it. */
    isResumable?: true;
    /** Rate-limit policy; the default is `read` for GET and `write` for the other methods. */
    policy?: Policy | ((query: z.output<Query>) => Policy);
    handle(request: {
      principal: Principal;
      params: z.output<Params>;
      query: z.output<Query>;
      body: z.output<Body>;
      upload: Upload;
      /** Aborted when the client disconnects. */
      signal: AbortSignal;
      /** Header Last-Event-ID: the last event that a reconnecting client received. */
      lastEventId: string | undefined;
    }): Promise<Streamable<z.input<Response>> | EventStream | Binary | Download | StoredFile>;
  };

/** A route as the server sees it, its parameters not validated yet. */
export type Route = Operation &
  Access & {
    params: z.ZodObject;
    query: z.ZodObject;
    body?: z.ZodType;
    maxBodyBytes?: number;
    upload?: UploadRules;
    failure?: FailureForm;
    repeatable?: true;
    response?: z.ZodType;
    type?: AnswerType;
    isResumable?: true;
    policy(query: unknown): Policy;
    /** Validates and handles a request; `invalid_request` where a parameter or the body is wrong. */
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
  /** Security requirement as in OpenAPI; absent: public. */
  security?: Record<string, string[]>[];
  /** Responses by status. */
  answers: Record<number, { description: string; type: string; schema: z.ZodType }>;
  serve: Middleware;
}

/** An operation that needs no credential: its body identifies the caller. */
interface OpenOperationSpec<Body extends z.ZodType, Response extends z.ZodType> extends Operation {
  /** Schema of the body; absent: none is read. */
  body?: Body;
  response: Response;
  handle(request: {
    address: string;
    /** Header User-Agent; empty: none. */
    userAgent: string;
    body: z.output<Body>;
    session: SessionCookie;
  }): Promise<z.input<Response>>;
}

/** Session cookie, which scripts in the browser cannot read. */
export interface SessionCookie {
  /** Absent: there is none. */
  token(): string | undefined;
  /** Lifetime. */
  keep(token: string, seconds: number): void;
  drop(): void;
}

export interface OpenOperation extends Operation {
  body?: z.ZodType;
  response: z.ZodType;
  /** @param request where it comes from: an IP address */
  run(request: {
    address: string;
    userAgent: string;
    body: unknown;
    session: SessionCookie;
  }): Promise<unknown>;
}

export function openOperation<Body extends z.ZodType, Response extends z.ZodType>(
  spec: OpenOperationSpec<Body, Response>,
): OpenOperation {
  const { handle, ...description } = spec;
  return {
    ...description,
    run: ({ body, ...request }) =>
      handle({
        ...request,
        body: spec.body ? validate(spec.body, body, 'body') : (undefined as z.output<Body>), // nobody reads the response
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
      return parsed.success ? policy(parsed.data) : 'read'; // an invalid request reads no body
    },
    run: ({ principal, params, query, body, upload = NO_UPLOAD, signal = NEVER, lastEventId }) =>
      handle({
        principal,
        upload,
        signal,
        lastEventId,
        params: validate(spec.params, params, 'path'),
        query: validate(spec.query, query, 'query'),
        body: spec.body ? validate(spec.body, body, 'body') : (undefined as z.output<Body>), // nobody reads the response
      }),
  };
}
