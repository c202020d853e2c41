/**
 * Whether another user of the machine could have planted a file or folder. Where the user's id is undefined, on Windows,
 * there are no modes to check. Root is never another user: it can do anything.
 */
import type { Stats } from 'node:fs';

const ROOT = 0;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_OTHERS = 0o002;

type UserId = number | undefined;

/** Returns why a folder (from lstat) is not this user's alone, as a sentence about `path`; undefined if it is. */
export function findFolderRisk(path: string, stats: Stats, uid: UserId): string | undefined {
  if (uid === undefined) return undefined;
  if (stats.isSymbolicLink()) return `${path} is a symbolic link`;
  if (!stats.isDirectory()) return `${path} is not a folder`;
  if (stats.uid !== uid) return `${path} belongs to another user`;
  const isShared = (stats.mode & (WRITABLE_BY_GROUP | WRITABLE_BY_OTHERS)) !== 0;
  return isShared ? `others can write to ${path} (${formatMode(stats)})` : undefined;
}

/** What is wrong with the owner or mode of a file; a fatal risk means that any user could have written it. */
export interface FileRisk {
  isFatal: boolean;
  message: string;
}

/** Returns who else could have written a file (from stat, so of a link's target). Pipes and devices are not checked. */
export function findFileRisk(path: string, stats: Stats, uid: UserId): FileRisk | undefined {
  if (uid === undefined || !stats.isFile()) return undefined;
  const fix = `(${formatMode(stats)}); run: chmod go-w ${path}`;
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0)
    return { isFatal: true, message: `every user can write to it ${fix}` };
  if ((stats.mode & WRITABLE_BY_GROUP) !== 0)
    return { isFatal: false, message: `its group can write to it ${fix}` };
  if (uid === ROOT && isForeign(stats, uid))
    return {
      isFatal: false,
      message: `belongs to another user (${formatMode(stats)}), and wfr runs as root`,
    };
  return undefined;
}

/** Returns whether a file belongs to a user other than `uid` and root. */
export function isForeign(stats: Stats, uid: UserId): boolean {
  return uid !== undefined && stats.uid !== uid && stats.uid !== ROOT;
}

function formatMode({ mode }: Stats): string {
  return `mode 0${(mode & 0o777).toString(8)}`;
}
