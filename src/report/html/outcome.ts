/** Turns a reported run into the entry that the page shows: its outcome, color and texts. */
import {
  endOf,
  failingStepOf,
  type Outcome,
  problemLines,
  statusOf,
  stepsOf,
  type Tone,
  verdictOf,
  WORDS,
  wordOf,
} from '../../outcome/outcome.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { sanitize } from '../../text/sanitize.js';
import { escapeUnencodable } from './markup.js';

/** An outcome; its tone is the CSS class. */
export interface PageOutcome {
  label: string;
  tone: Tone;
}

/** Every outcome, in the order of the page's lists. */
export const PAGE_OUTCOMES: readonly PageOutcome[] = [...WORDS].map(([label, tone]) => ({ label, tone }));

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
  /** Milliseconds; undefined if the end of the run was not observed. */
  duration: number | undefined;
  failingStep: string;
  /** May have several lines; empty if the run succeeded. */
  message: string;
  /** The id of the request that failed; empty if unknown. */
  requestId: string;
  /** The page of the run; empty if it has none. */
  page: string;
  /** JSON text (UTF-8), if there is one. */
  output: Uint8Array | undefined;
  succeeded: boolean;
}

/** `index` is the position on the page, from 0. */
export function toEntry(outcome: Outcome, index: number): Entry {
  const { label, id = '', workflowId = '', inputs = [], run, state, startedAt, durationMs, error } = outcome;
  const toLine = (text: string) => escapeUnencodable(sanitize(text));
  // Without the time it took, so that equal problems are grouped.
  const message = problemLines(outcome, { elapsed: false }).join('\n');
  return {
    number: index + 1,
    label: toLine(label ?? ''),
    id: toLine(id),
    workflow: toLine(workflowId),
    inputs: toLine(inputs.join(', ')),
    version: toLine(run?.versionName ?? ''),
    // The same object for the same outcome: entries are counted by it.
    outcome: PAGE_OUTCOMES.find((known) => known.label === wordOf(state)) as PageOutcome,
    status: escapeUnencodable(statusOf(outcome)),
    steps: stepsOf(outcome),
    started: startedAt,
    duration: endOf(run?.status) === undefined ? undefined : durationMs,
    failingStep: escapeUnencodable(failingStepOf(outcome)),
    message: escapeUnencodable(withoutLabel(message, label && sanitize(label))),
    requestId: toLine(error?.response?.requestId ?? ''),
    page: outcome.page ?? '',
    // Read only where it is shown: all outputs of a batch may not fit into memory.
    get output() {
      return run?.status === 'FINISHED' ? run.output : undefined;
    },
    succeeded: verdictOf(outcome) === 'succeeded',
  };
}
