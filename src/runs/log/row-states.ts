/** The state of each row of a batch, in a few bytes a row, so that tables of millions of rows fit into memory. */
import type { ErrorCode } from '../../exit-code.js';
import { NO_MESSAGE } from '../../outcome/outcome.js';
import { ReasonGroups, withoutLabel } from '../../text/reason-groups.js';
import { PagedArray } from './compact-lists.js';
import type { RecordedError, RowEvent } from './events.js';
import {
  becomeKnown,
  errorOf,
  NO_RESPONSE,
  ROW_STATES,
  type RowState,
  type Standing,
  transition,
} from './reduce.js';

/** Rows that each reason lists at most. */
const MAX_LISTED_ROWS = 20;
/** Labels that are kept, of rows that did not succeed. */
const MAX_LABELS = 10_000;
/** Ids that are kept, of runs that have failed. */
const MAX_FAILED_IDS = 1_000;

/** A state and why rows are in it: all rows with the same share one object, so that each takes the memory of a pointer. */
interface Known {
  state: RowState;
  code?: ErrorCode | undefined;
  /** The id of the group of reasons. */
  reason?: number;
}

const NEW: Standing<Known> = { now: { state: 'new' } };

export class RowStates {
  readonly #standings = new PagedArray<Standing<Known>>();
  /** The shared objects, by what they say. */
  readonly #shared = new Map<string, Standing<Known>>();
  readonly #ids = new Map<number, string>();
  readonly #labels = new Map<number, string>();
  readonly #reasons = new ReasonGroups<number>();
  /** Every row is sent, and few stay unknown: the text of this reason is parsed once. */
  readonly #noResponse = this.#know('unknown', 'unknown-outcome', { message: NO_RESPONSE }, 0);
  readonly #counts = new Map<RowState, number>();
  #isFound = (_row: number) => true;
  /** Rows that are gone and were begun. */
  #goneCount = 0;

  /** The number of rows in the table with a state other than `new`. */
  get known(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0) - this.#goneCount;
  }

  /** Returns the state of a row. A row that is gone is `gone`, unless its run goes on or may exist. */
  state(row: number): RowState {
    const state = this.recordedState(row);
    return state !== 'running' && state !== 'unknown' && this.isGone(row) ? 'gone' : state;
  }

  /** Returns the state of a row, wherever it is. */
  recordedState(row: number): RowState {
    return this.#standing(row).now.state;
  }

  /** Returns whether a row that was begun is not in the table any more. */
  isGone(row: number): boolean {
    return this.recordedState(row) !== 'new' && !this.#isFound(row);
  }

  /** Sets which rows are in the table. */
  setFound(isFound: (row: number) => boolean): void {
    this.#isFound = isFound;
    this.#counts.clear();
    this.#goneCount = 0;
    for (const [row, state] of this.entries()) {
      this.#count(state, 1);
      if (this.isGone(row)) this.#goneCount++;
    }
  }

  /** Returns the run id of a row that is `running` or `lost`, and of the first that have failed. */
  id(row: number): string | undefined {
    return this.#ids.get(row);
  }

  /** Returns the code of a row's error; undefined if it has none. */
  code(row: number): ErrorCode | undefined {
    return this.#standing(row).now.code;
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

  /** Yields each row with its state, in the order of their numbers. */
  *entries(): Generator<[row: number, state: RowState], void, void> {
    for (const [row] of this.#standings.entries()) yield [row, this.state(row)];
  }

  /**
   * Returns why rows did not succeed, the most frequent reason first, with the first rows of each. `code` is undefined if
   * their runs ended, `step` empty if none of these failed; `message` may have several lines, not yet sanitized.
   */
  reasons() {
    const groups = new Map<Known, { rows: number[]; count: number }>();
    for (const [row, { now }] of this.#standings.entries()) {
      if (now.reason === undefined || this.state(row) === 'gone') continue;
      const group = groups.get(now) ?? { rows: [], count: 0 };
      if (++group.count <= MAX_LISTED_ROWS) group.rows.push(row);
      groups.set(now, group);
    }
    const reasons = new Map(this.#reasons.bySize().map((reason) => [reason.id, reason]));
    return [...groups]
      .sort(([, one], [, other]) => other.count - one.count)
      .map(([{ state, code, reason = 0 }, group]) => {
        const { step = '', message = '' } = reasons.get(reason) ?? {};
        return { state, code, step, message, ...group };
      });
  }

  /** Applies an event to the state of its row. */
  apply(event: RowEvent): void {
    const { row } = event;
    const label = 'label' in event ? event.label : undefined;
    const isBegun = event.event === 'intent' || (event.event === 'recorded' && event.held !== undefined);
    const isKnown = this.#labels.has(row) || (isBegun && this.#labels.size < MAX_LABELS);
    if (label !== undefined && isKnown) this.#labels.set(row, label);
    const standing = this.#standing(row);
    const next = transition(standing, event, (state) => this.#become(state, standing.now, event));
    if (next === standing) return;
    if (event.event === 'accepted') this.#ids.set(row, event.id);
    this.#set(row, next);
    const { state } = next.now;
    if (event.event === 'ended' && (state === 'finished' || this.count(state) > MAX_FAILED_IDS))
      this.#ids.delete(row);
    if (ROW_STATES[state] === 'skip') this.#labels.delete(row);
  }

  /** Says why a row is in its state, until its next event. */
  setReason(row: number, { code, reason }: RecordedError): void {
    const known = this.#know(this.recordedState(row), code, { message: reason }, row);
    this.#standings.set(row, this.#share(known));
  }

  #standing(row: number): Standing<Known> {
    return this.#standings.get(row) ?? NEW;
  }

  /** Returns what is known of a row that an event has brought to a state. */
  #become(state: RowState, before: Known, event: RowEvent): Known {
    const { row } = event;
    // A row that is unknown and sent again keeps its reason meanwhile.
    if (event.event === 'sent') return before.state === 'unknown' ? before : this.#noResponse;
    if (event.event === 'ended' && ROW_STATES[state] !== 'skip') {
      const { step, message } = event.run.error ?? {};
      return this.#know(state, undefined, { step, message: message || NO_MESSAGE }, row);
    }
    // Most events of a large file are of these.
    if (['waiting', 'running', 'finished'].includes(state)) return { state };
    const error = errorOf(becomeKnown(state, { state: before.state }, event));
    if (error === undefined) return { state };
    return this.#know(state, error.code, { message: error.reason }, row);
  }

  #know(
    state: RowState,
    code: ErrorCode | undefined,
    { step = '', message }: { step?: string | undefined; message: string },
    row: number,
  ): Known {
    const text = withoutLabel(message, this.#labels.get(row));
    const reason = this.#reasons.add({ outcome: `${state} ${code}`, step, message: text }, row);
    return this.#share({ state, code, reason }).now;
  }

  /** Returns the object for all rows of which this is known, and nothing else. */
  #share(known: Known): Standing<Known> {
    const key = known.reason === undefined ? known.state : `${known.state} ${known.code} ${known.reason}`;
    const shared = this.#shared.get(key) ?? { now: known };
    this.#shared.set(key, shared);
    return shared;
  }

  #set(row: number, { now, before, settled }: Standing<Known>): void {
    if (this.recordedState(row) !== 'new') this.#count(this.state(row), -1);
    const isAlone = before === undefined && settled === undefined;
    this.#standings.set(row, isAlone ? this.#share(now) : { now, before, settled });
    this.#count(this.state(row), 1);
  }

  #count(state: RowState, change: number): void {
    this.#counts.set(state, this.count(state) + change);
  }
}
