/** What a call does with a row, by what is known of it: the one place that decides whether a row may be sent. */
import type { RowState } from './ledger.js';

/** What may be sent again that would otherwise be left. */
export interface Resending {
  resendUnknown: boolean;
  retryFailed: boolean;
  retryLost: boolean;
}

/** What is to be done with a row of which so much is known. */
export function taskOf(
  state: RowState,
  { resendUnknown, retryFailed, retryLost }: Resending,
): 'send' | 'watch' | 'leave' {
  switch (state) {
    case 'new':
    case 'intent':
    case 'bad':
      return 'send';
    case 'sent':
      return resendUnknown ? 'send' : 'leave';
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
