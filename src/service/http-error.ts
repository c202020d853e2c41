/** The error of a response with another status than 2xx: what it means, and how to fix it. */
import { type ErrorResponse, WfrError } from '../errors.js';
import { formatBytes } from '../text/quantity.js';
import { isUuid } from '../text/url.js';

export interface HttpErrorInfo extends ErrorResponse {
  method: 'POST' | 'GET';
  /** The request's URL, without user info. */
  url: string;
  status: number;
  /** The target of a redirect, without what may be secret. */
  location?: string | undefined;
  /** Whether the target is below `{base}/runs/`, so that it may be the run that was created. */
  isRunLocation?: boolean | undefined;
  /** Length of the request's body in bytes. */
  bodyBytes?: number | undefined;
  /** The workflow to run, of a trigger. */
  workflowId?: string | undefined;
  /** The names of the inputs that were sent. */
  inputs?: readonly string[] | undefined;
  /** The source of the token that was sent, such as WFR_TOKEN. */
  tokenSource?: string | undefined;
}

/** The service responded with a status other than 2xx. */
export class HttpError extends WfrError {
  constructor(
    readonly info: HttpErrorInfo,
    /** `rejected`: every variant of the workflow's field was rejected. `possible`: the variant may be the reason. */
    variantHint?: 'rejected' | 'possible',
  ) {
    const { status, message, requestId, retryAfter } = info;
    const code = status === 401 ? 'unauthorized' : status === 403 ? 'forbidden' : 'rejected';
    const [summary, ...hints] = httpErrorTexts(info, variantHint);
    super(code, [summary], {
      serverMessage: message,
      hints,
      isTemporary: status === 408 || status === 425 || status === 429 || status >= 500,
      response: { status, message, requestId, retryAfter },
    });
  }
}

/** Returns the summary, then the hints. */
function httpErrorTexts(
  info: HttpErrorInfo,
  variantHint: 'rejected' | 'possible' | undefined,
): [summary: string, ...hints: string[]] {
  const { method, status, url, bodyBytes, location, tokenSource } = info;
  const request = method === 'POST' ? 'the trigger' : 'the request';
  if (status >= 300 && status <= 399)
    return [
      `the service redirects ${request} to ${location ?? 'nowhere'} (${status}); wfr does not follow redirects`,
      info.isRunLocation
        ? 'The target may be the run that was created.'
        : "Set the base URL to the service's own address.",
    ];
  if (status === 401 || status === 403)
    return [
      tokenSource === undefined
        ? `the service requires an access token (${status}), and none was sent`
        : `the service rejected the access token (${status}); it came from ${tokenSource}`,
      tokenSource === undefined
        ? 'Set WFR_TOKEN or --token-file to a token with permission for this.'
        : 'Replace it with a token that has permission for this.',
    ];
  if (status === 404) {
    const problem = method === 'POST' ? 'does not know the workflow, or has' : 'has';
    return [`the service ${problem} nothing at ${url} (404)`, workflowHint(info)];
  }
  if (status === 413)
    return [
      `the service rejected a body of ${formatBytes(bodyBytes ?? 0)} as too large (413)`,
      'Send smaller documents, or ask the operator of the service to raise the limit.',
    ];
  if (status >= 500 || status === 408) return [`the service answered ${request} with an error (${status})`];
  return [`the service rejected ${request} (${status})`, ...rejectionHints(info, variantHint)];
}

/** A name that a profile would resolve is sent as it is where there is none. */
function workflowHint(info: HttpErrorInfo): string {
  const { workflowId = '' } = info;
  if (workflowId === '' || isUuid(workflowId)) return `Check the workflow, and the base URL: ${baseOf(info)}`;
  return `"${workflowId}" is no UUID; names of workflows come from a profile of the config file: see wfr help config`;
}

/** Returns the base URL of a request. */
export function baseOf({ url }: HttpErrorInfo): string {
  return url.replace(/\/runs(\/[^/]*)?$/, '');
}

/** What helps where a server wants a client certificate. */
export const CLIENT_CERTIFICATE_HINT = 'Set certFile and keyFile in a profile; see wfr help config.';

function rejectionHints(info: HttpErrorInfo, variantHint: 'rejected' | 'possible' | undefined): string[] {
  const { method, status, message = '' } = info;
  // nginx answers 400 where others end the handshake.
  if (status === 400 && /\bSSL certificate\b/i.test(message)) return [CLIENT_CERTIFICATE_HINT];
  if (variantHint === 'rejected')
    return ['No spelling of the workflow field was accepted; --workflow-id-field pins one.'];
  return [
    ...(method === 'POST' && (status === 400 || status === 422) ? inputHints(info, status) : []),
    ...(variantHint === 'possible'
      ? [
          'If the service accepts only one spelling of the workflow field, choose it with --workflow-id-field.',
        ]
      : []),
  ];
}

/** A 400 may come from a server that is not the service; a 422 has understood the request. */
const INPUT_HINTS = {
  400: 'Check the base URL, the workflow and the inputs; wfr run --dry-run shows what would be sent.',
  422: 'wfr run --dry-run shows what would be sent; to have inputs checked first, declare them: wfr help config',
};

/** Says what may be wrong with the inputs, and which they were where the message is about them. */
function inputHints({ message = '', inputs = [] }: HttpErrorInfo, status: 400 | 422): string[] {
  const words: readonly string[] = message.match(/[\p{L}\p{N}_-]+/gu) ?? [];
  if (![...inputs, 'input', 'inputs'].some((name) => words.includes(name))) return [INPUT_HINTS[status]];
  const sent =
    inputs.length === 0
      ? 'No input was sent; see wfr help inputs.'
      : `Inputs that were sent: ${inputs.join(', ')}.`;
  return [sent, INPUT_HINTS[status]];
}
