/** Describes errors of system calls in plain English. */
import { getSystemErrorMap } from 'node:util';
import { type FurtherFacts, UsageError, WfrError } from '../errors.js';

/** Plainer words than those of the system, which speaks of directories and devices. */
const MESSAGES: Readonly<Record<string, string>> = {
  EDQUOT: 'the disk quota is exceeded',
  EIO: 'the disk reported an input/output error',
  EISDIR: 'it is a folder',
  ENOENT: 'no such file',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'a part of the path is not a folder',
  ENXIO: 'no such device, or the pipe has no reader',
  EPIPE: 'the reader of the pipe is gone',
};

/** Returns the code of a system error, such as ENOENT; undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Returns what handles the error of a system call that may have this code: it throws any other. */
export function throwUnlessCode(code: string) {
  return (error: unknown): undefined => {
    if (errorCode(error) !== code) throw error;
  };
}

/** Returns whether a system call failed for want of a file at its path. */
export function isMissingFile(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
}

/** Returns an error such as that of a system call. */
export function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** Returns why a system call failed, with the code of a fault in parentheses: `no such file (ENOENT)`. */
export function describeSystemError(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) return (error as Error).message;
  if (code === 'EEXIST') return 'it already exists';
  const ofSystem = [...getSystemErrorMap().values()].find(([name]) => name === code);
  const message = MESSAGES[code] ?? ofSystem?.[1];
  return message === undefined ? code : `${message} (${code})`;
}

/** Returns what handles an error of the system that is about `subject`: it throws UsageError. */
export function throwAsUsageError(subject: string) {
  return (error: unknown): never => {
    throw error instanceof UsageError ? error : new UsageError(`${subject}: ${describeSystemError(error)}`);
  };
}

/** The result is known but could not be written; `what` names the part. */
export class OutputError extends WfrError {
  declare readonly cause: Error;

  constructor(cause: Error, what = 'the result', further: FurtherFacts = {}) {
    super('output-not-written', [`cannot write ${what}: ${describeSystemError(cause)}`], further, { cause });
  }
}
