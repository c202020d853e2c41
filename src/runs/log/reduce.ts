/** What the events of a row mean, and what to do with a row: the only place that decides both. Pure functions. */
import { type Facts, stateOfError, WfrError } from '../../errors.js';
import { endOf, type Outcome } from '../../outcome/outcome.js';
import type { Run } from '../../service/run.js';
import type { RecordedError, RowEvent } from './events.js';

/** When a row may be sent (again): at once, never, watched instead, or with a flag. */
export type Again = 'send' | 'watch' | 'skip' | 'resend-unknown' | 'retry-failed' | 'send-changed';

/** Every state of a row, and when it is sent again. */
export const ROW_STATES = {
  waiting: 'send',
  invalid: 'send',
  unauthorized: 'send',
  unreachable: 'send',
  rejected: 'retry-failed',
  unknown: 'resend-unknown',
  running: 'watch',
  lost: 'retry-failed',
  held: 'send-changed',
  /** No longer in the table, in whatever state it was recorded, unless its run goes on or may exist. */
  gone: 'skip',
  finished: 'skip',
  failed: 'retry-failed',
} as const satisfies Record<string, Again>;

export type RowState = keyof typeof ROW_STATES;

/** Returns whether no run of a row exists or may exist, so that its inputs may change. */
export function hasNoRun(state: RowState): boolean {
  return ROW_STATES[state] === 'send' || state === 'rejected' || state === 'held';
}

/** Returns whether no run of any row exists or may exist, of how many rows are in each state. */
export function haveNoRuns(counts: Iterable<readonly [state: RowState, count: number]>): boolean {
  return [...counts].every(([state, count]) => count === 0 || hasNoRun(state));
}

/** What is known of a row at a time. */
export interface KnownOfRow {
  state: RowState;
  /** The digests of the inputs that were sent last, in the file of `run --once`. */
  digests?: Readonly<Record<string, string>> | undefined;
  error?: RecordedError | undefined;
  id?: string | undefined;
  run?: Run | undefined;
  /** Milliseconds since 1970. */
  sentAt?: number | undefined;
  acceptedAt?: number | undefined;
  endedAt?: number | undefined;
}

/** How a row stands, and how it stood: a `Known` is what is known of it at a time. */
export interface Standing<Known> {
  now: Known;
  /** What an attempt without a run restores. */
  before?: Known | undefined;
  /** The run that did not succeed before all attempts that are unknown: what is so if none of them has created a run. */
  settled?: Known | undefined;
}

/** Returns what an event at `time` (ms since 1970) makes of a row. `keep` returns what is kept of what is known from then on. */
export function transition<Known extends KnownOfRow>(
  standing: Standing<Known>,
  event: RowEvent,
  keep: (known: KnownOfRow) => Known,
  time?: number,
): Standing<Known> {
  const { now, before, settled } = standing;
  const { state, digests, sentAt, error } = now;
  switch (event.event) {
    case 'recorded':
      if (event.held === undefined) return standing;
      return { now: keep({ state: 'held', error: { code: 'usage', reason: event.held } }) };
    case 'released':
      return state === 'held' || state === 'rejected' ? { now: keep({ state: 'waiting' }) } : standing;
    case 'uncreated':
      return state === 'unknown' ? { now: settled ?? keep({ state: 'waiting' }) } : standing;
    case 'intent':
      // An attempt that creates nothing restores the state of a row that is sent again only with a flag.
      if (state === 'unknown') return { now, before: now, settled };
      if (ROW_STATES[state] !== 'retry-failed') return { now: keep({ state: 'waiting' }) };
      return { now, before: now, settled: hasNoRun(state) ? undefined : now };
    case 'sent': {
      const earlier = state === 'unknown' ? error : undefined;
      const sent = keep({ state: 'unknown', digests: event.inputs, sentAt: time, error: earlier });
      return { now: sent, before, settled };
    }
    case 'unknown':
      return { now: keep({ state: 'unknown', digests, sentAt, error: event }), before, settled };
    case 'accepted':
      return { now: keep({ state: 'running', digests, sentAt, id: event.id, acceptedAt: time }) };
    case 'refused': {
      const refusal = stateOfError({ code: event.code });
      // A signal or the end of the batch may have kept a row from being sent, which is no failure of its own.
      const known: KnownOfRow =
        refusal in ROW_STATES ? { state: refusal as RowState, error: event } : { state: 'waiting' };
      return { now: before ?? keep(known), before, settled };
    }
    case 'lost':
      return { now: keep({ ...now, state: 'lost' }) };
    case 'ended': {
      const { run, late } = event;
      const state = endOf(run) ?? 'failed';
      return { now: keep({ ...now, state, run, endedAt: late ? undefined : time, error: undefined }) };
    }
  }
}

/** A row: how it stands, and what it is called. */
export interface RowRecord extends Standing<KnownOfRow> {
  label?: string | undefined;
  /** The names of its inputs. */
  inputs?: readonly string[] | undefined;
}

export const NEW_ROW: RowRecord = { now: { state: 'waiting' } };

/** Returns what is known of a row after an event at `time` (ms since 1970). */
export function reduce(record: RowRecord, event: RowEvent, time?: number): RowRecord {
  return {
    ...transition(record, event, (known) => known, time),
    label: event.label ?? record.label,
    inputs: (event.event === 'intent' ? event.inputs : undefined) ?? record.inputs,
  };
}

export const NO_RESPONSE = 'the request was sent, and no response is recorded';
const LOST = 'the service no longer knows the run (404)';

/** Returns why a row is in its state, other than by the end of its run. */
export function errorOf({ state, error }: KnownOfRow): RecordedError | undefined {
  if (state === 'lost') return { code: 'unreachable', reason: LOST, status: 404 };
  if (error || state !== 'unknown') return error;
  return { code: 'unknown-outcome', reason: NO_RESPONSE };
}

/** Returns how a row of a log stands that is in a state now. */
export function toOutcome(
  row: number,
  state: RowState,
  { now, label, inputs }: RowRecord,
  workflowId: string | undefined,
): Outcome {
  const { id, run, acceptedAt, endedAt } = now;
  const error = errorOf({ ...now, state });
  return {
    state,
    row,
    label,
    inputs,
    id: run?.id ?? id,
    workflowId,
    run,
    error: error && factsOfRecord(error, state),
    startedAt: acceptedAt,
    durationMs: acceptedAt && endedAt && endedAt - acceptedAt,
  };
}

function factsOfRecord({ code, reason, status, requestId }: RecordedError, state: RowState): Facts {
  return new WfrError(code, reason.split('\n'), {
    response: { status, requestId },
    runMayExist: state === 'unknown',
    createdNothing: hasNoRun(state),
    isTemporary: state === 'unreachable',
  }).facts;
}

/** Which rows may be sent again that are skipped by default. */
export interface ResendOptions {
  /** Rows with an unknown outcome to send again. */
  resendUnknown: RowSelection;
  /** Failed, rejected and lost rows to send again. */
  retryFailed: RowSelection;
}

/** Returns what to do with a row. */
export function nextAction(
  row: number,
  state: RowState,
  { resendUnknown, retryFailed }: ResendOptions,
): 'send' | 'watch' | 'skip' {
  const again = ROW_STATES[state];
  if (again === 'send' || again === 'watch') return again;
  const isRetried = again === 'retry-failed' && isSelected(row, retryFailed);
  // --send-changed releases the row before.
  return isRetried || (again === 'resend-unknown' && isSelected(row, resendUnknown)) ? 'send' : 'skip';
}

/** All rows, or ranges of row numbers, both ends included; an empty list selects none. */
export type RowSelection = 'all' | readonly (readonly [first: number, last: number])[];

/** Returns whether a row is selected. */
export function isSelected(row: number, selection: RowSelection): boolean {
  return selection === 'all' || selection.some(([first, last]) => row >= first && row <= last);
}
