/** The state of each row of a batch, in a few bytes a row, so that tables of millions of rows fit into memory. */
import { ExitCode } from '../exit-code.js';
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

/** The part of an event that changes the state of its row. */
export type RowEvent =
  | { event: 'intent'; row: number; digest: string }
  | { event: 'sent'; row: number }
  | { event: 'accepted'; row: number; id: string }
  | { event: 'refused'; row: number; exit: number }
  | { event: 'lost'; row: number }
  | { event: 'ended'; row: number; status: string | undefined; step: string | undefined };

/** `rowsIn` returns at most this many. */
const MAX_LISTED_ROWS = 1_000;
/** Step names that are kept: a service with a new name for each failure must not fill memory. */
const MAX_STEPS = 1_000;
const OTHER_STEPS = '(other steps)';

export class RowStates {
  readonly #states = new PagedArray((size) => new Uint8Array(size));
  readonly #digests = new PagedArray((size) => new BigUint64Array(size));
  /** The state to restore if a re-send fails; cleared once the service has accepted the row. */
  readonly #restorable = new PagedArray((size) => new Uint8Array(size));
  readonly #ids = new Map<number, string>();
  /** The step at which a row failed, as its number in `#stepNumbers`. */
  readonly #failedStep = new PagedArray((size) => new Uint16Array(size));
  readonly #stepNumbers = new Map<string, number>();
  readonly #counts = new Map<RowState, number>();
  #lastRow = 0;

  /** The largest row number with a state other than `new`. */
  get lastRow(): number {
    return this.#lastRow;
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

  /** Returns how many rows from 1 to `total` are `new`, and the first of them. */
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

  /** Returns how many rows failed at each step, the most frequent first. */
  failedSteps(): [step: string, rows: number][] {
    const counts = new Map<string, number>();
    const steps = [...this.#stepNumbers.keys()];
    for (const [, number] of this.#failedStep.entries()) {
      const step = steps[number - 1];
      if (step !== undefined) counts.set(step, (counts.get(step) ?? 0) + 1);
    }
    return [...counts].sort(([, a], [, b]) => b - a);
  }

  /** Applies an event to the state of its row. */
  record(event: RowEvent): void {
    const { row } = event;
    const before = this.state(row);
    if (event.event === 'intent') {
      this.#digests.set(row, BigInt(`0x${event.digest}`));
      if (RESTORED_STATES.includes(before)) this.#restorable.set(row, ROW_STATES.indexOf(before));
    }
    if (event.event === 'accepted') {
      this.#ids.set(row, event.id);
      this.#restorable.set(row, 0);
      this.#failedStep.set(row, 0);
    }
    if (event.event === 'ended') this.#ids.delete(row);
    if (event.event === 'ended' && event.status === 'FAILED')
      this.#failedStep.set(row, this.#stepNumber(event.step ?? ''));
    const after = stateAfter(event);
    const isUnsent = event.event === 'intent' || event.event === 'refused';
    const restorable = ROW_STATES[this.#restorable.get(row) ?? 0] ?? 'new';
    this.#setState(row, isUnsent && restorable !== 'new' ? restorable : after);
  }

  #stepNumber(step: string): number {
    const name = this.#stepNumbers.size < MAX_STEPS || this.#stepNumbers.has(step) ? step : OTHER_STEPS;
    const number = this.#stepNumbers.get(name) ?? this.#stepNumbers.size + 1;
    this.#stepNumbers.set(name, number);
    return number;
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
      return 'unknown';
    case 'accepted':
      return 'running';
    case 'refused':
      return STATE_BY_EXIT[event.exit] ?? 'intent';
    case 'ended':
      return event.status === 'FINISHED' ? 'finished' : 'failed';
  }
}
