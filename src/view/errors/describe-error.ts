/** The one place where an error becomes words: what went wrong with what, why, and what to do next. */
import { formatDuration } from '../../text/duration.js';
import {
  InterruptedError,
  LostSightError,
  NetworkError,
  NoSuchRunError,
  NotTriggeredError,
  OutputError,
  RefusedError,
  type RunEvidence,
  UnknownOutcomeError,
  UnknownStatusError,
  UnreadableAnswerError,
  UsageError,
} from '../../errors.js';
import { FileChangedError, FileReadError, MissingTokenError, UnsavedDocumentError } from '../../local-errors.js';
import { shellCommand } from '../../text/shell-quote.js';
import { codeOf, describeSystemError, isExhaustion } from '../../platform/system-error.js';
import { explainFault } from './network-error.js';
import { explainRefusal } from './http-error.js';
import type { Explanation } from './error-description.js';
import { safeLine } from '../../text/sanitize.js';

/** The words for a foreseen error; undefined for a defect of wfr. Nothing in it is a secret. */
export function explain(error: unknown): Explanation | undefined {
  if (error instanceof UsageError) {
    return {
      what: error.problems.map((p) => safeLine(p)),
      quoted: error.quoted,
      next: error.hint === undefined ? [] : [`See: ${error.hint}`],
    };
  }
  if (error instanceof MissingTokenError) {
    return {
      what: [
        `no access token: looked for ${safeLine(error.lookedFor.join(', '))}`,
        ...(error.withheld === undefined ? [] : [safeLine(error.withheld)]),
      ],
      next: ['Set WFR_TOKEN, or give --token-file; --no-token sends none.'],
    };
  }
  if (error instanceof FileChangedError) {
    return {
      what: [`${safeLine(error.path)} changed while being read; no run was created`],
      next: ['Repeat the command once the file is complete.'],
    };
  }
  if (error instanceof FileReadError) {
    return {
      what: [
        `${safeLine(error.path)} cannot be read: ${describeSystemError(error.cause)}; no run was created`,
      ],
      next: [
        isExhaustion(error.cause)
          ? 'Run the same command again, with more open files (ulimit -n) or a smaller --concurrency.'
          : 'Repeat the command once it can be read.',
      ],
    };
  }
  if (error instanceof OutputError) {
    return explainOutput(error);
  }
  return explainService(error);
}

function explainOutput(error: OutputError): Explanation {
  const because = describeSystemError(error.cause);
  if (!(error instanceof UnsavedDocumentError)) {
    return { what: [`cannot write ${safeLine(error.what)}: ${because}`], next: [] };
  }
  const [why, remedy] =
    codeOf(error.cause) === 'EEXIST'
      ? ['it exists already', 'give --force to overwrite it']
      : [because, 'watch the run again once this is mended'];
  return {
    what: [`cannot save ${safeLine(error.what)}: ${why}`],
    next: [`Name another folder, or ${remedy}.`],
  };
}

/**
 * What went wrong and the service's own words, as text of one or more lines that is not inert yet. It stands beside the
 * id of the run, and is the same for all runs to which the same happened.
 */
export function errorText(error: unknown): string {
  const explanation = error instanceof LostSightError ? explainLostSight(error, 'the run') : explain(error);
  if (explanation === undefined) {
    return `a defect of wfr itself: ${error instanceof Error ? error.message : String(error)}`;
  }
  return [...explanation.what, ...(explanation.quoted ? [explanation.quoted] : [])].join('\n');
}

function explainService(error: unknown): Explanation | undefined {
  if (error instanceof RefusedError) return explainRefusal(error.refusal, error.spellingHint);
  if (error instanceof NoSuchRunError) {
    return {
      what: [`the service knows no run ${safeLine(error.id)} (404)`],
      quoted: error.refusal.message,
      next: [`Check the id, and the base URL: ${error.refusal.url}`],
    };
  }
  if (error instanceof NotTriggeredError) return explainNotTriggered(error);
  if (error instanceof UnknownOutcomeError) {
    return explainUnknownOutcome(error);
  }
  if (error instanceof LostSightError) return explainLostSight(error, `run ${safeLine(error.id)}`);
  if (error instanceof UnknownStatusError) {
    const status = safeLine(error.status);
    return {
      what: [`the status ${status} is unknown to wfr and has not changed for ${formatDuration(error.forMs)}`],
      next: ['Look at the service what it means; wfr may be too old for it.'],
    };
  }
  if (error instanceof InterruptedError) return explainInterruption(error);
  if (error instanceof NetworkError || error instanceof UnreadableAnswerError) return explainCause(error);
  return undefined;
}

/** The flag that re-sends after a 503 with Retry-After, where that was the cause; what it needs is part of the hint. */
export function resendHint({ cause }: UnknownOutcomeError): string[] {
  if (!(cause instanceof RefusedError)) return [];
  const { status, retryAfter } = cause.refusal;
  if (status !== 503 || retryAfter === undefined) return [];
  return [
    '--resend-503 sends such a request again: use it only if the operator of the service guarantees that a 503 with Retry-After created nothing.',
  ];
}

const LOOK_FIRST = 'Look at the service before you repeat the command: a second run may cost a second time.';

function explainUnknownOutcome(error: UnknownOutcomeError): Explanation {
  const { cause, evidence } = error;
  const why = explainCause(cause);
  return {
    what: ['the outcome is unknown: a run may have been created', ...why.what, ...evidenceLines(evidence)],
    quoted: why.quoted ?? evidence?.excerpt,
    next: [...adviceOn(evidence), LOOK_FIRST, ...why.next, ...resendHint(error)],
  };
}

/** What an unusable answer tells about the run. */
function evidenceLines(evidence: RunEvidence | undefined): string[] {
  const { ids = [], location } = evidence ?? {};
  return [
    ...ids.map((id) => `the answer names the id ${safeLine(id)}, which the service did not confirm`),
    ...(location === undefined ? [] : [`the answer points to ${safeLine(location)}`]),
  ];
}

function adviceOn(evidence: RunEvidence | undefined): string[] {
  const [id] = evidence?.ids ?? [];
  if (id === undefined) return [];
  const command = ['wfr', 'status', ...(id.startsWith('-') ? ['--'] : []), id];
  return [`To look for the run: ${shellCommand(command)}`];
}

function explainLostSight({ cause, seen, forMs }: LostSightError, subject: string): Explanation {
  const why = explainCause(cause);
  const forSome = forMs >= 1_000 ? ` for ${formatDuration(forMs)}` : '';
  const what = seen ? `${subject} could not be observed${forSome}` : `${subject} could not be read`;
  return { ...why, what: [what, ...why.what] };
}

function explainInterruption({ phase, evidence }: InterruptedError): Explanation {
  if (phase === undefined) return { what: ['interrupted'], next: [] };
  if (phase < 2) return { what: ['cancelled; no run was created'], next: [] };
  return {
    what: [
      'interrupted after the request had been sent: a run may have been created',
      ...evidenceLines(evidence),
    ],
    quoted: evidence?.excerpt,
    next: [...adviceOn(evidence), LOOK_FIRST],
  };
}

function explainNotTriggered({ cause, phase, attempts, progress, asked }: NotTriggeredError): Explanation {
  const why = explainCause(cause);
  const tries = attempts > 1 ? ` (${attempts} tries)` : '';
  const broke =
    phase === 1 && cause instanceof NetworkError ? ` at ${Math.floor(progress * 100)} % of the body` : '';
  const waits =
    asked === undefined
      ? []
      : [`It asks to wait ${formatDuration(asked)}, which is longer than wfr waits (5m).`];
  return {
    what: [...why.what.map((line) => `${line}${broke}${tries}`), 'no run was created'],
    quoted: why.quoted,
    next: [...waits, ...(why.next.length > 0 ? why.next : ['It is safe to repeat the command later.'])],
  };
}

function explainCause(cause: NetworkError | RefusedError | UnreadableAnswerError): Explanation {
  if (cause instanceof NetworkError) return explainFault(cause);
  if (cause instanceof RefusedError) return explainRefusal(cause.refusal, cause.spellingHint);
  const { status, contentType, excerpt, fields } = cause.facts;
  const held = fields === undefined ? '' : `; it has the fields ${listed(fields)}`;
  const kind = contentType === undefined ? '' : `, content type ${safeLine(contentType)}`;
  return {
    what: [`the answer (${status ?? 'no status'}${kind}) is not a run: ${safeLine(cause.reason)}${held}`],
    quoted: fields === undefined ? excerpt : undefined,
    next: /html/i.test(contentType ?? '')
      ? ['A web page answered: check the base URL, and the network for a sign-in page.']
      : [],
  };
}

/** The most names of fields that are shown. */
const MAX_FIELDS = 20;

function listed(fields: readonly string[]): string {
  const more = fields.length > MAX_FIELDS ? `… (${fields.length - MAX_FIELDS} more)` : [];
  return [...fields.slice(0, MAX_FIELDS).map(safeLine)].concat(more).join(', ') || '(none)';
}
