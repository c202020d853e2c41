/** The options with which a command locks the file of a journal. */
import { randomBytes } from 'node:crypto';
import type { OwnedFileOptions } from '../../runs/log/owned-file.js';
import type { Session } from './session.js';

/** Returns the options for a file, with a new token for this owner. */
export function ownedFileOptions(
  { path, name }: { path: string; name: string },
  { context: { self, clock, uid }, interruption }: Pick<Session, 'context' | 'interruption'>,
): OwnedFileOptions {
  const { host, pid, space, started, isAlive } = self;
  const token = randomBytes(4).toString('hex');
  const owner = { host, pid, space, ...(started !== undefined && { started }), token };
  return { path, name, owner, isAlive, clock, uid, giveUp: interruption.impatient };
}
