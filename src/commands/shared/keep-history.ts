/** The end of a command that keeps a history. */
import { type History, HistoryTimeoutError } from '../../history/history.js';
import { describeSystemError } from '../../platform/system-error.js';
import type { Reporter } from '../../view/reporter.js';

/** Waits a moment for the history to be on disk, and says what kept it from being so. Never throws. */
export async function settleHistory(history: History, reporter: Reporter): Promise<void> {
  const error = await history.flush();
  if (error === undefined) return;
  const isHanging = error instanceof HistoryTimeoutError;
  // A person may count on @last; to a pipeline without a home it is of no use.
  if (!reporter.presentation.live && !isHanging) return;
  // Node ends no process in which a file operation hangs.
  const effect = isHanging
    ? 'wfr cannot end before it does, except by a signal'
    : '@last does not stand for this run';
  reporter.warn(
    `the history cannot be written: ${describeSystemError(error)}; ${effect} (WFR_HISTORY=0 keeps no history)`,
  );
}
