/** What the events of a row mean: the only place that gives a row its state. Pure functions. */
import { ExitCode } from '../../exit-code.js';
import {
  ENDS,
  type EndState,
  endOf,
  type Facts,
  type Outcome,
  type State,
  stateOfCode,
} from '../../outcome/outcome.js';
import type { Run } from '../../service/run.js';
import { sanitizeLines } from '../../text/sanitize.js';
import type { RecordedError, RowEvent } from './events.js';

/** When a row may be sent (again): at once, never, watched instead, or with a flag. */
type Again = 'send' | 'watch' | 'skip' | 'resend-unknown' | 'retry-failed';

interface RowStateFacts {
  again: Again;
  /** Whether no run of the row exists or may exist, so that its inputs may change. */
  hasNoRun: boolean;
  /** Whether a later attempt that creates nothing restores this state. */
  isRestored: boolean;
}

const NEVER_SENT = { again: 'send', hasNoRun: true, isRestored: false } as const;

const ENDED = Object.fromEntries(
  Object.values(ENDS).map(({ state, exit }) => {
    const isRestored = exit !== ExitCode.ok;
    return [state, { again: isRestored ? 'retry-failed' : 'skip', hasNoRun: false, isRestored }];
  }),
) as Record<EndState, RowStateFacts>;

/** Every state of a row; `new` rows have no event. */
export const ROW_STATES = {
  new: NEVER_SENT,
  waiting: NEVER_SENT,
  invalid: NEVER_SENT,
  unauthorized: NEVER_SENT,
  unreachable: NEVER_SENT,
  rejected: { again: 'retry-failed', hasNoRun: true, isRestored: true },
  unknown: { again: 'resend-unknown', hasNoRun: false, isRestored: true },
  running: { again: 'watch', hasNoRun: false, isRestored: false },
  lost: { again: 'retry-failed', hasNoRun: false, isRestored: true },
  ...ENDED,
} as const satisfies Record<string, RowStateFacts>;

export type RowState = keyof typeof ROW_STATES;

/** Returns whether no run of a row exists or may exist, so that its inputs may change. */
export function hasNoRun(state: RowState): boolean {
  return ROW_STATES[state].hasNoRun;
}

/** Returns the state that users see. */
export function shownState(state: RowState): State {
  return state === 'new' ? 'waiting' : state;
}

/** A row's state, and the one that an attempt without a run restores; `new` if there is none. */
export interface Standing {
  state: RowState;
  before: RowState;
}

/** Returns what an event makes of a row. */
export function transition({ state, before }: Standing, event: RowEvent): Standing {
  switch (event.event) {
    case 'intent':
      return ROW_STATES[state].isRestored ? { state, before: state } : { state: 'waiting', before: 'new' };
    case 'sent':
    case 'unknown':
      return { state: 'unknown', before };
    case 'accepted':
      return { state: 'running', before: 'new' };
    case 'refused':
      return { state: before === 'new' ? stateOfRefusal(event) : before, before };
    case 'lost':
      return { state: 'lost', before: 'new' };
    case 'ended':
      return { state: endOf(event.run.status)?.state ?? 'failed', before: 'new' };
  }
}

/** A signal or the end of the batch may have kept a row from being sent, which is no failure of its own. */
function stateOfRefusal({ code }: RecordedError): RowState {
  const state = stateOfCode(code);
  return state in ROW_STATES ? (state as RowState) : 'waiting';
}

/** What is known of a row. */
export interface RowRecord {
  state: RowState;
  /** What an attempt without a run restores. */
  before?: RowRecord | undefined;
  label?: string | undefined;
  /** The names of its inputs. */
  inputs?: readonly string[] | undefined;
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

export const NEW_ROW: RowRecord = { state: 'new' };

/** Returns what is known of a row after an event at `time` (ms since 1970). */
export function reduce(record: RowRecord, event: RowEvent, time?: number): RowRecord {
  const { before } = record;
  const { state, before: restored } = transition(
    { state: record.state, before: before?.state ?? 'new' },
    event,
  );
  const { label, inputs, digests, sentAt, error } = record;
  switch (event.event) {
    case 'intent': {
      const named = { label: label ?? event.label, inputs: event.inputs ?? inputs };
      if (restored === 'new') return { state, ...named };
      const known = { ...record, ...named, before: undefined };
      return { ...known, before: known };
    }
    case 'sent':
      return {
        ...{ state, before, label, inputs: inputs ?? (event.inputs && Object.keys(event.inputs)) },
        ...{ digests: event.inputs, sentAt: time, error: record.state === 'unknown' ? error : undefined },
      };
    case 'unknown':
      return { state, before, label, inputs, digests, sentAt, error: event };
    case 'accepted':
      return { state, label, inputs, digests, sentAt, id: event.id, acceptedAt: time };
    case 'refused':
      return before === undefined ? { state, label, inputs, error: event } : { ...before, before };
    case 'lost':
      return { ...record, state };
    case 'ended':
      return { ...record, state, run: event.run, endedAt: time, error: undefined };
  }
}

export const NO_RESPONSE = 'the request was sent, and no response is recorded';
const LOST = 'the service no longer knows the run (404)';

/** Returns why a row is in its state, other than by the end of its run. */
export function errorOf({ state, error }: Pick<RowRecord, 'state' | 'error'>): RecordedError | undefined {
  if (state === 'lost') return { code: 'unreachable', reason: LOST, status: 404 };
  if (error !== undefined || state !== 'unknown') return error;
  return { code: 'unknown-outcome', reason: NO_RESPONSE };
}

/** Returns how a row of a log stands. */
export function toOutcome(row: number, record: RowRecord, workflowId: string | undefined): Outcome {
  const { label, inputs, id, run, acceptedAt, endedAt } = record;
  const state = shownState(record.state);
  const error = errorOf(record);
  return {
    state,
    row,
    ...(label !== undefined && { label }),
    ...(inputs !== undefined && { inputs }),
    id: run?.id ?? id,
    workflowId,
    run,
    error: error && factsOfRecord(error, state),
    ...(acceptedAt !== undefined && { startedAt: acceptedAt }),
    durationMs: acceptedAt === undefined || endedAt === undefined ? 0 : endedAt - acceptedAt,
  };
}

function factsOfRecord({ code, reason, status, requestId }: RecordedError, state: State): Facts {
  return {
    code,
    state,
    summary: sanitizeLines(reason),
    text: reason,
    hints: [],
    response: { status, requestId },
    runMayExist: state === 'unknown',
    createdNothing: state !== 'unknown' && state !== 'lost',
    isTemporary: state === 'unreachable',
  };
}
