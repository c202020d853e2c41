/** The state of each row of a batch, in a few bytes a row, so that tables of millions of rows fit into memory. */
import { ExitCode } from '../exit-code.js';
import type { Run } from '../service/run.js';
import { ReasonGroups, withoutLabel } from '../text/reason-groups.js';
import { PagedArray } from './paged-array.js';

/**
 * Of all but the first two, the name is the outcome that users see.
 * - `intent`: about to be sent, or not sent after all; no run exists
 * - `invalid`: invalid inputs; never sent
 * - `unknown`: the request may be complete, its outcome is unknown
 * - `running`: has a run that is not known to have ended
 * - `rejected`: rejected by the service; no run exists
 * - `unauthorized`: the service rejected the access token; no run exists
 * - `unreachable`: the service could not be reached, or was busy; no run exists
 * - `finished`, `failed`: the run has ended
 * - `lost`: accepted, but the service no longer knows the run
 */
const ROW_STATES = [
  'new',
  'intent',
  'invalid',
  'unknown',
  'running',
  'rejected',
  'unauthorized',
  'unreachable',
  'finished',
  'failed',
  'lost',
] as const;
export type RowState = (typeof ROW_STATES)[number];

/** States that are restored when a re-send fails. */
const RESTORED_STATES: readonly RowState[] = ['unknown', 'rejected', 'failed', 'lost'];

/** The part of an event that changes the state of its row, or says why it has it. */
export type RowEvent =
  | { event: 'intent'; row: number; label: string; digest: string }
  | { event: 'sent'; row: number }
  | { event: 'unknown'; row: number; reason: string }
  | { event: 'accepted'; row: number; id: string }
  | { event: 'refused'; row: number; exit: number; reason: string }
  | { event: 'lost'; row: number }
  | { event: 'ended'; row: number; status: string | undefined; error: Run['error'] };

/** Why rows did not succeed. */
export interface RowReason {
  /** The state of the rows. */
  state: RowState;
  /** The step at which their runs failed; empty if they did not. */
  step: string;
  /** May have several lines, not yet sanitized. */
  message: string;
  count: number;
  /** The first rows, in table order. */
  rows: readonly number[];
}

/** Rows that each reason lists at most, and `rowsIn`. */
const MAX_LISTED_ROWS = 20;
/** Reasons that are kept: a service with a new reason for each row must not fill memory. */
const MAX_REASONS = 1_000;
/** Labels that are kept, of rows that did not succeed. */
const MAX_LABELS = 10_000;

export const NO_RESPONSE = 'no response is recorded: a run may have been created';
const NO_MESSAGE = '(the service gave no message)';
export const LOST = 'the service no longer knows the run (404)';

export class RowStates {
  readonly #states = new PagedArray((size) => new Uint8Array(size));
  readonly #digests = new PagedArray((size) => new BigUint64Array(size));
  /** The state to restore if a re-send fails; cleared once the service has accepted the row. */
  readonly #restorable = new PagedArray((size) => new Uint8Array(size));
  readonly #ids = new Map<number, string>();
  /** Why a row did not succeed, as the id of its reason plus 1. */
  readonly #reasonIds = new PagedArray((size) => new Uint16Array(size));
  readonly #reasons = new ReasonGroups<number>(MAX_REASONS);
  readonly #noResponse = this.#reasons.add({ outcome: 'unknown', step: '', message: NO_RESPONSE }, 0);
  readonly #labels = new Map<number, string>();
  readonly #counts = new Map<RowState, number>();
  #lastRow = 0;

  /** The largest row number with a state other than `new`. */
  get lastRow(): number {
    return this.#lastRow;
  }

  /** The number of rows with a state other than `new`. */
  get known(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  state(row: number): RowState {
    return ROW_STATES[this.#states.get(row) ?? 0] ?? 'new';
  }

  /** Returns the digest of a row, 16 hexadecimal digits; undefined for a `new` row. */
  digest(row: number): string | undefined {
    if (this.state(row) === 'new') return undefined;
    return (this.#digests.get(row) ?? 0n).toString(16).padStart(16, '0');
  }

  /** Returns the run id of a row that is `running` or `lost`. */
  id(row: number): string | undefined {
    return this.#ids.get(row);
  }

  /** Returns how users know a row, such as `rows.csv:12`. */
  label(row: number): string {
    return this.#labels.get(row) ?? `row ${row}`;
  }

  /** Returns the number of rows in a state. */
  count(state: RowState): number {
    return this.#counts.get(state) ?? 0;
  }

  /** Returns the number of rows in each state but `new`. */
  counts(): ReadonlyMap<RowState, number> {
    return this.#counts;
  }

  /** Returns the first rows in a state, in table order. */
  rowsIn(state: RowState): number[] {
    const rows: number[] = [];
    for (const [row, found] of this.#states.entries()) {
      if (rows.length === MAX_LISTED_ROWS) break;
      if (ROW_STATES[found] === state) rows.push(row);
    }
    return rows;
  }

  /** Yields each row with its state, in table order. */
  *entries(): Generator<[row: number, state: RowState], void, void> {
    for (const [row, state] of this.#states.entries()) yield [row, ROW_STATES[state] ?? 'new'];
  }

  /** Returns why rows did not succeed, the most frequent reason first. */
  reasons(): RowReason[] {
    const groups = new Map<string, { state: RowState; id: number; rows: number[]; count: number }>();
    for (const [row, number] of this.#reasonIds.entries()) {
      const state = this.state(row);
      const key = `${state} ${number}`;
      const group = groups.get(key) ?? { state, id: number - 1, rows: [], count: 0 };
      if (++group.count <= MAX_LISTED_ROWS) group.rows.push(row);
      groups.set(key, group);
    }
    const reasons = new Map(this.#reasons.bySize().map((reason) => [reason.id, reason]));
    return [...groups.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ state, id, rows, count }) => {
        const { step = '', message = '' } = reasons.get(id) ?? {};
        return { state, step, message, rows, count };
      });
  }

  /** Applies an event to the state of its row. */
  record(event: RowEvent): void {
    const { row } = event;
    const before = this.state(row);
    if (event.event === 'intent') {
      this.#digests.set(row, BigInt(`0x${event.digest}`));
      if (RESTORED_STATES.includes(before)) this.#restorable.set(row, ROW_STATES.indexOf(before));
      if (this.#labels.size < MAX_LABELS) this.#labels.set(row, event.label);
    }
    if (event.event === 'accepted') {
      this.#ids.set(row, event.id);
      this.#restorable.set(row, 0);
    }
    if (event.event === 'ended') this.#ids.delete(row);
    const after = stateAfter(event);
    const isUnsent = event.event === 'intent' || event.event === 'refused';
    const restorable = ROW_STATES[this.#restorable.get(row) ?? 0] ?? 'new';
    const state = isUnsent && restorable !== 'new' ? restorable : after;
    this.#setState(row, state);
    if (state === after) this.#setReason(event, state);
    if (state === 'finished') this.#labels.delete(row);
  }

  /** Says why a row is in its state, until its next event. */
  explain(row: number, reason: string): void {
    this.#addReason(row, { step: '', message: reason }, this.state(row));
  }

  #setReason(event: RowEvent, state: RowState): void {
    const { row } = event;
    if (event.event === 'sent') {
      // Every row is sent, and few stay unknown: no text is compared. A row that is sent again keeps its reason meanwhile.
      if (!this.#reasonIds.get(row)) this.#reasonIds.set(row, this.#noResponse + 1);
      return;
    }
    const reason = state === 'intent' ? undefined : reasonOf(event);
    if (reason === undefined) return this.#reasonIds.set(row, 0);
    this.#addReason(row, reason, state);
  }

  #addReason(row: number, reason: { step: string; message: string }, state: RowState): void {
    const message = withoutLabel(reason.message, this.#labels.get(row));
    this.#reasonIds.set(row, this.#reasons.add({ ...reason, message, outcome: state }, row) + 1);
  }

  #setState(row: number, state: RowState): void {
    const before = this.state(row);
    if (before !== 'new') this.#counts.set(before, this.count(before) - 1);
    this.#counts.set(state, this.count(state) + 1);
    this.#states.set(row, ROW_STATES.indexOf(state));
    this.#lastRow = Math.max(this.#lastRow, row);
  }
}

/** The states of rows without a run, by the exit code in their event; of other codes, such as those of signals, `intent`. */
const STATE_BY_EXIT: Readonly<Record<number, RowState>> = {
  [ExitCode.usage]: 'invalid',
  [ExitCode.unauthorized]: 'unauthorized',
  [ExitCode.rejected]: 'rejected',
  [ExitCode.unreachable]: 'unreachable',
};

function stateAfter(event: RowEvent): RowState {
  switch (event.event) {
    case 'intent':
    case 'lost':
      return event.event;
    case 'sent':
    case 'unknown':
      return 'unknown';
    case 'accepted':
      return 'running';
    case 'refused':
      return STATE_BY_EXIT[event.exit] ?? 'intent';
    case 'ended':
      return event.status === 'FINISHED' ? 'finished' : 'failed';
  }
}

function reasonOf(event: RowEvent): { step: string; message: string } | undefined {
  switch (event.event) {
    case 'unknown':
    case 'refused':
      return { step: '', message: event.reason };
    case 'lost':
      return { step: '', message: LOST };
    case 'ended':
      if (event.status === 'FINISHED') return undefined;
      return { step: event.error?.step ?? '', message: event.error?.message || NO_MESSAGE };
    default:
      return undefined;
  }
}
