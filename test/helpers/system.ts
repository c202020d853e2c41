/** What the system of the tests lacks. A skipped test names its reason: `test.skipIf(LACKS.fifos)`. */

const isWindows = process.platform === 'win32';

export const LACKS = {
  /** Modes and owners of files: Windows has access lists. */
  fileModes: isWindows,
  /** Names with one of < > : " | ? * \, a control character or U+10FFFF, or a dot or space at the end. */
  fileNames: isWindows,
  fifos: isWindows,
  /** The removal of a file that a process has open, or its replacement: on Windows it is in use. */
  removalOfOpenFiles: isWindows,
  /** Symbolic links: Windows creates them only with a privilege. */
  symlinks: isWindows,
  /** Unix domain sockets in folders: Windows has named pipes. */
  unixSockets: isWindows,
  /** /proc and /sys; the open files of a process as /proc/self/fd. */
  procfs: process.platform !== 'linux',
  /** /dev/null, /dev/stdout, /dev/fd. */
  devices: isWindows,
  /** /dev/full. */
  fullDevice: process.platform !== 'linux',
  /** ENOTDIR and ENAMETOOLONG: on Windows, such a path does not exist. */
  pathErrors: isWindows,
  /** A user without a home folder: Windows always has one. */
  homelessUsers: isWindows,
  /** A port that ignores connections once others wait to be accepted. */
  silentPorts: process.platform !== 'linux',
  /** An address to which the system rejects every connection, as if its network could not be reached. */
  unreachableAddresses: process.platform !== 'linux',
  /** What a socket received before a reset: Windows may discard it unread. */
  dataBeforeReset: isWindows,
  /** How much of a write to a socket has been sent: Windows tells its end alone. */
  partialWrites: isWindows,
  /** A signal to another process; on Windows each one ends it at once. */
  signals: isWindows,
  /** A cmd.exe, which runs .cmd files. */
  cmd: !isWindows,
  /** A bash whose paths and programs are those of the system. */
  bash: isWindows,
};
