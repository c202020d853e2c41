/** What the service layer reports while it works, in words. */

import { MAX_RESENDS } from '../service/retry.js';
import type { ServiceEvents } from '../service/service.js';
import { formatDuration } from '../text/duration.js';
import { describeError } from './errors/describe-error.js';
import { formatBytes } from './progress/run-progress.js';
import type { Reporter } from './reporter.js';

/** Bodies of more than this (1 MiB) show how much of them has been sent. */
const LARGE_BODY = 1024 * 1024;

/** Events as lines on stderr and on the progress view. */
export function serviceLogger(reporter: Reporter): ServiceEvents {
  return {
    request(method, url, bodyBytes) {
      reporter.debug(`> ${method} ${url}${bodyBytes === undefined ? '' : ` (${formatBytes(bodyBytes)})`}`);
    },
    response(status, took) {
      reporter.debug(`< ${status} (${formatDuration(took)})`);
    },
    retrying(why, phase, delay, count) {
      const reason = describeError(why)?.summary.join(', ') ?? why.message;
      const safe = phase === 1 ? '; the request was incomplete, so no run can exist' : '';
      reporter.progress(
        `wfr: ${reason}${safe}; sending again in ${formatDuration(delay)} (${count}/${MAX_RESENDS})`,
      );
      reporter.waiting('Waiting to send again');
    },
    sending(sent, total) {
      if (total > LARGE_BODY) reporter.sending(sent, total);
    },
    sent() {
      reporter.waiting('Sent; waiting for the answer');
    },
    awaitingId(ms, signal) {
      const seconds = formatDuration(ms);
      const leave =
        signal === 'SIGINT'
          ? 'Ctrl-C again to leave.'
          : `${signal} was received; a second signal ends wfr at once.`;
      reporter.notice(`The request has been sent; waiting up to ${seconds} for its id. ${leave}`);
    },
  };
}
