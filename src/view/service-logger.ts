/** What the service layer reports while it works, in words. */
import { formatDuration } from '../text/duration.js';
import { MAX_RESENDS } from '../service/retry.js';
import type { ServiceEvents } from '../service/service.js';
import type { Conversation } from './reporter.js';
import { explain } from './errors/describe-error.js';
import { formatBytes, type ProgressView } from './progress/run-progress.js';

/** Bodies of more than this (1 MiB) show how much of them has been sent. */
const LARGE_BODY = 1024 * 1024;

/** Events as lines on stderr and on the progress view. */
export function serviceTalk(conversation: Conversation, progress?: ProgressView): ServiceEvents {
  return {
    request(method, url, bodyBytes) {
      conversation.detail(
        `> ${method} ${url}${bodyBytes === undefined ? '' : ` (${formatBytes(bodyBytes)})`}`,
      );
    },
    answer(status, took) {
      conversation.detail(`< ${status} (${formatDuration(took)})`);
    },
    resending(why, phase, delay, count) {
      const reason = explain(why)?.what.join(', ') ?? why.message;
      const safe = phase === 1 ? '; the request was incomplete, so no run can exist' : '';
      conversation.meanwhile(
        `wfr: ${reason}${safe}; sending again in ${formatDuration(delay)} (${count}/${MAX_RESENDS})`,
      );
      progress?.waiting('Waiting to send again');
    },
    sending(sent, total) {
      if (total > LARGE_BODY) progress?.sending(sent, total);
    },
    sent() {
      progress?.waiting('Sent; waiting for the answer');
    },
    lingering(ms, signal) {
      const seconds = formatDuration(ms);
      const leave =
        signal === 'SIGINT'
          ? 'Ctrl-C again to leave.'
          : `${signal} was received; a second signal ends wfr at once.`;
      conversation.say(`The request has been sent; waiting up to ${seconds} for its id. ${leave}`);
    },
  };
}
