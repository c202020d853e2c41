/** A trigger after parsing, and the error that rejects a request. */
export interface ReceivedDocument {
  mediaType: string;
  /** Size of the decoded document. */
  bytes: number;
  /** Digest of the decoded document, in hexadecimal. */
  sha256: string;
}

export type ReceivedValue =
  | { type: 'string'; text: string }
  | { type: 'data-uri'; document: ReceivedDocument }
  | { type: 'malformed-data-uri'; problem: string }
  | { type: 'other'; value: unknown };

export interface ReceivedTrigger {
  /** The members except `inputs`, in order. */
  fields: Map<string, unknown>;
  /** Undefined if the member is missing. */
  inputs: Map<string, ReceivedValue> | undefined;
}

/** Rejects a request with this status and message. */
export class Rejection extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds, for a Retry-After header. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}
