/** The state of each row of a batch, in a few bytes a row, so that tables of millions of rows fit into memory. */
import type { ErrorCode } from '../../exit-code.js';
import { NO_MESSAGE } from '../../outcome/outcome.js';
import { ReasonGroups, withoutLabel } from '../../text/reason-groups.js';
import { PagedArray } from './compact-lists.js';
import type { RecordedError, RowEvent } from './events.js';
import {
  errorOf,
  hasOldRun,
  heldError,
  NO_RESPONSE,
  ROW_STATES,
  type RowState,
  transition,
} from './reduce.js';

/** The states as numbers; 0 is `new`. */
const NUMBERED = Object.keys(ROW_STATES) as RowState[];

/** Why rows did not succeed. */
export interface RowReason {
  /** The state of the rows. */
  state: RowState;
  /** The code of their error; undefined if their runs ended. */
  code: ErrorCode | undefined;
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
/** Ids that are kept, of runs that have failed. */
const MAX_FAILED_IDS = 1_000;

export class RowStates {
  readonly #states = new PagedArray(Uint8Array);
  readonly #before = new PagedArray(Uint8Array);
  readonly #settled = new PagedArray(Uint8Array);
  /** 1 for rows that are not in the table any more. */
  readonly #gone = new PagedArray(Uint8Array);
  /** Rows that are gone and were begun. */
  #goneCount = 0;
  readonly #ids = new Map<number, string>();
  /** Why a row did not succeed, as the id of its reason plus 1. */
  readonly #reasonIds = new PagedArray(Uint16Array);
  readonly #reasons = new ReasonGroups<number>(MAX_REASONS);
  /** The reason to restore with the state before. */
  readonly #reasonIdsBefore = new PagedArray(Uint16Array);
  readonly #reasonIdsSettled = new PagedArray(Uint16Array);
  readonly #codes = new Map<number, ErrorCode | undefined>();
  /** Every row is sent, and few stay unknown: the text of this reason is parsed once. */
  readonly #noResponse = this.#addGroup({ step: '', message: NO_RESPONSE }, 'unknown', 'unknown-outcome', 0);
  readonly #labels = new Map<number, string>();
  readonly #counts = new Map<RowState, number>();
  #lastRow = 0;

  /** The largest row number with a state other than `new`. */
  get lastRow(): number {
    return this.#lastRow;
  }

  /** The number of rows in the table with a state other than `new`. */
  get known(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0) - this.#goneCount;
  }

  /** Returns the state of a row. A row that is gone is `gone`, unless its run goes on or may exist. */
  state(row: number): RowState {
    const state = this.recordedState(row);
    return this.#gone.get(row) && state !== 'new' ? stateOfGone(state) : state;
  }

  /** Returns the state of a row, wherever it is. */
  recordedState(row: number): RowState {
    return NUMBERED[this.#states.get(row) ?? 0] ?? 'new';
  }

  /** Returns whether a row is not in the table any more. */
  isGone(row: number): boolean {
    return Boolean(this.#gone.get(row));
  }

  /** Sets which rows are in the table, of all those that are known so far. */
  setFound(isFound: (row: number) => boolean): void {
    this.#counts.clear();
    this.#goneCount = 0;
    for (const [row] of this.#states.entries()) {
      const isGone = !isFound(row);
      if (isGone || this.#gone.get(row)) this.#gone.set(row, isGone ? 1 : 0);
      if (isGone) this.#goneCount++;
      const state = this.state(row);
      this.#counts.set(state, this.count(state) + 1);
    }
  }

  /** Returns the run id of a row that is `running` or `lost`, and of the first that have failed. */
  id(row: number): string | undefined {
    return this.#ids.get(row);
  }

  /** Returns the code of a row's error; undefined if it has none. */
  code(row: number): ErrorCode | undefined {
    return this.#codes.get((this.#reasonIds.get(row) ?? 0) - 1);
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
      if (NUMBERED[found] === state && this.state(row) === state) rows.push(row);
    }
    return rows;
  }

  /** Yields each row with its state, in the order of their numbers. */
  *entries(): Generator<[row: number, state: RowState], void, void> {
    for (const [row] of this.#states.entries()) yield [row, this.state(row)];
  }

  /** Returns why rows did not succeed, the most frequent reason first. */
  reasons(): RowReason[] {
    const groups = new Map<string, { state: RowState; id: number; rows: number[]; count: number }>();
    for (const [row, number] of this.#reasonIds.entries()) {
      const state = this.state(row);
      if (state === 'gone') continue;
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
        return { state, code: this.#codes.get(id), step, message, rows, count };
      });
  }

  /** Applies an event to the state of its row. Returns whether it restored or kept an earlier state. */
  apply(event: RowEvent): boolean {
    const { row } = event;
    if (event.event === 'moved') {
      if (event.label !== undefined && this.#labels.has(row)) this.#labels.set(row, event.label);
      return true;
    }
    if (event.event === 'recorded' && event.held === undefined) return true;
    const stateBefore = this.recordedState(row);
    const settledBefore = this.#get(this.#settled, row);
    const standing = { state: stateBefore, before: this.#get(this.#before, row), settled: settledBefore };
    const { state, before, settled } = transition(standing, event);
    if (event.event === 'intent') {
      if (before !== 'new') this.#reasonIdsBefore.set(row, this.#reasonIds.get(row) ?? 0);
      if (hasOldRun(stateBefore)) this.#reasonIdsSettled.set(row, this.#reasonIds.get(row) ?? 0);
    }
    const label = 'label' in event ? event.label : undefined;
    if (label !== undefined && this.#labels.size < MAX_LABELS) this.#labels.set(row, label);
    if (event.event === 'accepted') this.#ids.set(row, event.id);
    this.#setState(row, state);
    if (event.event === 'ended' && (state === 'finished' || this.count(state) > MAX_FAILED_IDS))
      this.#ids.delete(row);
    if (standing.before !== before) this.#before.set(row, NUMBERED.indexOf(before));
    if (settledBefore !== settled) this.#settled.set(row, NUMBERED.indexOf(settled));
    const isSettled = event.event === 'uncreated' && hasOldRun(state);
    const isRestored = before !== 'new' && (event.event === 'intent' || event.event === 'refused');
    if (isSettled) this.#reasonIds.set(row, this.#reasonIdsSettled.get(row) ?? 0);
    else if (isRestored) this.#reasonIds.set(row, this.#reasonIdsBefore.get(row) ?? 0);
    // A row that is unknown and sent again keeps its reason meanwhile.
    else if (event.event !== 'sent' || stateBefore !== 'unknown') this.#setReasonOf(event, state);
    if (ROW_STATES[state].again === 'skip') this.#labels.delete(row);
    return isRestored || isSettled;
  }

  /** Says why a row is in its state, until its next event. */
  setReason(row: number, { code, reason }: RecordedError): void {
    this.#addReason(row, { step: '', message: reason }, code);
  }

  #setReasonOf(event: RowEvent, state: RowState): void {
    const { row } = event;
    if (event.event === 'sent') return this.#reasonIds.set(row, this.#noResponse + 1);
    if (event.event === 'ended' && ROW_STATES[state].again !== 'skip') {
      const { step = '', message } = event.run.error ?? {};
      return this.#addReason(row, { step, message: message || NO_MESSAGE }, undefined);
    }
    if (event.event === 'recorded') return this.setReason(row, heldError(event.held ?? ''));
    const error = errorOf({ state, error: 'reason' in event ? event : undefined });
    if (error === undefined || state === 'waiting') this.#reasonIds.set(row, 0);
    else this.setReason(row, error);
  }

  #addReason(row: number, reason: { step: string; message: string }, code: ErrorCode | undefined): void {
    const message = withoutLabel(reason.message, this.#labels.get(row));
    this.#reasonIds.set(row, this.#addGroup({ ...reason, message }, this.state(row), code, row) + 1);
  }

  /** Returns the id of the group of a reason. */
  #addGroup(
    reason: { step: string; message: string },
    state: RowState,
    code: ErrorCode | undefined,
    row: number,
  ): number {
    const id = this.#reasons.add({ ...reason, outcome: `${state} ${code}` }, row);
    this.#codes.set(id, code);
    return id;
  }

  #get(states: PagedArray, row: number): RowState {
    return NUMBERED[states.get(row) ?? 0] ?? 'new';
  }

  #setState(row: number, state: RowState): void {
    const before = this.state(row);
    if (before !== 'new') this.#counts.set(before, this.count(before) - 1);
    this.#states.set(row, NUMBERED.indexOf(state));
    const shown = this.state(row);
    this.#counts.set(shown, this.count(shown) + 1);
    this.#lastRow = Math.max(this.#lastRow, row);
  }
}

function stateOfGone(state: RowState): RowState {
  return state === 'running' || state === 'unknown' ? state : 'gone';
}
