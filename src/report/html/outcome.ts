/** What a run came to, in words and in a tone; and all that the page says of it. */
import { type Exit, ExitCode } from '../../exit-code.js';
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

/** How it is coloured: over and well, still under way, in doubt or refused, failed. */
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
const INTERNAL_ERROR: Outcome = { label: 'defect of wfr', tone: 'doubt' };

const OUTCOME_BY_EXIT: ReadonlyMap<Exit, Outcome> = new Map([
  [ExitCode.runFailed, { label: 'failed', tone: 'bad' }],
  [ExitCode.stillRunning, { label: 'still running', tone: 'open' }],
  [ExitCode.unknownOutcome, { label: 'unknown outcome', tone: 'doubt' }],
  [ExitCode.unreachable, { label: 'unreachable', tone: 'doubt' }],
  [ExitCode.refused, { label: 'refused', tone: 'doubt' }],
  [ExitCode.notAuthorized, { label: 'not authorized', tone: 'doubt' }],
  [ExitCode.usage, { label: 'not sent', tone: 'doubt' }],
  [ExitCode.cannotWrite, { label: 'not written', tone: 'doubt' }],
] as const satisfies [Exit, Outcome][]);

/** Every outcome, in the order in which they are listed. */
export const OUTCOMES: readonly Outcome[] = [
  FINISHED,
  ACCEPTED,
  ...OUTCOME_BY_EXIT.values(),
  LOST,
  INTERRUPTED,
  INTERNAL_ERROR,
];

/** A run as the page shows it; all texts are inert. */
export interface Entry {
  /** The run's id, after the place of its row if it is one of a batch. */
  id: string;
  workflow: string;
  version: string;
  outcome: Outcome;
  /** The service's own word. */
  status: string;
  steps: string;
  /** Milliseconds since 1970. */
  started: number | undefined;
  /** Milliseconds. */
  duration: number;
  failingStep: string;
  /** Lines, joined with line feeds; empty where all went well. */
  message: string;
  succeeded: boolean;
}

/** What the page says of a run. */
export function toEntry(reported: ReportedRun): Entry {
  const { label, id, workflowId = '', run, started, duration } = reported;
  const lineOf = (text: string) => escapeUnencodable(sanitize(text));
  return {
    id: lineOf([label, id].filter((name) => name !== undefined).join(' · ')),
    workflow: lineOf(workflowId),
    version: lineOf(run?.versionName ?? ''),
    outcome: outcomeOf(reported),
    status: escapeUnencodable(statusOf(reported)),
    steps: stepsOf(reported),
    started,
    duration,
    failingStep: escapeUnencodable(failingStepOf(reported)),
    message: escapeUnencodable(messageOf(reported).join('\n')),
    succeeded: verdictOf(reported) === 'succeeded',
  };
}

function outcomeOf({ exit, run, isLost }: ReportedRun): Outcome {
  if (isLost) return LOST;
  if (typeof exit === 'string') return INTERRUPTED;
  if (exit === ExitCode.ok) return run === undefined || run.status === 'FINISHED' ? FINISHED : ACCEPTED;
  return OUTCOME_BY_EXIT.get(exit) ?? INTERNAL_ERROR;
}

/** Without the time that it took, so that what is alike reads alike. */
function messageOf(reported: ReportedRun): string[] {
  const isWaiting = reported.exit === ExitCode.stillRunning && reported.error === undefined;
  return isWaiting ? [`still ${statusOf(reported) || 'accepted'}; the run goes on`] : problemLines(reported);
}
