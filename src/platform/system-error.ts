/** The operating system's error codes in plain words. */

const MESSAGES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'permission denied',
  EBUSY: 'it is in use',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'something else has that name',
  EFBIG: 'the file is too large',
  EIO: 'the disk reported an input/output error',
  EISDIR: 'it is a directory',
  ELOOP: 'its symbolic links go in a circle',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'too many open files on this machine',
  ENOENT: 'no such file',
  ENOMEM: 'out of memory',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'a part of the path is not a directory',
  ENXIO: 'no such device, or nobody reads the pipe',
  EPIPE: 'nobody reads the pipe any longer',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ESTALE: 'the network file system lost it',
};

/** The system's code of an error, such as ENOENT; undefined where it has none. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Whether a system call failed because this machine had no open files or no memory left, which may soon change. */
export function isResourceExhaustion(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'ENOMEM'].includes(errorCode(error) ?? '');
}

/** Why a system call failed, in words with the code in parentheses. */
export function describeSystemError(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) return error instanceof Error ? error.message : String(error);
  const words = MESSAGES[code];
  return words === undefined ? code : `${words} (${code})`;
}
