/** Starts processes. */

/** Returns Node's spawn; on Windows, one that also starts .cmd and .bat files, whose arguments cmd reads by rules of its own. */
export async function loadSpawn(platform: NodeJS.Platform) {
  return platform === 'win32'
    ? (await import('cross-spawn')).default
    : (await import('node:child_process')).spawn;
}

/** Returns the command line that starts this wfr: a program and its first arguments. */
export async function ownCommand(): Promise<[program: string, ...args: string[]]> {
  const { execPath, execArgv, argv } = process;
  return (await isExecutable()) ? [execPath] : [execPath, ...execArgv, argv[1] ?? ''];
}

/** Returns whether wfr is inside the executable; Bun and Deno, which it is never inside, lack the module that tells. */
async function isExecutable(): Promise<boolean> {
  try {
    const { isSea } = await import('node:sea');
    return isSea();
  } catch {
    return false;
  }
}
