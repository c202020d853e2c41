/** The state of each row of a batch, in a few bytes a row, so that tables of millions of rows fit into memory. */
import type { ErrorCode } from '../../exit-code.js';
import { failureMessage } from '../../outcome/outcome.js';
import { createReasonGroups, piecesOf, type ReasonGroup } from '../../text/reason-groups.js';
import { ROW_LABEL, withoutLabel } from '../../text/row-label.js';
import { createPagedArray } from './compact-lists.js';
import type { RecordedError, RowEvent } from './events.js';
import {
  errorOf,
  hasNoRun,
  type KnownOfRow,
  NEW_ROW,
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
/** The longest message (characters) that is kept of a row beside that of its group. */
const MAX_MESSAGE = 1_000;
/** Ids that are kept, of runs that have failed. */
const MAX_FAILED_IDS = 1_000;

/** A state and why rows are in it: all rows with the same share one object, so that each takes the memory of a pointer. */
interface Known {
  state: RowState;
  code?: ErrorCode | undefined;
  reason?: ReasonGroup<number>;
}

export type RowStates = ReturnType<typeof createRowStates>;

/** Returns the states of no rows yet. */
export function createRowStates() {
  const standings = createPagedArray<Standing<Known>>();
  /** The shared objects, by what they say. */
  const sharedStandings = new Map<string, Standing<Known>>();
  const ids = new Map<number, string>();
  const labels = new Map<number, string>();
  const lines = createPagedArray<number>();
  /** The pieces of the messages of invalid rows, which no service writes. */
  const messages = new Map<number, readonly string[]>();
  const groups = createReasonGroups<number>();
  /** Every row is sent, and few stay unknown: the text of this reason is parsed once. */
  const noResponse = know('unknown', { code: 'unknown-outcome', reason: NO_RESPONSE }, 0);
  const counts = new Map<RowState, number>();
  let isFound = (_row: number) => true;
  let known = 0;

  return {
    state,
    recordedState,
    isNew,
    isGone,
    count,
    entries,

    /** The number of rows in the table that are not new. */
    get known(): number {
      return known;
    },

    /** Sets which rows are in the table. */
    setFound(isInTable: (row: number) => boolean): void {
      isFound = isInTable;
      counts.clear();
      known = 0;
      for (const [row] of standings.entries()) {
        changeCount(row, 1);
        if (isFound(row)) known++;
      }
    },

    /** Returns the run id of a row that is `running` or `lost`, and of the first that have failed. */
    id: (row: number) => ids.get(row),

    /** Returns the code of a row's error; undefined if it has none. */
    code: (row: number) => standingOf(row).now.code,

    /** Returns how users know a row, such as `rows.csv:12`. */
    label: (row: number) => labels.get(row) ?? `row ${row}`,

    /** Returns the line of the table where a row was last; of a file, its number. */
    line,

    /** Returns the number of rows in each state, without those that are new, or are gone and have no run. */
    counts: (): ReadonlyMap<RowState, number> => counts,

    /**
     * Returns why the included rows did not succeed, the most frequent reason first, with the first rows of each, and of
     * invalid ones the paths in which their messages differ. `code` is undefined if their runs ended, `step` empty if none of
     * these failed; `message` may have several lines, not yet sanitized.
     */
    reasons(isIncluded = (_row: number) => true) {
      const listed = new Map<Known, { rows: number[]; count: number }>();
      for (const [row, rowState] of entries()) {
        const { now } = standingOf(row);
        if (!now.reason || rowState === 'gone' || !isIncluded(row)) continue;
        const group = listed.get(now) ?? { rows: [], count: 0 };
        if (++group.count <= MAX_LISTED_ROWS) group.rows.push(row);
        listed.set(now, group);
      }
      return [...listed]
        .sort(([, one], [, other]) => other.count - one.count)
        .map(([{ state, code, reason }, group]) => {
          const { step = '', pieces: common = [] } = reason ?? {};
          const own = group.rows.map((row) => messages.get(row) ?? common);
          // Others that had the reason may be corrected by now.
          const pieces = (group.count === 1 && own[0]) || common;
          // A number alone says little. The pieces of all further reasons are not those of its rows.
          const isOwn = (piece: string, index: number) =>
            index % 2 === 1 && piece !== pieces[index] && /[a-z]/i.test(piece);
          const differences = own.map((all) => new Set(all.filter(isOwn)));
          return { state, code, step, message: pieces.join(''), differences, ...group };
        });
    },

    /** Applies an event to the state of its row. */
    apply(event: RowEvent): void {
      const { row, label } = event;
      const isBegun = event.event === 'intent' || (event.event === 'recorded' && event.held !== undefined);
      const isKnown = labels.has(row) || (isBegun && labels.size < MAX_LABELS);
      if (label !== undefined && isKnown) labels.set(row, label);
      const [, line] = ROW_LABEL.exec(label ?? '') ?? [];
      if (line !== undefined) lines.set(row, Number(line));
      const standing = standingOf(row);
      const next = transition(standing, event, (next) => knownAfter(next, standing.now, event));
      if (next === standing) return;
      if (event.event === 'accepted') ids.set(row, event.id);
      setStanding(row, next);
      const { state: now } = next.now;
      if (event.event === 'ended' && (now === 'finished' || count(now) > MAX_FAILED_IDS)) ids.delete(row);
      if (ROW_STATES[now] === 'skip') labels.delete(row);
    },

    /** Says why a row is in its state, until its next event. */
    setReason(row: number, error: RecordedError): void {
      standings.set(row, share(know(recordedState(row), error, row)));
    },
  };

  /** Returns the state of a row. A row that is gone is `gone`, unless its run goes on or may exist. */
  function state(row: number): RowState {
    const recorded = recordedState(row);
    return recorded !== 'running' && recorded !== 'unknown' && isGone(row) ? 'gone' : recorded;
  }

  /** Returns the state of a row, wherever it is. */
  function recordedState(row: number): RowState {
    return standingOf(row).now.state;
  }

  /** Returns whether no event has changed the state of a row. */
  function isNew(row: number): boolean {
    return !standings.get(row);
  }

  /** Returns whether a row that was begun is not in the table any more. */
  function isGone(row: number): boolean {
    return !isNew(row) && !isFound(row);
  }

  /** Returns whether a row is gone that has no run: nothing is lost with it. */
  function isDropped(row: number): boolean {
    return isGone(row) && hasNoRun(recordedState(row));
  }

  /** Returns the number of rows in a state. */
  function count(rowState: RowState): number {
    return counts.get(rowState) ?? 0;
  }

  /** Yields each row with its state, in the order of the table; then those that are gone, if they have a run. */
  function* entries(): Generator<[row: number, state: RowState], void, void> {
    const rows: number[] = [];
    for (const [row] of standings.entries()) if (!isDropped(row)) rows.push(row);
    const goneLast = (row: number) => Number(!isFound(row));
    rows.sort((one, other) => goneLast(one) - goneLast(other) || line(one) - line(other));
    for (const row of rows) yield [row, state(row)];
  }

  function line(row: number): number {
    return lines.get(row) ?? row;
  }

  function standingOf(row: number): Standing<Known> {
    return standings.get(row) ?? NEW_ROW;
  }

  /** Returns what is kept of what is known of a row after an event. */
  function knownAfter(next: KnownOfRow, before: Known, event: RowEvent): Known {
    const { row } = event;
    const { state: rowState } = next;
    // A row that is unknown and sent again keeps its reason meanwhile.
    if (event.event === 'sent') return before.state === 'unknown' ? before : noResponse;
    if (event.event === 'ended' && ROW_STATES[rowState] !== 'skip') {
      const { run } = event;
      return know(rowState, { reason: failureMessage(run) }, row, run.error?.step);
    }
    const error = errorOf(next);
    return error ? know(rowState, error, row) : { state: rowState };
  }

  function know(
    rowState: RowState,
    { code, reason: message }: { code?: ErrorCode; reason: string },
    row: number,
    step = '',
  ): Known {
    const text = withoutLabel(message, labels.get(row));
    messages.delete(row);
    if (rowState === 'invalid' && text.length <= MAX_MESSAGE && messages.size < MAX_LABELS)
      messages.set(row, piecesOf(text));
    const reason = groups.add({ outcome: `${rowState} ${code}`, step, message: text }, row);
    return share({ state: rowState, code, reason }).now;
  }

  /** Returns the object for all rows of which this is known, and nothing else. */
  function share(known: Known): Standing<Known> {
    const key = known.reason ? `${known.state} ${known.code} ${known.reason.id}` : known.state;
    const shared = sharedStandings.get(key) ?? { now: known };
    sharedStandings.set(key, shared);
    return shared;
  }

  function setStanding(row: number, { now, before, settled }: Standing<Known>): void {
    if (isNew(row)) known++;
    else changeCount(row, -1);
    const isAlone = !before && !settled;
    standings.set(row, isAlone ? share(now) : { now, before, settled });
    changeCount(row, 1);
  }

  function changeCount(row: number, change: number): void {
    if (!isDropped(row)) counts.set(state(row), count(state(row)) + change);
  }
}
