/** A trigger after parsing, and the error that rejects a request. */
export interface ReceivedDocument {
  mediaType: string;
  /** Size of the decoded document. */
  bytes: number;
  /** Digest of the decoded document, in hexadecimal. */
  sha256: string;
}

/** A document that an output returns as it was received: in JSON, it is its data URI. */
export class ReturnedDocument implements ReceivedDocument {
  readonly mediaType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly #uri: string;

  constructor({ mediaType, bytes, sha256 }: ReceivedDocument, uri: string) {
    this.mediaType = mediaType;
    this.bytes = bytes;
    this.sha256 = sha256;
    this.#uri = uri;
  }

  toJSON(): string {
    return this.#uri;
  }
}

export type ReceivedValue =
  | { type: 'string'; text: string }
  /** `uri` is undefined for a document that is too large to be returned. */
  | { type: 'data-uri'; document: ReceivedDocument; uri: string | undefined }
  | { type: 'malformed-data-uri'; problem: string }
  | { type: 'other'; value: unknown };

export interface ReceivedTrigger {
  /** The members except `inputs`, in order. */
  fields: Map<string, unknown>;
  /** Undefined if the member is missing. */
  inputs: Map<string, ReceivedValue> | undefined;
}

/** The values of inputs by name; a document is a ReceivedDocument, and an optional parameter without an input is null. */
export type InputValues = ReadonlyMap<string, unknown>;

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
