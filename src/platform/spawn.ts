/** Starts processes. */

/** Returns Node's spawn; on Windows, one that also starts .cmd and .bat files, whose arguments cmd reads by rules of its own. */
export async function loadSpawn(platform: NodeJS.Platform) {
  return platform === 'win32'
    ? (await import('cross-spawn')).default
    : (await import('node:child_process')).spawn;
}

/** Returns the command line that starts this wfr: a program and its first arguments. */
export async function ownCommand(): Promise<[program: string, ...args: string[]]> {
  const { isSea } = await import('node:sea');
  const { execPath, execArgv, argv } = process;
  return isSea() ? [execPath] : [execPath, ...execArgv, argv[1] ?? ''];
}
