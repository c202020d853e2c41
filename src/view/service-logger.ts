/** The events of the service layer as messages: requests, retries and the progress of uploads. */
import { factsOf } from '../outcome/describe-error.js';
import { MAX_RESENDS } from '../service/retry.js';
import type { Deprecation, ServiceEvents } from '../service/service.js';
import { formatBytes, formatDuration } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import { shellCommand } from '../text/shell-quote.js';
import type { Reporter } from './reporter.js';

/** Bodies larger than this (bytes) show how much of them has been sent. */
const LARGE_BODY = 1024 * 1024;

/** Returns the handlers that print events on stderr and in the progress view. */
export function serviceLogger(reporter: Reporter): ServiceEvents {
  let isDeprecationKnown = false;
  return {
    request(method, url, bodyBytes) {
      reporter.debug(`> ${method} ${url}${bodyBytes === undefined ? '' : ` (${formatBytes(bodyBytes)})`}`);
    },
    response(status, durationMs, requestId) {
      const id = requestId === undefined ? '' : `, request id ${sanitize(requestId)}`;
      reporter.debug(`< ${status} (${formatDuration(durationMs)})${id}`);
    },
    repaired() {
      reporter.warnOnce('the response is not valid UTF-8; invalid bytes were replaced by U+FFFD');
    },
    deprecated(deprecation) {
      if (!isDeprecationKnown) reporter.warn(deprecationText(deprecation));
      isDeprecationKnown = true;
    },
    retrying(cause, sendState, delay, count) {
      const reason = sanitize(factsOf(cause).summary.join(', '));
      const detail = sendState === 'partial' ? '; the request was incomplete, so no run can exist' : '';
      reporter.progress(
        `wfr: ${reason}${detail}; sending again in ${formatDuration(delay)} (${count}/${MAX_RESENDS})`,
      );
      reporter.waiting('Waiting to send again');
    },
    sending(sent, total, hasDocuments) {
      if (total > LARGE_BODY) reporter.sending({ sent, total, isBase64: hasDocuments });
    },
    sent() {
      reporter.waiting('Sent; waiting for the response');
    },
    candidate(id) {
      const command = shellCommand(['wfr', 'status', ...(id.startsWith('-') ? ['--'] : []), id]);
      reporter.notice(
        `The response names the run ${sanitize(id)}, and has not ended; to look for the run: ${command}`,
      );
    },
    awaitingId(ms, signal) {
      const exit =
        signal === 'SIGINT'
          ? 'Press Ctrl-C again to exit now.'
          : `${signal} was received; a second signal ends wfr at once.`;
      const duration = formatDuration(ms);
      reporter.notice(`The request has been sent; waiting up to ${duration} for the run id. ${exit}`);
    },
  };
}

/** Returns a text such as `the service announces that this interface is deprecated since 2026-01-02 and ends on …`. */
function deprecationText({ since, sunset, link }: Deprecation): string {
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const facts = [
    ...(since === undefined ? [] : [since === true ? 'is deprecated' : `is deprecated as of ${day(since)}`]),
    ...(sunset === undefined ? [] : [`ends on ${day(sunset)}`]),
  ];
  const more = link === undefined ? '' : `; see ${sanitize(link)}`;
  return `the service announces that this interface ${facts.join(' and ')}${more}`;
}
