/** The rows of results files as data, one at a time and in table order: a batch may have millions. */
import { LineReader } from '../../batch/journal/line-reader.js';
import { parseEvent, type ReadEvent } from '../../batch/journal/read-events.js';
import { LOST, NO_RESPONSE, type RowState } from '../../batch/row-states.js';
import { BatchFileError } from '../../errors.js';
import { withoutLabel } from '../../text/reason-groups.js';
import type { Outcome } from '../../view/outcome.js';
import { outcomeOfState } from '../shared/row-summary.js';
import type { JoinedFiles } from './join-files.js';

/** A row; the order of the members is that of `wfr results -o json` and of the columns of `-o csv`. */
export interface ResultRow {
  row: number;
  label: string | null;
  id: string | null;
  outcome: Outcome;
  /** The service's, of a run that has ended. */
  status: string | null;
  step: string | null;
  /** Why it did not succeed, not sanitized. */
  message: string | null;
  /** When the run was accepted, in UTC (ISO 8601). */
  started: string | null;
  /** From then until its end was seen, in seconds. */
  duration: number | null;
  /** JSON text. */
  output: Uint8Array | null;
}

/** Yields the rows that were begun. Throws BatchFileError if a file has changed, and the system's error. */
export async function* readRows({
  rowStates,
  rowLines,
  fileOf,
}: JoinedFiles): AsyncGenerator<ResultRow, void, void> {
  const readers = new Map<string, LineReader>();
  try {
    for (const [row, state] of rowStates.entries()) {
      const { path, name } = fileOf(row);
      const reader = readers.get(path) ?? (await LineReader.open(path));
      readers.set(path, reader);
      const events: Partial<Record<string, ReadEvent>> = {};
      for (const [kind, offset] of Object.entries(rowLines.of(row, state))) {
        const event = parseEvent(await reader.read(offset), offset);
        if (event?.row !== row) throw new BatchFileError(`${name}: was changed while it was read`);
        events[kind] = event;
      }
      yield toRow(row, state, events);
    }
  } finally {
    for (const reader of readers.values()) await reader.close();
  }
}

function toRow(
  row: number,
  state: RowState,
  { first, accepted, ended, ...unsent }: Partial<Record<string, ReadEvent>>,
): ResultRow {
  const { run } = ended ?? {};
  const label = textOf(first?.fields.label);
  const recorded = textOf((unsent.refused ?? unsent.unknown)?.fields.reason) ?? REASONS[state];
  const reason = run === undefined ? recorded : run.error?.message;
  return {
    row,
    label,
    id: run?.id ?? textOf(accepted?.fields.id),
    outcome: outcomeOfState(state),
    status: run?.status ?? null,
    step: run?.error?.step ?? null,
    message: reason === undefined ? null : withoutLabel(reason, label ?? undefined),
    started: textOf(accepted?.fields.time),
    duration: secondsBetween(accepted, ended),
    output: run?.status === 'FINISHED' ? (run.output ?? null) : null,
  };
}

const REASONS: Partial<Record<RowState, string>> = {
  unknown: NO_RESPONSE,
  lost: LOST,
};

const textOf = (value: unknown) => (typeof value === 'string' ? value : null);

function secondsBetween(start: ReadEvent | undefined, end: ReadEvent | undefined): number | null {
  const [from, to] = [textOf(start?.fields.time), textOf(end?.fields.time)];
  return from === null || to === null ? null : (Date.parse(to) - Date.parse(from)) / 1_000;
}
