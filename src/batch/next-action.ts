/** Decides what to do with a row from its state: the only place that decides whether a row may be sent. */

import { isSelected, type RowSelection } from './row-selection.js';
import type { RowState } from './row-states.js';

/** Which rows may be sent again that are skipped by default. */
export interface ResendOptions {
  /** Rows with an unknown outcome to send again. */
  resendUnknown: RowSelection;
  retryFailed: boolean;
  retryLost: boolean;
  /** Whether rejected rows are sent without --retry-failed: `run --once` does it, a batch leaves them. */
  resendRejected: boolean;
}

/** Returns whether no run of the row exists or may exist, so that its inputs may change. */
export function mayChange(state: RowState): boolean {
  return ['new', 'intent', 'invalid', 'rejected', 'unauthorized', 'unreachable'].includes(state);
}

/** Returns what to do with a row. */
export function nextAction(
  row: number,
  state: RowState,
  { resendUnknown, retryFailed, retryLost, resendRejected }: ResendOptions,
): 'send' | 'watch' | 'skip' {
  switch (state) {
    case 'new':
    case 'intent':
    case 'invalid':
    case 'unauthorized':
    case 'unreachable':
      return 'send';
    case 'unknown':
      return isSelected(row, resendUnknown) ? 'send' : 'skip';
    case 'running':
      return 'watch';
    case 'rejected':
      return resendRejected || retryFailed ? 'send' : 'skip';
    case 'failed':
      return retryFailed ? 'send' : 'skip';
    case 'lost':
      return retryLost ? 'send' : 'skip';
    case 'finished':
      return 'skip';
  }
}
