/** What is known of each row of a batch: a few bytes a row, so that a table of millions fits. */
import { ExitCode } from '../exit-code.js';

/**
 * `sent` is a row whose request may be complete while nothing is known of its answer; `intent` one of which no run can
 * exist; `bad` one that cannot be sent as it is; `refused` one that the service has refused for good.
 */
const ROW_STATES = ['new', 'intent', 'bad', 'sent', 'accepted', 'refused', 'finished', 'failed'] as const;
export type RowState = (typeof ROW_STATES)[number];

/** What a row was before it was sent again: if that comes to nothing, it still is. */
const LASTING: readonly RowState[] = ['sent', 'refused', 'failed'];

/** What an event says of its row. */
export type RowFact =
  | { event: 'intent'; row: number; digest: string }
  | { event: 'sent'; row: number }
  | { event: 'accepted'; row: number; id: string }
  | { event: 'refused'; row: number; exit: number }
  | { event: 'ended'; row: number; status: string | undefined; step: string | undefined };

const SMALLEST = 1_024;
/** Rows that are named one by one; beyond them, their number is enough. */
const MOST_NAMED = 1_000;

export class Ledger {
  #states = new Uint8Array(SMALLEST);
  #digests = new BigUint64Array(SMALLEST);
  /** The lasting state of a row that is being sent again, until the service has accepted it. */
  #earlier = new Uint8Array(SMALLEST);
  readonly #ids = new Map<number, string>();
  readonly #failedAt = new Map<number, string>();
  readonly #counts = new Map<RowState, number>();
  #last = 0;

  /** The largest number of a row of which something is known. */
  get lastRow(): number {
    return this.#last;
  }

  state(row: number): RowState {
    return ROW_STATES[this.#states[row] ?? 0] ?? 'new';
  }

  /** The digest of a row's inputs, 16 hexadecimal digits; undefined for a row that was never meant to be sent. */
  digest(row: number): string | undefined {
    if (this.state(row) === 'new') return undefined;
    return (this.#digests[row] ?? 0n).toString(16).padStart(16, '0');
  }

  /** The id of the run of a row that is `accepted`. */
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
    for (let row = 1; row <= this.#last && rows.length < MOST_NAMED; row++) {
      if (this.state(row) === state) rows.push(row);
    }
    return rows;
  }

  /** How many rows failed at each step, the most frequent first. */
  failedSteps(): [step: string, rows: number][] {
    const counts = new Map<string, number>();
    for (const step of this.#failedAt.values()) counts.set(step, (counts.get(step) ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a);
  }

  /** Takes in what happened to a row. */
  record(fact: RowFact): void {
    const { row } = fact;
    this.#makeRoom(row);
    const before = this.state(row);
    if (fact.event === 'intent') {
      this.#digests[row] = BigInt(`0x${fact.digest}`);
      if (LASTING.includes(before)) this.#earlier[row] = ROW_STATES.indexOf(before);
    }
    if (fact.event === 'accepted') {
      this.#ids.set(row, fact.id);
      this.#earlier[row] = 0;
      this.#failedAt.delete(row);
    }
    if (fact.event === 'ended') this.#ids.delete(row);
    if (fact.event === 'ended' && fact.status === 'FAILED') this.#failedAt.set(row, fact.step ?? '');
    const after = stateAfter(fact);
    const isBack = fact.event === 'intent' || fact.event === 'refused';
    const earlier = ROW_STATES[this.#earlier[row] ?? 0] ?? 'new';
    this.#enter(row, isBack && earlier !== 'new' ? earlier : after);
  }

  #enter(row: number, state: RowState): void {
    const before = this.state(row);
    if (before !== 'new') this.#counts.set(before, this.count(before) - 1);
    this.#counts.set(state, this.count(state) + 1);
    this.#states[row] = ROW_STATES.indexOf(state);
    this.#last = Math.max(this.#last, row);
  }

  #makeRoom(row: number): void {
    if (row < this.#states.length) return;
    const size = Math.max(row + 1, Math.ceil(this.#states.length * 1.5));
    const states = new Uint8Array(size);
    states.set(this.#states);
    this.#states = states;
    const digests = new BigUint64Array(size);
    digests.set(this.#digests);
    this.#digests = digests;
    const earlier = new Uint8Array(size);
    earlier.set(this.#earlier);
    this.#earlier = earlier;
  }
}

function stateAfter(fact: RowFact): RowState {
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
