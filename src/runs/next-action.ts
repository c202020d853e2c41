/** Decides what to do with a row from its state: the only place that decides whether a row may be sent. */
import { ROW_STATES, type RowState } from './log/reduce.js';

/** Which rows may be sent again that are skipped by default. */
export interface ResendOptions {
  /** Rows with an unknown outcome to send again. */
  resendUnknown: RowSelection;
  /** Failed, rejected and lost rows to send again. */
  retryFailed: RowSelection;
  /** Whether rejected rows are sent without --retry-failed: `run --once` does it, a batch leaves them. */
  resendRejected: boolean;
}

/** Returns what to do with a row. */
export function nextAction(
  row: number,
  state: RowState,
  { resendUnknown, retryFailed, resendRejected }: ResendOptions,
): 'send' | 'watch' | 'skip' {
  const isSent = {
    send: true,
    'resend-unknown': isSelected(row, resendUnknown),
    'retry-failed': isSelected(row, retryFailed) || (resendRejected && state === 'rejected'),
    // The flag releases the row before.
    'send-changed': false,
  };
  const { again } = ROW_STATES[state];
  if (again === 'watch' || again === 'skip') return again;
  return isSent[again] ? 'send' : 'skip';
}

/** All rows, or ranges of row numbers, both ends included; an empty list selects none. */
export type RowSelection = 'all' | readonly (readonly [first: number, last: number])[];

/** Parses row numbers and ranges, from 1 and separated by commas; returns undefined for anything else. */
export function parseRowSelection(text: string): RowSelection | undefined {
  const ranges = text.split(',').map((part) => {
    const [, first = '', last = first] = /^\s*(\d{1,15})(?:-(\d{1,15}))?\s*$/.exec(part) ?? [];
    return [Number(first), Number(last)] as const;
  });
  return ranges.every(([first, last]) => first >= 1 && first <= last) ? ranges : undefined;
}

/** Returns whether a row is selected. */
export function isSelected(row: number, selection: RowSelection): boolean {
  return selection === 'all' || selection.some(([first, last]) => row >= first && row <= last);
}
