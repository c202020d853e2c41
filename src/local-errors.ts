/** Failures of this machine's own: no token, files that cannot be read or written. */
import { OutputError, WfrError } from './errors.js';

/** No access token for another machine. `lookedFor` was searched; `withheld` says why one found is not sent there. */
export class MissingTokenError extends WfrError {
  constructor(
    readonly lookedFor: readonly string[],
    readonly withheld?: string,
  ) {
    super('no access token');
  }
}

/** A document was not the same at the end of sending as at the start. */
export class FileChangedError extends WfrError {
  constructor(readonly path: string) {
    super('changed while being read');
  }
}

/** A file could not be read after the checks had passed. */
export class FileReadError extends WfrError {
  constructor(
    readonly path: string,
    override readonly cause: Error,
  ) {
    super('cannot be read', { cause });
  }
}

/** A document of the output could not be saved; `what` is the path in question, and the output holds it still. */
export class UnsavedDocumentError extends OutputError {}
