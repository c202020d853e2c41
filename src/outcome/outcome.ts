/**
 * How one run or row stands, as plain data, and all that follows from it: one record, one table of states. Exit code, word,
 * color and texts are functions of these, for the screen, for programs and for every report.
 */
import { type Facts, stateOfError } from '../errors.js';
import { type ErrorCode, type Exit, ExitCode } from '../exit-code.js';
import { hasEnded, isKnownStatus, type Run } from '../service/run.js';
import { formatDuration } from '../text/quantity.js';
import { ROW_LABEL } from '../text/row-label.js';
import { sanitize, sanitizeLines } from '../text/sanitize.js';

/** How good a state is: succeeded, still open, uncertain or not triggered, failed. */
export type Tone = 'good' | 'open' | 'doubt' | 'bad';

interface StateFacts {
  exit: ExitCode;
  /** By default `doubt`. */
  tone?: Tone;
  /** That of a run without an error of its own; undefined if the state is no failure, or always has an error. */
  code?: ErrorCode;
}

/** Every state, in the order in which they are listed. */
const STATE_TABLE = {
  finished: { exit: ExitCode.ok, tone: 'good' },
  failed: { exit: ExitCode.runFailed, tone: 'bad', code: 'run-failed' },
  /** The service answered no; nothing was created. */
  rejected: { exit: ExitCode.rejected },
  /** The service rejected the access token. */
  unauthorized: { exit: ExitCode.unauthorized },
  /** The row or the command is wrong; nothing was sent. */
  invalid: { exit: ExitCode.usage },
  /** The row may be a changed one that was sent before; it is not sent without a flag. */
  held: { exit: ExitCode.usage },
  /** No request could be made or answered; nothing was created. */
  unreachable: { exit: ExitCode.unreachable },
  /** A run may exist. */
  unknown: { exit: ExitCode.unknownOutcome },
  /** The service no longer knows the run. */
  lost: { exit: ExitCode.unreachable },
  /** The service accepted the run, and nobody waits for its end. */
  accepted: { exit: ExitCode.ok, tone: 'open' },
  running: { exit: ExitCode.stillRunning, tone: 'open', code: 'still-running' },
  /** Not sent yet, by choice or because wfr stopped. */
  waiting: { exit: ExitCode.stillRunning },
  /** No longer in the table; how it ended touches nothing. */
  gone: { exit: ExitCode.ok, tone: 'open' },
  'no value': { exit: ExitCode.noSuchValue },
  'not written': { exit: ExitCode.outputNotWritten },
  interrupted: { exit: ExitCode.internalError },
  'internal error': { exit: ExitCode.internalError },
} as const satisfies Record<string, StateFacts>;

export type State = keyof typeof STATE_TABLE;

export const STATES: Readonly<Record<State, StateFacts>> = STATE_TABLE;

/** Returns the word that users see for a state: its name, but for a token that was rejected. */
export function wordOf(state: State): string {
  return state === 'unauthorized' ? 'rejected' : state;
}

/** Every word, in the order in which they are listed, with its tone. */
export const WORDS: ReadonlyMap<string, Tone> = new Map(
  (Object.keys(STATES) as State[]).map((state) => [wordOf(state), STATES[state].tone ?? 'doubt']),
);

/** Returns the sum of the counts of each word, or what stands for one, if there are any: first of those in `order`. */
export function countWords<Word = string>(
  counts: Iterable<readonly [word: Word, count: number]>,
  order: Iterable<Word> = WORDS.keys() as Iterable<never>,
): (readonly [word: Word, count: number])[] {
  const sums = new Map([...order].map((word) => [word, 0]));
  for (const [word, count] of counts) sums.set(word, (sums.get(word) ?? 0) + count);
  return [...sums].filter(([, sum]) => sum > 0);
}

/** Runs that are listed at most for programs. */
export const MAX_LISTED_RUNS = 1_000;

/** What is known of a run before the service has responded: each of its outcomes has it. */
export interface Subject {
  /** Undefined if the service never returned it. */
  id?: string | undefined;
  /** Undefined for a run that was only watched, as a Run does not name its workflow. */
  workflowId?: string | undefined;
  /** The names of its inputs, if known. */
  inputs?: readonly string[] | undefined;
}

/** What is known of one run or row. */
export interface Outcome extends Subject {
  state: State;
  /** In a batch: the row's number, from 1. */
  row?: number;
  /** In a batch: the row's file and line, such as `rows.csv:12`, or the path of its document. */
  label?: string | undefined;
  /** The name of its workflow in the profile, if it has one. */
  workflowName?: string | undefined;
  /** The page of the run, for people, if it has one. */
  page?: string | undefined;
  /** The last response for it. */
  run?: Run | undefined;
  /** What ended the work on it, or why there is no run. */
  error?: Facts | undefined;
  /** Milliseconds since 1970, if known: when the duration begins. */
  startedAt?: number | undefined;
  /** Milliseconds since it was accepted or first polled, undefined if nobody saw it end; without a run, since the command began. */
  durationMs?: number | undefined;
}

/** Returns the state of a run that is watched no longer, by what stopped the watching, else by its status. */
export function stateOfRun(run: Run | undefined, error?: Facts): State {
  if (error) return stateOfError(error);
  return endOf(run) ?? 'running';
}

/** Returns the state of a run that has ended, which has the name of its status; undefined while the run goes on. */
export function endOf(run: Run | undefined) {
  return hasEnded(run) ? (run.status.toLowerCase() as Lowercase<typeof run.status>) : undefined;
}

/** Returns the exit for one run or row. */
export function exitOf({ state, error }: Pick<Outcome, 'state' | 'error'>): Exit {
  return error?.signal ?? STATES[state].exit;
}

/** Returns the exit of an error that ended a command. */
export function exitOfError(error: Facts): Exit {
  return exitOf({ state: stateOfError(error), error });
}

/** Returns whether a run or row ended well, or goes on and is not waited for. */
export function isSuccess({ state }: Pick<Outcome, 'state'>): boolean {
  return STATES[state].exit === ExitCode.ok;
}

/** Returns the row's label, which stays the same when the row is sent again; else the run's id, else the workflow's. */
export function nameOf({ label, id, workflowId }: Outcome): string {
  return sanitize(label ?? id ?? workflowId ?? 'unknown');
}

/** Returns the table of a row by its label, such as `rows.csv:` of `rows.csv:12 (ACME)`; empty if it has none. */
export const tableOf = (label: string) => ROW_LABEL.exec(label)?.[0] ?? '';

/** Returns the table that all labels have; empty if they have several, or none. */
export function commonTable(labels: readonly string[]): string {
  const [table = '', another] = new Set(labels.map(tableOf));
  return another === undefined ? table : '';
}

/** Returns the label of a row without its table, such as `line 12 (ACME)`; one without a table is left unchanged. */
export const withoutTable = (label: string) => label.replace(ROW_LABEL, 'line ');

/** Returns progress such as `2 of 4`; empty if unknown. */
export function stepsOf(run: Run | undefined): string {
  const { done, total } = countSteps(run);
  return total ? `${done} of ${total}` : '';
}

/** Returns the step that failed, sanitized; empty if none did. */
export function failingStepOf({ run }: Outcome): string {
  return run?.status === 'FAILED' ? sanitize(run.error?.step ?? '') : '';
}

/** Why a run did not succeed, and at which step it failed, if known. */
export type Failure = Partial<NonNullable<Run['error']>>;

/** Returns a failure as `step: message`, or what is known of it, on one line; not sanitized. */
export function failureText({ step, message }: { step?: unknown; message?: unknown } = {}): string {
  return [step, message]
    .filter(Boolean)
    .join(': ')
    .replace(/\s*\n\s*/g, '; ');
}

/** Returns the service's message of a run that failed, or that it gave none; not sanitized. */
export function failureMessage(run: Run | undefined): string {
  return run?.error?.message || '(the service gave no message)';
}

/** Returns why the run did not succeed, sanitized, in one or more lines; none if it did. */
export function problemLines(outcome: Outcome): string[] {
  const { state, error, run, durationMs } = outcome;
  if (error) return sanitizeLines(error.text);
  if (isSuccess(outcome)) return [];
  if (state === 'running') return [sanitize(stillText(run, durationMs))];
  if (state === 'waiting') return ['it was not sent'];
  return sanitizeLines(failureMessage(run));
}

/** Returns the problem's lines after one for the failed step, if known. */
export function problemLinesWithStep(outcome: Outcome): string[] {
  const step = failingStepOf(outcome);
  return [...(step === '' ? [] : [`failed at step ${step}`]), ...problemLines(outcome)];
}

/** Returns a line that names the request that failed, if its id is known. */
export function requestLines({ error }: Outcome): string[] {
  const { requestId } = error?.response ?? {};
  return requestId === undefined ? [] : [`request id: ${sanitize(requestId)}`];
}

/**
 * Returns `still RUNNING (1 of 4 steps) after 12s; the run continues`, not sanitized, for a run that wfr stopped waiting for.
 */
export function stillText(run: Run | undefined, durationMs: number | undefined, subject = 'the run'): string {
  const time = durationMs === undefined ? '' : ` after ${formatDuration(durationMs)}`;
  const steps = durationMs === undefined ? '' : stepsText(run);
  const status = run ? (run.status ?? 'accepted') : 'not seen';
  return `still ${status}${steps && ` (${steps})`}${time}; ${subject} ${continuesText(run)}`;
}

/** Returns whether a run that has not ended `continues`: of one that was not seen, or an unknown status, that is not known. */
export function continuesText(run: Run | undefined): string {
  return isKnownStatus(run?.status) ? 'continues' : 'may still be running';
}

/** Returns the status, sanitized; empty if no run was seen. */
export function statusText(run: Run | undefined): string {
  return run ? sanitize(run.status ?? 'accepted') : '';
}

/** Returns `2 of 4 steps`, or nothing where the number of steps is not valid. */
export function stepsText(run: Run | undefined): string {
  const steps = stepsOf(run);
  return steps && `${steps} ${run?.steps === 1 ? 'step' : 'steps'}`;
}

/** Returns the number of steps, and how many have completed; none where the first is not a positive integer. */
export function countSteps(run: Run | undefined): { done: number; total: number } {
  const { steps = 0, stepsCompleted = 0 } = run ?? {};
  const total = Number.isSafeInteger(steps) ? Math.max(steps, 0) : 0;
  return { done: Math.min(Math.max(Math.trunc(stepsCompleted), 0), total), total };
}
