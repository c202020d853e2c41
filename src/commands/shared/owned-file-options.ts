/** The options with which a command locks the file of a journal. */
import { randomBytes } from 'node:crypto';
import type { OwnedFileOptions } from '../../batch/journal/owned-file.js';
import type { Context } from '../../platform/context.js';

/** Returns the options for a file, with a new token for this owner. */
export function ownedFileOptions(
  { path, name }: { path: string; name: string },
  { self, clock, uid }: Context,
): OwnedFileOptions {
  const { host, pid, space, isAlive } = self;
  const owner = { host, pid, space, token: randomBytes(4).toString('hex') };
  return { path, name, owner, isAlive, clock, uid };
}
