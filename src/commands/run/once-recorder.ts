/** Records in a --once file how its run ended, while other processes may watch the same run. */
import type { BatchEvent } from '../../batch/journal/journal.js';
import { JournalInUseError } from '../../batch/journal/lock.js';
import { ONCE_ROW, type OnceFile, openOnceFile } from '../../batch/journal/once-file.js';
import { LostRunError } from '../../errors.js';
import { describeSystemError } from '../../platform/system-error.js';
import type { EndedRun } from '../../service/run.js';
import { compactJson } from '../../text/json/format-json.js';
import { ownedFileOptions } from '../shared/owned-file-options.js';
import type { Session } from '../shared/session.js';
import type { EndRecorder } from './known-run.js';
import type { OncePlan } from './once-plan.js';

/** Attempts to lock the file, and the time between two of them (ms): others have it only to record the same. */
const MAX_ATTEMPTS = 20;
const LOCK_INTERVAL = 100;

/** Returns the recorder for a run. */
export function onceRecorder(id: string, once: OncePlan, session: Session): EndRecorder {
  return {
    ended: (run) => record(id, (file) => recordEnd(run, file), once, session),
    async lost() {
      await record(id, (file) => commit({ event: 'lost', row: ONCE_ROW }, file), once, session);
      return new LostRunError(once.file.name, id);
    },
  };
}

/** Records the end of a run in a file that this process has locked. Throws OutputError. */
export async function recordEnd(run: EndedRun, file: OnceFile): Promise<void> {
  file.rowStates.record({ event: 'ended', row: ONCE_ROW, status: run.status, error: run.error });
  await commit({ event: 'ended', row: ONCE_ROW, run: compactJson(run.json) }, file);
}

async function commit(event: BatchEvent, { journal }: OnceFile): Promise<void> {
  await journal.commit(event);
}

/** Locks the file for one event, unless another process has recorded it or triggered another run. Never throws. */
async function record(
  id: string,
  write: (file: OnceFile) => Promise<void>,
  { file: named }: OncePlan,
  session: Session,
): Promise<void> {
  const { context, reporter } = session;
  for (let attempts = 1; ; attempts++) {
    try {
      const file = await openOnceFile(ownedFileOptions(named, session));
      try {
        if (file.rowStates.state(ONCE_ROW) === 'running' && file.record.id === id) await write(file);
      } finally {
        await file.close();
      }
      return;
    } catch (error) {
      if (!(error instanceof JournalInUseError) || attempts === MAX_ATTEMPTS)
        return reporter.warn(
          `${named.name}: the end of the run cannot be recorded: ${describeSystemError(error)}`,
        );
    }
    await context.clock.sleep(LOCK_INTERVAL);
  }
}
