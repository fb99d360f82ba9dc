/** Properties of each code: HTTP status, whether its message may be shown, and whether a retry can help. */
interface ErrorKind {
  status: number;
  /** Whether callers may read the message. Messages of internal failures are only logged. */
  expose: boolean;
  retryable: boolean;
}

/** All error codes. The last five are the failure outcomes of speech recognition. */
export const ERRORS = {
  invalid_request: { status: 422, expose: true, retryable: false },
  unauthorized: { status: 401, expose: true, retryable: false },
  forbidden: { status: 403, expose: true, retryable: false },
  not_found: { status: 404, expose: true, retryable: false },
  conflict: { status: 409, expose: true, retryable: false },
  gone: { status: 410, expose: true, retryable: false },
  too_slow: { status: 408, expose: true, retryable: true },
  too_large: { status: 413, expose: true, retryable: false },
  unsupported_media: { status: 415, expose: true, retryable: false },
  locked: { status: 423, expose: true, retryable: false },
  rate_limited: { status: 429, expose: true, retryable: true },
  internal: { status: 500, expose: false, retryable: true },
  unavailable: { status: 503, expose: true, retryable: true },
  storage_full: { status: 507, expose: true, retryable: true },
  empty_unexpected: { status: 502, expose: true, retryable: true },
  timeout: { status: 504, expose: true, retryable: true },
  upstream_error: { status: 502, expose: true, retryable: true },
  config_error: { status: 503, expose: true, retryable: false },
  invalid_input: { status: 400, expose: true, retryable: false },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** The failure outcomes of speech recognition (the wire's `outcome`). */
const OUTCOMES = ['empty_unexpected', 'timeout', 'upstream_error', 'config_error', 'invalid_input'] as const;
export type FailureOutcome = (typeof OUTCOMES)[number];
/** Every outcome that can be reported for a piece of audio. */
export type Outcome = 'success' | 'expected_silence' | FailureOutcome;

/** One entry of a 422 body: where, what, and the machine-readable kind. */
export interface Issue {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/**
 * The one error class. Thrown where the cause is known; its message names what failed and the remedy,
 * and never holds transcript text, a key or a vendor's answer. Its `cause` is logged, and holds none of them either.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  /** Seconds to wait before a retry, if the failing side named them. */
  readonly retryAfter: number | undefined;
  readonly issues: Issue[] | undefined;
  /** A machine-readable response body, in place of the message alone. */
  readonly detail: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      retryAfter?: number | undefined;
      issues?: Issue[];
      detail?: Readonly<Record<string, unknown>>;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.issues = options.issues;
    this.detail = options.detail;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
  get expose(): boolean {
    return ERRORS[this.code].expose;
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** Converts any thrown value to an AppError. Other errors become `fallback`, and their message is only logged. */
export function toAppError(thrown: unknown, fallback: ErrorCode = 'internal'): AppError {
  if (thrown instanceof AppError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError(fallback, message, { cause: thrown });
}

/** Returns the outcome to report for a failure of speech recognition: its own, or `upstream_error`. */
export function outcomeOf(thrown: unknown): FailureOutcome {
  const code = toAppError(thrown).code;
  return OUTCOMES.find(outcome => outcome === code) ?? 'upstream_error';
}
