/** Turns a reported run into the entry that the page shows: its outcome, color and texts. */
import { ExitCode } from '../../exit-code.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { sanitize } from '../../text/sanitize.js';
import { OUTCOMES, type Outcome, type Tone, toneOf } from '../../view/outcome.js';
import { continuesText } from '../../view/progress/run-progress.js';
import {
  failingStepOf,
  outcomeOf,
  problemLines,
  type ReportedRun,
  statusOf,
  stepsOf,
  verdictOf,
} from '../reported-run.js';
import { escapeUnencodable } from './markup.js';

/** An outcome; its tone is the CSS class. */
export interface PageOutcome {
  label: Outcome;
  tone: Tone;
}

/** Every outcome, in the order of the page's lists. */
export const PAGE_OUTCOMES: readonly PageOutcome[] = OUTCOMES.map((label) => ({
  label,
  tone: toneOf(label),
}));

/** A run as the page shows it; all texts are sanitized. */
export interface Entry {
  /** Its position on the page, from 1. */
  number: number;
  /** In a batch: identifies the row; else empty. */
  label: string;
  /** Empty if the service never returned it. */
  id: string;
  workflow: string;
  /** The names of the inputs; empty if unknown. */
  inputs: string;
  version: string;
  outcome: PageOutcome;
  /** The service's status. */
  status: string;
  steps: string;
  /** Milliseconds since 1970. */
  started: number | undefined;
  /** Milliseconds. */
  duration: number;
  failingStep: string;
  /** May have several lines; empty if the run succeeded. */
  message: string;
  /** The id of the request that failed; empty if unknown. */
  requestId: string;
  /** JSON text (UTF-8), if there is one. */
  output: Uint8Array | undefined;
  succeeded: boolean;
}

/** `index` is the position on the page, from 0. */
export function toEntry(reported: ReportedRun, index: number): Entry {
  const { label, id = '', workflowId = '', inputs = [], run, started, duration, requestId = '' } = reported;
  const toLine = (text: string) => escapeUnencodable(sanitize(text));
  return {
    number: index + 1,
    label: toLine(label ?? ''),
    id: toLine(id),
    workflow: toLine(workflowId),
    inputs: toLine(inputs.join(', ')),
    version: toLine(run?.versionName ?? ''),
    outcome: pageOutcomeOf(reported),
    status: escapeUnencodable(statusOf(reported)),
    steps: stepsOf(reported),
    started,
    duration,
    failingStep: escapeUnencodable(failingStepOf(reported)),
    message: escapeUnencodable(withoutLabel(messageLines(reported).join('\n'), label && sanitize(label))),
    requestId: toLine(requestId),
    output: run?.status === 'FINISHED' ? run.output : undefined,
    succeeded: verdictOf(reported) === 'succeeded',
  };
}

function pageOutcomeOf(reported: ReportedRun): PageOutcome {
  // The same object for the same outcome: entries are counted by it.
  return PAGE_OUTCOMES[OUTCOMES.indexOf(outcomeOf(reported))] as PageOutcome;
}

/** Omits the elapsed time, so that equal problems are grouped. */
function messageLines(reported: ReportedRun): string[] {
  const isWaiting = reported.exit === ExitCode.stillRunning && reported.error === undefined;
  return isWaiting
    ? [`still ${statusOf(reported) || 'accepted'}; the run ${continuesText(reported.run)}`]
    : problemLines(reported);
}
