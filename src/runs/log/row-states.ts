/** The state of each row of a batch, in a few bytes a row, so that tables of millions of rows fit into memory. */
import type { ErrorCode } from '../../exit-code.js';
import { NO_MESSAGE } from '../../outcome/outcome.js';
import { ReasonGroups, withoutLabel } from '../../text/reason-groups.js';
import { PagedArray } from './compact-lists.js';
import type { RecordedError, RowEvent } from './events.js';
import { errorOf, heldError, NO_RESPONSE, ROW_STATES, type RowState, transition } from './reduce.js';

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
/** Reasons that are kept: a service with a new reason for each row must not fill memory, nor its id 12 bits. */
const MAX_REASONS = 1_000;
/** Labels that are kept, of rows that did not succeed. */
const MAX_LABELS = 10_000;
/** Ids that are kept, of runs that have failed. */
const MAX_FAILED_IDS = 1_000;

export class RowStates {
  /** What is known of each row: its state, and why it did not succeed. */
  readonly #known = new PagedArray(Uint16Array);
  readonly #before = new PagedArray(Uint16Array);
  readonly #settled = new PagedArray(Uint16Array);
  /** 1 for rows that are not in the table any more. */
  readonly #gone = new PagedArray(Uint8Array);
  /** Rows that are gone and were begun. */
  #goneCount = 0;
  readonly #ids = new Map<number, string>();
  readonly #reasons = new ReasonGroups<number>(MAX_REASONS);
  readonly #codes = new Map<number, ErrorCode | undefined>();
  readonly #labels = new Map<number, string>();
  /** Every row is sent, and few stay unknown: the text of this reason is parsed once. */
  readonly #noResponse = this.#addReason(0, { message: NO_RESPONSE }, 'unknown', 'unknown-outcome');
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
    return stateOf(this.#known.get(row) ?? 0);
  }

  /** Returns whether a row is not in the table any more. */
  isGone(row: number): boolean {
    return Boolean(this.#gone.get(row));
  }

  /** Sets which rows are in the table, of all those that are known so far. */
  setFound(isFound: (row: number) => boolean): void {
    this.#counts.clear();
    this.#goneCount = 0;
    for (const [row] of this.#known.entries()) {
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
    return this.#codes.get(reasonOf(this.#known.get(row) ?? 0));
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
    for (const [row, known] of this.#known.entries()) {
      if (rows.length === MAX_LISTED_ROWS) break;
      if (stateOf(known) === state && this.state(row) === state) rows.push(row);
    }
    return rows;
  }

  /** Yields each row with its state, in the order of their numbers. */
  *entries(): Generator<[row: number, state: RowState], void, void> {
    for (const [row] of this.#known.entries()) yield [row, this.state(row)];
  }

  /** Returns why rows did not succeed, the most frequent reason first. */
  reasons(): RowReason[] {
    const groups = new Map<string, { state: RowState; id: number; rows: number[]; count: number }>();
    for (const [row, known] of this.#known.entries()) {
      const id = reasonOf(known);
      const state = id === NO_REASON ? 'gone' : this.state(row);
      if (state === 'gone') continue;
      const key = `${state} ${id}`;
      const group = groups.get(key) ?? { state, id, rows: [], count: 0 };
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
    const label = 'label' in event ? event.label : undefined;
    const isBegun = event.event === 'intent' || (event.event === 'recorded' && event.held !== undefined);
    const isKnown = this.#labels.has(row) || (isBegun && this.#labels.size < MAX_LABELS);
    if (label !== undefined && isKnown) this.#labels.set(row, label);
    const now = this.#known.get(row) ?? 0;
    const standing = {
      now,
      before: this.#before.get(row) || undefined,
      settled: this.#settled.get(row) || undefined,
    };
    let isKept = true;
    const next = transition(standing, event, stateOf, (state) => {
      isKept = false;
      return toKnown(state, this.#reasonAfter(event, state, now));
    });
    if (next === standing) return true;
    if (event.event === 'accepted') this.#ids.set(row, event.id);
    this.#set(row, next.now);
    const state = stateOf(next.now);
    if (event.event === 'ended' && (state === 'finished' || this.count(state) > MAX_FAILED_IDS))
      this.#ids.delete(row);
    if (standing.before !== next.before) this.#before.set(row, next.before ?? 0);
    if (standing.settled !== next.settled) this.#settled.set(row, next.settled ?? 0);
    if (ROW_STATES[state].again === 'skip') this.#labels.delete(row);
    return isKept;
  }

  /** Says why a row is in its state, until its next event. */
  setReason(row: number, { code, reason }: RecordedError): void {
    const state = this.recordedState(row);
    this.#known.set(row, toKnown(state, this.#addReason(row, { message: reason }, state, code)));
  }

  /** Returns the reason of a row that an event has brought to a state. */
  #reasonAfter(event: RowEvent, state: RowState, before: number): number {
    const { row } = event;
    // A row that is unknown and sent again keeps its reason meanwhile.
    if (event.event === 'sent') return stateOf(before) === 'unknown' ? reasonOf(before) : this.#noResponse;
    if (event.event === 'ended' && ROW_STATES[state].again !== 'skip') {
      const { step, message } = event.run.error ?? {};
      return this.#addReason(row, { step, message: message || NO_MESSAGE }, state, undefined);
    }
    const held = event.event === 'recorded' ? heldError(event.held ?? '') : undefined;
    const error = errorOf({ state, error: 'reason' in event ? event : held });
    if (error === undefined || state === 'waiting') return NO_REASON;
    return this.#addReason(row, { message: error.reason }, state, error.code);
  }

  /** Returns the id of the group of a reason. */
  #addReason(
    row: number,
    { step = '', message }: { step?: string | undefined; message: string },
    state: RowState,
    code: ErrorCode | undefined,
  ): number {
    const reason = {
      step,
      message: withoutLabel(message, this.#labels.get(row)),
      outcome: `${state} ${code}`,
    };
    const id = this.#reasons.add(reason, row);
    this.#codes.set(id, code);
    return id;
  }

  #set(row: number, known: number): void {
    const before = this.state(row);
    if (before !== 'new') this.#counts.set(before, this.count(before) - 1);
    this.#known.set(row, known);
    const shown = this.state(row);
    this.#counts.set(shown, this.count(shown) + 1);
    this.#lastRow = Math.max(this.#lastRow, row);
  }
}

/** What is known of a row in two bytes: its state, of which there are fewer than 16, and the id of its reason. */
function toKnown(state: RowState, reason: number): number {
  return NUMBERED.indexOf(state) | ((reason + 1) << 4);
}

function stateOf(known: number): RowState {
  return NUMBERED[known & 0xf] ?? 'new';
}

const NO_REASON = -1;

function reasonOf(known: number): number {
  return (known >>> 4) - 1;
}

function stateOfGone(state: RowState): RowState {
  return state === 'running' || state === 'unknown' ? state : 'gone';
}
