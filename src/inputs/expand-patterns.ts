/** Expands patterns such as `scans/*.pdf` for a shell that has not: cmd and PowerShell do not, others not within quotes. */
import { stat } from 'node:fs/promises';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';

/** Only these have a meaning. */
const WILDCARD = /[*?[]/;

/**
 * Returns the paths, with the files that match in place of each pattern, sorted. A path of a file that exists is no
 * pattern, and a pattern that matches nothing stays, as in a shell.
 */
export async function expandPatterns(paths: readonly string[], context: Context): Promise<string[]> {
  const expanded: string[] = [];
  for (const path of paths) {
    const isPattern = WILDCARD.test(path) && !(await exists(path, context));
    const matches = isPattern ? await findMatches(path, context) : [];
    expanded.push(...(matches.length === 0 ? [path] : matches));
  }
  return expanded;
}

function exists(path: string, context: Context): Promise<boolean> {
  return stat(resolvePath(path, context.cwd, context)).then(
    () => true,
    () => false,
  );
}

async function findMatches(path: string, { cwd, home, platform }: Context): Promise<string[]> {
  // Loaded only for patterns.
  const { glob } = await import('tinyglobby');
  const pattern = platform === 'win32' ? path.replaceAll('\\', '/') : path;
  const isInHome = pattern.startsWith('~/') && home !== '';
  const found = await glob(escapeRest(isInHome ? pattern.slice(2) : pattern), {
    cwd: isInHome ? home : cwd,
    absolute: /^(?:[A-Za-z]:)?\//.test(pattern),
    expandDirectories: false,
  });
  return found.map((file) => (isInHome ? `~/${file}` : file)).sort();
}

/** Escapes what the library gives a meaning, but no shell. */
function escapeRest(pattern: string): string {
  return pattern.replace(/[(){}!+@|$^\\]/g, '\\$&');
}
