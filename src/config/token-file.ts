/** Checks who else could have written the file of the access token. */
import { stat } from 'node:fs/promises';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { findFileRisk } from '../platform/ownership.js';
import type { TokenLocation } from './token-source.js';

/** Returns warnings; none for a file that cannot be read, which reading it reports. Throws UsageError if any user can write to it. */
export async function checkTokenFile(location: TokenLocation, context: Context): Promise<string[]> {
  if (location.kind !== 'file' || location.path === '-') return [];
  const { path } = location;
  const stats = await stat(resolvePath(path, context.cwd, context)).catch(() => undefined);
  const risk = stats && findFileRisk(path, stats, context.uid);
  if (risk === undefined) return [];
  const message = `the token file ${path}: ${risk.message}`;
  if (risk.isFatal) throw new UsageError([message]);
  return [message];
}
