/** Turns a reported run into the entry that the page shows: its outcome, color and texts. */
import { type Exit, ExitCode } from '../../exit-code.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { sanitize } from '../../text/sanitize.js';
import {
  failingStepOf,
  problemLines,
  type ReportedRun,
  statusOf,
  stepsOf,
  verdictOf,
} from '../reported-run.js';
import { escapeUnencodable } from './markup.js';

/** CSS classes: succeeded, still running, uncertain or rejected, failed. */
export const TONES = ['good', 'open', 'doubt', 'bad'] as const;
export type Tone = (typeof TONES)[number];

export interface Outcome {
  label: string;
  tone: Tone;
}

const FINISHED: Outcome = { label: 'finished', tone: 'good' };
const ACCEPTED: Outcome = { label: 'accepted', tone: 'open' };
const LOST: Outcome = { label: 'lost', tone: 'doubt' };
const INTERRUPTED: Outcome = { label: 'interrupted', tone: 'doubt' };
const INTERNAL_ERROR: Outcome = { label: 'internal error', tone: 'doubt' };

const OUTCOME_BY_EXIT: ReadonlyMap<Exit, Outcome> = new Map([
  [ExitCode.runFailed, { label: 'failed', tone: 'bad' }],
  [ExitCode.stillRunning, { label: 'still running', tone: 'open' }],
  [ExitCode.unknownOutcome, { label: 'unknown outcome', tone: 'doubt' }],
  [ExitCode.unreachable, { label: 'unreachable', tone: 'doubt' }],
  [ExitCode.rejected, { label: 'rejected', tone: 'doubt' }],
  [ExitCode.unauthorized, { label: 'not authorized', tone: 'doubt' }],
  [ExitCode.usage, { label: 'not sent', tone: 'doubt' }],
  [ExitCode.outputNotWritten, { label: 'not written', tone: 'doubt' }],
] as const satisfies [Exit, Outcome][]);

/** Every outcome, in the order of the page's lists. */
export const OUTCOMES: readonly Outcome[] = [
  FINISHED,
  ACCEPTED,
  ...OUTCOME_BY_EXIT.values(),
  LOST,
  INTERRUPTED,
  INTERNAL_ERROR,
];

/** A run as the page shows it; all texts are sanitized. */
export interface Entry {
  /** The run's id; in a batch, after the row's label. */
  id: string;
  workflow: string;
  version: string;
  outcome: Outcome;
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
  succeeded: boolean;
}

export function toEntry(reported: ReportedRun): Entry {
  const { label, id, workflowId = '', run, started, duration } = reported;
  const toLine = (text: string) => escapeUnencodable(sanitize(text));
  return {
    id: toLine([label, id].filter((name) => name !== undefined).join(' · ')),
    workflow: toLine(workflowId),
    version: toLine(run?.versionName ?? ''),
    outcome: outcomeOf(reported),
    status: escapeUnencodable(statusOf(reported)),
    steps: stepsOf(reported),
    started,
    duration,
    failingStep: escapeUnencodable(failingStepOf(reported)),
    message: escapeUnencodable(withoutLabel(messageLines(reported).join('\n'), label && sanitize(label))),
    succeeded: verdictOf(reported) === 'succeeded',
  };
}

function outcomeOf({ exit, run, isLost }: ReportedRun): Outcome {
  if (isLost) return LOST;
  if (typeof exit === 'string') return INTERRUPTED;
  if (exit === ExitCode.ok) return run === undefined || run.status === 'FINISHED' ? FINISHED : ACCEPTED;
  return OUTCOME_BY_EXIT.get(exit) ?? INTERNAL_ERROR;
}

/** Omits the elapsed time, so that equal problems are grouped. */
function messageLines(reported: ReportedRun): string[] {
  const isWaiting = reported.exit === ExitCode.stillRunning && reported.error === undefined;
  return isWaiting
    ? [`still ${statusOf(reported) || 'accepted'}; the run continues`]
    : problemLines(reported);
}
