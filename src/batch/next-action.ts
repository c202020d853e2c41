/** What a call does with a row, by what is known of it: the one place that decides whether a row may be sent. */

import { isSelected, type RowSelection } from './row-selection.js';
import type { RowState } from './row-states.js';

/** What may be sent again that would otherwise be left. */
export interface ResendOptions {
  /** Which of the rows whose outcome is unknown. */
  resendUnknown: RowSelection;
  retryFailed: boolean;
  retryLost: boolean;
}

/** What is to be done with a row of which so much is known. */
export function nextAction(
  row: number,
  state: RowState,
  { resendUnknown, retryFailed, retryLost }: ResendOptions,
): 'send' | 'watch' | 'leave' {
  switch (state) {
    case 'new':
    case 'intent':
    case 'bad':
      return 'send';
    case 'sent':
      return isSelected(row, resendUnknown) ? 'send' : 'leave';
    case 'accepted':
      return 'watch';
    case 'refused':
    case 'failed':
      return retryFailed ? 'send' : 'leave';
    case 'lost':
      return retryLost ? 'send' : 'leave';
    case 'finished':
      return 'leave';
  }
}
