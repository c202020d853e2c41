/** Checks who else could have written the file of the access token. */
import { stat } from 'node:fs/promises';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { findFileRisk, formatMode, isForeign } from '../platform/ownership.js';
import type { TokenLocation } from './token-source.js';

/**
 * Returns warnings; none for a file that cannot be read, which reading it reports. Throws UsageError if any user can write
 * to it, or if it is another user's: documents would go to their account.
 */
export async function checkTokenFile(location: TokenLocation, context: Context): Promise<string[]> {
  if (location.kind !== 'file' || location.path === '-') return [];
  const { path } = location;
  const stats = await stat(resolvePath(path, context.cwd, context)).catch(() => undefined);
  if (stats === undefined) return [];
  const risk = findFileRisk(path, stats, context.uid);
  const isTheirs = stats.isFile() && isForeign(stats, context.uid);
  if (isTheirs && !risk?.isFatal)
    throw new UsageError([
      `the token file ${path}: belongs to another user (${formatMode(stats)}), to whose account the inputs would go; use a copy of your own`,
    ]);
  if (risk === undefined) return [];
  const message = `the token file ${path}: ${risk.message}`;
  if (risk.isFatal) throw new UsageError([message]);
  return [message];
}
