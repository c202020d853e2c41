/** What is known of each row of a batch: a few bytes a row, so that a table of millions fits. */
import { ExitCode } from '../exit-code.js';
import { PagedArray } from './paged-array.js';

/**
 * `sent` is a row whose request may be complete while nothing is known of its answer; `intent` one of which no run can
 * exist; `bad` one that cannot be sent as it is; `refused` one that the service has refused for good; `lost` one
 * that the service accepted and whose run it no longer knows.
 */
const ROW_STATES = [
  'new',
  'intent',
  'bad',
  'sent',
  'accepted',
  'refused',
  'finished',
  'failed',
  'lost',
] as const;
export type RowState = (typeof ROW_STATES)[number];

/** What a row was before it was sent again: if that comes to nothing, it still is. */
const RESTORED_STATES: readonly RowState[] = ['sent', 'refused', 'failed', 'lost'];

/** What an event says of its row. */
export type RowEvent =
  | { event: 'intent'; row: number; digest: string }
  | { event: 'sent'; row: number }
  | { event: 'accepted'; row: number; id: string }
  | { event: 'refused'; row: number; exit: number }
  | { event: 'lost'; row: number }
  | { event: 'ended'; row: number; status: string | undefined; step: string | undefined };

/** Rows that are named one by one; beyond them, their number is enough. */
const MAX_LISTED_ROWS = 1_000;
/** Steps that are told apart: a workflow has a few, and a service that names each failure anew must not fill memory. */
const MAX_STEPS = 1_000;
const OTHER_STEPS = '(other steps)';

export class RowStates {
  readonly #states = new PagedArray((size) => new Uint8Array(size));
  readonly #digests = new PagedArray((size) => new BigUint64Array(size));
  /** The lasting state of a row that is being sent again, until the service has accepted it. */
  readonly #earlier = new PagedArray((size) => new Uint8Array(size));
  readonly #ids = new Map<number, string>();
  /** The step at which a row failed: its place among all that were seen, from 1. */
  readonly #failedAt = new PagedArray((size) => new Uint16Array(size));
  readonly #steps = new Map<string, number>();
  readonly #counts = new Map<RowState, number>();
  #last = 0;

  /** The largest number of a row of which something is known. */
  get lastRow(): number {
    return this.#last;
  }

  state(row: number): RowState {
    return ROW_STATES[this.#states.get(row) ?? 0] ?? 'new';
  }

  /** The digest of a row's inputs, 16 hexadecimal digits; undefined for a row that was never meant to be sent. */
  digest(row: number): string | undefined {
    if (this.state(row) === 'new') return undefined;
    return (this.#digests.get(row) ?? 0n).toString(16).padStart(16, '0');
  }

  /** The id of the run of a row that is `accepted` or `lost`. */
  id(row: number): string | undefined {
    return this.#ids.get(row);
  }

  /** How many rows are in a state. */
  count(state: RowState): number {
    return this.#counts.get(state) ?? 0;
  }

  /** The first rows in a state, in their order. */
  rowsIn(state: RowState): number[] {
    const rows: number[] = [];
    for (const [row, found] of this.#states.entries()) {
      if (rows.length === MAX_LISTED_ROWS) break;
      if (ROW_STATES[found] === state) rows.push(row);
    }
    return rows;
  }

  /** The rows from 1 to `total` of which nothing is known: how many, and the first. */
  missing(total: number): { count: number; first: number } {
    let known = 0;
    let first = 1;
    for (const [row] of this.#states.entries()) {
      if (row > total) break;
      known++;
      if (row === first) first++;
    }
    return { count: total - known, first };
  }

  /** How many rows failed at each step, the most frequent first. */
  failedSteps(): [step: string, rows: number][] {
    const counts = new Map<string, number>();
    const steps = [...this.#steps.keys()];
    for (const [, number] of this.#failedAt.entries()) {
      const step = steps[number - 1];
      if (step !== undefined) counts.set(step, (counts.get(step) ?? 0) + 1);
    }
    return [...counts].sort(([, a], [, b]) => b - a);
  }

  /** Takes in what happened to a row. */
  record(fact: RowEvent): void {
    const { row } = fact;
    const before = this.state(row);
    if (fact.event === 'intent') {
      this.#digests.set(row, BigInt(`0x${fact.digest}`));
      if (RESTORED_STATES.includes(before)) this.#earlier.set(row, ROW_STATES.indexOf(before));
    }
    if (fact.event === 'accepted') {
      this.#ids.set(row, fact.id);
      this.#earlier.set(row, 0);
      this.#failedAt.set(row, 0);
    }
    if (fact.event === 'ended') this.#ids.delete(row);
    if (fact.event === 'ended' && fact.status === 'FAILED')
      this.#failedAt.set(row, this.#numberOf(fact.step ?? ''));
    const after = stateAfter(fact);
    const isBack = fact.event === 'intent' || fact.event === 'refused';
    const earlier = ROW_STATES[this.#earlier.get(row) ?? 0] ?? 'new';
    this.#enter(row, isBack && earlier !== 'new' ? earlier : after);
  }

  #numberOf(step: string): number {
    const name = this.#steps.size < MAX_STEPS || this.#steps.has(step) ? step : OTHER_STEPS;
    const number = this.#steps.get(name) ?? this.#steps.size + 1;
    this.#steps.set(name, number);
    return number;
  }

  #enter(row: number, state: RowState): void {
    const before = this.state(row);
    if (before !== 'new') this.#counts.set(before, this.count(before) - 1);
    this.#counts.set(state, this.count(state) + 1);
    this.#states.set(row, ROW_STATES.indexOf(state));
    this.#last = Math.max(this.#last, row);
  }
}

function stateAfter(fact: RowEvent): RowState {
  switch (fact.event) {
    case 'refused':
      if (fact.exit === ExitCode.usage) return 'bad';
      return fact.exit === ExitCode.refused ? 'refused' : 'intent';
    case 'ended':
      return fact.status === 'FINISHED' ? 'finished' : 'failed';
    default:
      return fact.event;
  }
}
