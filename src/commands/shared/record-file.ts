/** What commands do with the file that records their runs: lock it, and continue in it with a run that the user found. */
import { randomBytes } from 'node:crypto';
import type { Log } from '../../runs/log/log.js';
import type { OwnedFileOptions } from '../../runs/log/owned-file.js';
import { sanitize } from '../../text/sanitize.js';
import type { Session } from './session.js';
import { watchRun } from './watch-run.js';

/** An unknown row, and the run that the user found for it. */
export interface Adoption {
  row: number;
  id: string;
  /** As the user wrote it. */
  flag: string;
  /** What continues with the run, in a message: `Row 3`. */
  subject: string;
}

/**
 * Reads all adopted runs, then records them as accepted. Throws the error of a run that could not be read, with nothing
 * recorded, and OutputError.
 */
export async function adoptRuns(adoptions: readonly Adoption[], log: Log, session: Session): Promise<void> {
  const { reporter } = session;
  for (const { id, flag } of adoptions) {
    const { run, thrown } = await watchRun({ id, label: id }, session);
    if (run) continue;
    reporter.notice(`${sanitize(flag)} failed: nothing was adopted or sent.`);
    throw thrown;
  }
  for (const { row, id, subject } of adoptions) {
    await log.commit({ event: 'accepted', row, id });
    reporter.info(`${subject} continues with run ${sanitize(id)}.`);
  }
}

/** Returns the options for a file, with a new token for this owner. */
export function ownedFileOptions(
  { path, name }: { path: string; name: string },
  { context: { self, clock, uid }, interruption }: Pick<Session, 'context' | 'interruption'>,
): OwnedFileOptions {
  const owner = { ...self, token: randomBytes(4).toString('hex') };
  return { path, name, owner, clock, uid, giveUp: interruption.impatient };
}
