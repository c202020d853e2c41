/** The error of a response with another status than 2xx: what it means, and how to fix it. */
import { type ErrorResponse, WfrError } from '../errors.js';
import type { ErrorCode } from '../exit-code.js';
import { formatBytes } from '../text/quantity.js';
import { isUuid } from '../text/url.js';

export interface HttpErrorInfo extends ErrorResponse {
  /** The request's URL, without user info. */
  url: string;
  status: number;
  /** The target of a redirect, without what may be secret. */
  location?: string | undefined;
  /** Whether the target is below `{base}/runs/`, so that it may be the run that was created. */
  isRunLocation?: boolean | undefined;
  /** What was requested: a run, or to run a workflow with a body. */
  request: { runId: string } | { workflowId: string; length: number };
  /** The source of the token that was sent, such as WFR_TOKEN. */
  tokenSource?: string | undefined;
}

/** The service responded with a status other than 2xx. */
export class HttpError extends WfrError {
  constructor(readonly info: HttpErrorInfo) {
    const { status, message } = info;
    const [summary, ...hints] = httpErrorTexts(info);
    super(codeOf(info), [summary], {
      serverMessage: message,
      hints,
      isTemporary: [408, 425, 429].includes(status) || status >= 500,
      response: info,
    });
  }
}

function codeOf({ status, request }: HttpErrorInfo): ErrorCode {
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  return status === 404 && 'runId' in request ? 'no-such-run' : 'rejected';
}

/** Matches what may be meant as a UUID, with fewer or more characters. */
const MAY_BE_UUID = /^(?!.{36}$)[\da-f-]{30,}$/i;

/** Returns the summary, then the hints. */
function httpErrorTexts(info: HttpErrorInfo): [summary: string, ...hints: string[]] {
  const { status, url, location, tokenSource, request, message = '' } = info;
  const isTrigger = 'workflowId' in request;
  const what = isTrigger ? 'the trigger' : 'the request';
  if (status <= 399)
    return [
      `the service redirects ${what} to ${location ?? 'nowhere'} (${status}); wfr does not follow redirects`,
      info.isRunLocation
        ? 'The target may be the run that was created.'
        : "Set the base URL to the service's own address.",
    ];
  if (status === 401 || status === 403) {
    const valid = status === 401 ? 'a valid token' : 'a token that has permission for this';
    return tokenSource === undefined
      ? [
          `the service requires an access token (${status}), and none was sent`,
          `Set WFR_TOKEN or --token-file to ${valid}.`,
        ]
      : [
          `the service rejected the access token (${status}); it came from ${tokenSource}`,
          `Replace it with ${valid}.`,
        ];
  }
  if (status === 404) {
    const base = url.replace(/\/runs(\/[^/]*)?$/, '');
    // What the history knows of its id replaces this, unless the run exists.
    if (!isTrigger) return [`the service has no run ${request.runId} (404)`, `Check the base URL: ${base}`];
    // A server that has nothing there answers so too, but does not name the workflow.
    const { workflowId } = request;
    const orNothing = message.includes(workflowId) ? '' : `, or has nothing at ${url}`;
    // A digit may have been lost, or be one too many.
    const wrong = MAY_BE_UUID.test(workflowId)
      ? `"${workflowId}" has ${workflowId.length} characters, a UUID 36.`
      : // A name that a profile would resolve is sent as it is where there is none.
        `"${workflowId}" is neither a UUID nor a URL with one; workflow names come from a profile: see wfr help config`;
    return [
      `the service does not know the workflow${orNothing} (404)`,
      isUuid(workflowId) ? `Check the workflow, and the base URL: ${base}` : wrong,
    ];
  }
  if (status === 413 && isTrigger)
    return [`the service rejected a body of ${formatBytes(request.length)} as too large (413)`];
  if (status >= 500 || status === 408) return [`the service answered ${what} with an error (${status})`];
  const summary = `the service rejected ${what} (${status})`;
  if (!isTrigger || !rejectsBody(info)) return [summary];
  // A message about inputs alone does not doubt the workflow.
  if (/\binputs\b/i.test(message) && !/wor(fk|kf)low/i.test(message)) return [summary];
  return [
    summary,
    'wfr run --dry-run shows what would be sent. If the field of the workflow is wrong, choose it with --workflow-id-field.',
  ];
}

/** Returns whether the service rejected what a request has. */
export function rejectsBody({ status }: ErrorResponse): boolean {
  return status === 400 || status === 422;
}

const NAMES_FIELD = /wor(fk|kf)low_?id/i;
const UNWANTED_FIELD =
  /\b(unknown|unexpected|additional|unrecogni[sz]ed|extra(neous)?)\b.{0,40}\b(fields?|propert(y|ies)|keys?|members?|attributes?|parameters?)\b/i;

/**
 * Returns whether an error says that the variant of the field is wrong: the message of a 400 or 422 names the field, or
 * mentions unknown fields. Only then is another variant sent, because any other error may come after a run was created.
 */
export function blamesField({ info }: HttpError): boolean {
  const { message = '' } = info;
  const isAboutField = UNWANTED_FIELD.test(message) && !/\binputs?\b/i.test(message);
  return rejectsBody(info) && (NAMES_FIELD.test(message) || isAboutField);
}
