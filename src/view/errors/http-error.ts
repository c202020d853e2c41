/** What an HTTP status that is not a 2xx means, in words. */
import type { HttpError, HttpErrorInfo } from '../../errors.js';
import { sanitize } from '../../text/sanitize.js';
import { formatBytes } from '../progress/run-progress.js';
import type { ErrorDescription } from './error-description.js';

const CHECK = 'Check the base URL, the workflow and the inputs; wfr run --dry-run shows what was sent.';
const CHOOSE =
  'If the service accepts only one spelling of the workflow field, choose it with --workflow-id-field.';

/** What the service did not take, its own words, and what to do next. */
export function describeHttpError(
  refusal: HttpErrorInfo,
  spellingHint: HttpError['spellingHint'],
): ErrorDescription {
  const { method, url, status, message, location } = refusal;
  const asked = method === 'POST' ? 'the trigger' : 'the request';
  const explanation = (what: string, ...hints: string[]): ErrorDescription => ({
    summary: [what],
    serverMessage: message,
    hints,
  });
  if (status >= 300 && status <= 399) {
    return explanation(
      `the service redirects ${asked} to ${sanitize(location ?? 'nowhere')} (${status}), and wfr does not follow`,
      refusal.isRunLocation === true
        ? 'The target may be the run that was created.'
        : 'Set the base URL to where the service really is.',
    );
  }
  switch (status) {
    case 401:
    case 403: {
      const source =
        refusal.tokenSource === undefined ? 'none was sent' : `it came from ${sanitize(refusal.tokenSource)}`;
      return explanation(
        `the service refused the access token (${status}); ${source}`,
        'Set WFR_TOKEN or --token-file to a token that may do this.',
      );
    }
    case 404:
      return explanation(
        `the service has nothing at ${sanitize(url)} (404)`,
        'Check the base URL and the workflow.',
      );
    case 413:
      return explanation(
        `the service refused a body of ${formatBytes(refusal.bodyBytes ?? 0)} as too large (413)`,
        'Send smaller documents, or ask whoever runs the service to allow larger ones.',
      );
    default: {
      // An error of the service's own is no refusal.
      if (status >= 500 || status === 408)
        return explanation(`the service answered ${asked} with an error (${status})`);
      const isAboutInputs = method === 'POST' && (status === 400 || status === 422);
      const refused = `the service refused ${asked} (${status})`;
      if (spellingHint === 'refused') {
        const pin = 'No spelling of the workflow field was accepted; --workflow-id-field pins one.';
        return explanation(refused, pin);
      }
      return explanation(refused, ...(isAboutInputs ? [CHECK] : []), ...(spellingHint ? [CHOOSE] : []));
    }
  }
}
