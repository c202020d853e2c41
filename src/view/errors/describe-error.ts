/** The one place where an error becomes words: what went wrong with what, why, and what to do next. */

import {
  FileChangedError,
  FileReadError,
  HttpError,
  InterruptedError,
  MissingTokenError,
  NetworkError,
  NoSuchRunError,
  NotTriggeredError,
  OutputError,
  type RunEvidence,
  UnknownOutcomeError,
  UnknownStatusError,
  UnreachableRunError,
  UnreadableResponseError,
  UnsavedDocumentError,
  UsageError,
} from '../../errors.js';
import { describeSystemError, errorCode, isResourceExhaustion } from '../../platform/system-error.js';
import { formatDuration } from '../../text/duration.js';
import { sanitize } from '../../text/sanitize.js';
import { shellCommand } from '../../text/shell-quote.js';
import type { ErrorDescription } from './error-description.js';
import { describeHttpError } from './http-error.js';
import { describeNetworkError } from './network-error.js';

/** The words for a foreseen error; undefined for a defect of wfr. Nothing in it is a secret. */
export function describeError(error: unknown): ErrorDescription | undefined {
  if (error instanceof UsageError) {
    return {
      summary: error.problems.map((p) => sanitize(p)),
      serverMessage: error.quoted,
      hints: error.hint === undefined ? [] : [`See: ${error.hint}`],
    };
  }
  if (error instanceof MissingTokenError) {
    return {
      summary: [
        `no access token: looked for ${sanitize(error.lookedFor.join(', '))}`,
        ...(error.withheld === undefined ? [] : [sanitize(error.withheld)]),
      ],
      hints: ['Set WFR_TOKEN, or give --token-file; --no-token sends none.'],
    };
  }
  if (error instanceof FileChangedError) {
    return {
      summary: [`${sanitize(error.path)} changed while being read; no run was created`],
      hints: ['Repeat the command once the file is complete.'],
    };
  }
  if (error instanceof FileReadError) {
    return {
      summary: [
        `${sanitize(error.path)} cannot be read: ${describeSystemError(error.cause)}; no run was created`,
      ],
      hints: [
        isResourceExhaustion(error.cause)
          ? 'Run the same command again, with more open files (ulimit -n) or a smaller --concurrency.'
          : 'Repeat the command once it can be read.',
      ],
    };
  }
  if (error instanceof OutputError) {
    return describeOutputError(error);
  }
  return describeServiceError(error);
}

function describeOutputError(error: OutputError): ErrorDescription {
  const because = describeSystemError(error.cause);
  if (!(error instanceof UnsavedDocumentError)) {
    return { summary: [`cannot write ${sanitize(error.what)}: ${because}`], hints: [] };
  }
  const [why, remedy] =
    errorCode(error.cause) === 'EEXIST'
      ? ['it exists already', 'give --force to overwrite it']
      : [because, 'watch the run again once this is mended'];
  return {
    summary: [`cannot save ${sanitize(error.what)}: ${why}`],
    hints: [`Name another folder, or ${remedy}.`],
  };
}

/**
 * What went wrong and the service's own words, as text of one or more lines that is not inert yet. It stands beside the
 * id of the run, and is the same for all runs to which the same happened.
 */
export function errorText(error: unknown): string {
  const explanation =
    error instanceof UnreachableRunError ? describeUnreachableRun(error, 'the run') : describeError(error);
  if (explanation === undefined) {
    return `a defect of wfr itself: ${error instanceof Error ? error.message : String(error)}`;
  }
  return [...explanation.summary, ...(explanation.serverMessage ? [explanation.serverMessage] : [])].join(
    '\n',
  );
}

function describeServiceError(error: unknown): ErrorDescription | undefined {
  if (error instanceof HttpError) return describeHttpError(error.info, error.spellingHint);
  if (error instanceof NoSuchRunError) {
    return {
      summary: [`the service knows no run ${sanitize(error.id)} (404)`],
      serverMessage: error.info.message,
      hints: [`Check the id, and the base URL: ${error.info.url}`],
    };
  }
  if (error instanceof NotTriggeredError) return describeNotTriggered(error);
  if (error instanceof UnknownOutcomeError) {
    return explainUnknownOutcome(error);
  }
  if (error instanceof UnreachableRunError) return describeUnreachableRun(error, `run ${sanitize(error.id)}`);
  if (error instanceof UnknownStatusError) {
    const status = sanitize(error.status);
    return {
      summary: [
        `the status ${status} is unknown to wfr and has not changed for ${formatDuration(error.forMs)}`,
      ],
      hints: ['Look at the service what it means; wfr may be too old for it.'],
    };
  }
  if (error instanceof InterruptedError) return describeInterruption(error);
  if (error instanceof NetworkError || error instanceof UnreadableResponseError) return describeCause(error);
  return undefined;
}

/** The flag that re-sends after a 503 with Retry-After, where that was the cause; what it needs is part of the hint. */
export function resendHint({ cause }: UnknownOutcomeError): string[] {
  if (!(cause instanceof HttpError)) return [];
  const { status, retryAfter } = cause.info;
  if (status !== 503 || retryAfter === undefined) return [];
  return [
    '--resend-503 sends such a request again: use it only if the operator of the service guarantees that a 503 with Retry-After created nothing.',
  ];
}

const LOOK_FIRST = 'Look at the service before you repeat the command: a second run may cost a second time.';

function explainUnknownOutcome(error: UnknownOutcomeError): ErrorDescription {
  const { cause, evidence } = error;
  const why = describeCause(cause);
  return {
    summary: [
      'the outcome is unknown: a run may have been created',
      ...why.summary,
      ...evidenceLines(evidence),
    ],
    serverMessage: why.serverMessage ?? evidence?.excerpt,
    hints: [...adviceOn(evidence), LOOK_FIRST, ...why.hints, ...resendHint(error)],
  };
}

/** What an unusable answer tells about the run. */
function evidenceLines(evidence: RunEvidence | undefined): string[] {
  const { ids = [], location } = evidence ?? {};
  return [
    ...ids.map((id) => `the answer names the id ${sanitize(id)}, which the service did not confirm`),
    ...(location === undefined ? [] : [`the answer points to ${sanitize(location)}`]),
  ];
}

function adviceOn(evidence: RunEvidence | undefined): string[] {
  const [id] = evidence?.ids ?? [];
  if (id === undefined) return [];
  const command = ['wfr', 'status', ...(id.startsWith('-') ? ['--'] : []), id];
  return [`To look for the run: ${shellCommand(command)}`];
}

function describeUnreachableRun(
  { cause, seen, unreachableMs }: UnreachableRunError,
  subject: string,
): ErrorDescription {
  const why = describeCause(cause);
  const forSome = unreachableMs >= 1_000 ? ` for ${formatDuration(unreachableMs)}` : '';
  const what = seen ? `${subject} could not be observed${forSome}` : `${subject} could not be read`;
  return { ...why, summary: [what, ...why.summary] };
}

function describeInterruption({ phase, evidence }: InterruptedError): ErrorDescription {
  if (phase === undefined) return { summary: ['interrupted'], hints: [] };
  if (phase < 2) return { summary: ['cancelled; no run was created'], hints: [] };
  return {
    summary: [
      'interrupted after the request had been sent: a run may have been created',
      ...evidenceLines(evidence),
    ],
    serverMessage: evidence?.excerpt,
    hints: [...adviceOn(evidence), LOOK_FIRST],
  };
}

function describeNotTriggered({
  cause,
  phase,
  attempts,
  progress,
  retryAfter,
}: NotTriggeredError): ErrorDescription {
  const why = describeCause(cause);
  const tries = attempts > 1 ? ` (${attempts} tries)` : '';
  const broke =
    phase === 1 && cause instanceof NetworkError ? ` at ${Math.floor(progress * 100)} % of the body` : '';
  const waits =
    retryAfter === undefined
      ? []
      : [`It asks to wait ${formatDuration(retryAfter)}, which is longer than wfr waits (5m).`];
  return {
    summary: [...why.summary.map((line) => `${line}${broke}${tries}`), 'no run was created'],
    serverMessage: why.serverMessage,
    hints: [...waits, ...(why.hints.length > 0 ? why.hints : ['It is safe to repeat the command later.'])],
  };
}

function describeCause(cause: NetworkError | HttpError | UnreadableResponseError): ErrorDescription {
  if (cause instanceof NetworkError) return describeNetworkError(cause);
  if (cause instanceof HttpError) return describeHttpError(cause.info, cause.spellingHint);
  const { status, contentType, excerpt, fields } = cause.facts;
  const held = fields === undefined ? '' : `; it has the fields ${listed(fields)}`;
  const kind = contentType === undefined ? '' : `, content type ${sanitize(contentType)}`;
  return {
    summary: [`the answer (${status ?? 'no status'}${kind}) is not a run: ${sanitize(cause.reason)}${held}`],
    serverMessage: fields === undefined ? excerpt : undefined,
    hints: /html/i.test(contentType ?? '')
      ? ['A web page answered: check the base URL, and the network for a sign-in page.']
      : [],
  };
}

/** The most names of fields that are shown. */
const MAX_FIELDS = 20;

function listed(fields: readonly string[]): string {
  const more = fields.length > MAX_FIELDS ? `… (${fields.length - MAX_FIELDS} more)` : [];
  return [...fields.slice(0, MAX_FIELDS).map(sanitize)].concat(more).join(', ') || '(none)';
}
