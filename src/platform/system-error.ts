/** Describes errors of system calls in plain English. */
import { type FurtherFacts, WfrError } from '../errors.js';

const MESSAGES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'permission denied',
  EBUSY: 'the file is in use',
  EDQUOT: 'the disk quota is exceeded',
  EEXIST: 'it already exists',
  EFBIG: 'the file is too large',
  EIO: 'the disk reported an input/output error',
  EISDIR: 'it is a folder',
  ELOOP: 'too many levels of symbolic links',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'too many open files on this machine',
  ENOENT: 'no such file',
  ENOMEM: 'out of memory',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'a part of the path is not a folder',
  ENXIO: 'no such device, or the pipe has no reader',
  EPIPE: 'the reader of the pipe is gone',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ESTALE: 'the network file system no longer has it',
};

/** Returns the code of a system error, such as ENOENT; undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  // The codes of wfr's own errors are in lower case.
  return typeof code === 'string' && /^[A-Z]/.test(code) ? code : undefined;
}

/** Returns why a system call failed, with the code in parentheses: `no such file (ENOENT)`. */
export function describeSystemError(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) return error instanceof Error ? error.message : String(error);
  const message = MESSAGES[code];
  return message === undefined ? code : `${message} (${code})`;
}

/** The result is known but could not be written; `what` names the part. */
export class OutputError extends WfrError {
  constructor(
    override readonly cause: Error,
    what = 'the result',
    further: FurtherFacts = {},
  ) {
    super('output-not-written', [`cannot write ${what}: ${describeSystemError(cause)}`], further);
  }
}
