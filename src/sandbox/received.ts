/** What a trigger brought, once it has been read from the stream. */

export interface ReceivedDocument {
  mediaType: string;
  /** Of the decoded document. */
  bytes: number;
  /** Of the decoded document, in hexadecimal. */
  sha256: string;
}

export type ReceivedValue =
  | { type: 'string'; text: string }
  | { type: 'data-uri'; document: ReceivedDocument }
  | { type: 'malformed-data-uri'; complaint: string }
  | { type: 'other'; value: unknown };

export interface ReceivedTrigger {
  /** The members beside `inputs`, in their order. */
  fields: Map<string, unknown>;
  /** Undefined where there was no such member. */
  inputs: Map<string, ReceivedValue> | undefined;
}

/** The service's refusal of a request. */
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
