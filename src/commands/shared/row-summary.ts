/** The summary of a batch, as lines and as exits. */
import type { RowState, RowStates } from '../../batch/row-states.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';
import type { RowsEnding } from '../../view/errors/error-data.js';
import { OUTCOMES, type Outcome } from '../../view/outcome.js';

/** Rows that are listed at most; the results file has all. */
const MAX_LISTED_ROWS = 20;
/** Failed steps that are listed at most. */
const MAX_LISTED_STEPS = 10;

/** Returns the outcome that a state stands for. */
export function outcomeOfState(state: RowState): Outcome {
  return state === 'new' || state === 'intent' ? 'not sent' : state;
}

/** Returns the counts, the failed steps, what to do next, and the notes. `total` is the number of rows, if known. */
export function summaryLines(
  rowStates: RowStates,
  total: number | undefined,
  notes: readonly string[],
): string[] {
  return [
    countsLine(rowStates, total ?? 0),
    ...failedStepLines(rowStates),
    ...nextStepLines(rowStates),
    ...notes,
  ];
}

function countsLine(rowStates: RowStates, total: number): string {
  const counts = countOutcomes(rowStates, total);
  const rows = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const texts = OUTCOMES.filter((outcome) => counts.has(outcome)).map(
    (outcome) => `${counts.get(outcome)} ${outcome}`,
  );
  return `${rows} ${rows === 1 ? 'row' : 'rows'}: ${texts.join(', ') || 'the table is empty'}`;
}

/** Returns how many rows have each outcome. `total` is the number of rows, as far as it is known. */
function countOutcomes(rowStates: RowStates, total: number): Map<Outcome, number> {
  const counts = new Map<Outcome, number>();
  const add = (outcome: Outcome, count: number) => {
    if (count > 0) counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  };
  let known = 0;
  for (const [state, count] of rowStates.counts()) {
    add(outcomeOfState(state), count);
    known += count;
  }
  add('not sent', total - known);
  return counts;
}

function failedStepLines(rowStates: RowStates): string[] {
  const steps = rowStates.failedSteps();
  const lines = steps
    .slice(0, MAX_LISTED_STEPS)
    .map(([step, count]) => `  Failed at step ${step === '' ? '(no name)' : sanitize(step)}: ${count}`);
  const more = steps.length - lines.length;
  return more > 0 ? [...lines, `  Failed at ${more} more steps; see the results file`] : lines;
}

function nextStepLines(rowStates: RowStates): string[] {
  const has = (...states: RowState[]) => states.some((state) => rowStates.count(state) > 0);
  const lines: string[] = [];
  if (has('unknown')) {
    lines.push(
      `  Unknown, a run may exist: ${listRows('unknown', rowStates)}. Check the service: --adopt <row>=<id> continues with a run that exists; --resend-unknown <rows> sends rows again that have none.`,
    );
  }
  if (has('lost')) {
    lines.push(
      `  Lost, the service no longer knows the run (404): ${listRows('lost', rowStates)}. Check the base URL and the service; --retry-lost runs these rows again.`,
    );
  }
  if (has('running', 'unauthorized', 'unreachable', 'intent'))
    lines.push('  To continue, run the same command again.');
  if (has('invalid')) {
    lines.push(`  Invalid: ${listRows('invalid', rowStates)}. Fix them and run the same command again.`);
  }
  if (has('failed', 'rejected')) {
    lines.push('  To run failed and rejected rows again: wfr batch … --retry-failed');
  }
  return lines;
}

/** Returns how the rows ended, for programs. `total` is the number of rows, if known. */
export function endingOfRows(
  rowStates: RowStates,
  summary: readonly string[],
  total: number | undefined,
): RowsEnding {
  const settled = ['finished', 'failed', 'rejected', 'unauthorized', 'invalid', 'unknown', 'lost'] as const;
  const count = settled.reduce((sum, state) => sum + rowStates.count(state), 0);
  const hasUnknown = rowStates.count('unknown') > 0;
  return { summary, hasUnknown, hasOpen: total === undefined || count < total };
}

/** Returns the exit of each row state that occurs. */
export function exitsOfRows(rowStates: RowStates): Exit[] {
  const exits: [RowState, Exit][] = [
    ['finished', ExitCode.ok],
    ['failed', ExitCode.runFailed],
    ['rejected', ExitCode.rejected],
    ['unauthorized', ExitCode.unauthorized],
    ['unreachable', ExitCode.unreachable],
    ['unknown', ExitCode.unknownOutcome],
    ['lost', ExitCode.unreachable],
    ['invalid', ExitCode.usage],
  ];
  return exits.filter(([state]) => rowStates.count(state) > 0).map(([, exit]) => exit);
}

function listRows(state: RowState, rowStates: RowStates): string {
  const rows = rowStates.rowsIn(state);
  const more = rowStates.count(state) - Math.min(rows.length, MAX_LISTED_ROWS);
  const shown = rows
    .slice(0, MAX_LISTED_ROWS)
    .map((row) => rowText(row, state, rowStates))
    .join(', ');
  return `${rows.length === 1 ? 'row' : 'rows'} ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Returns the number of a row; for a lost row, with the id of its run. */
function rowText(row: number, state: RowState, rowStates: RowStates): string {
  return state === 'lost' ? `${row} (${sanitize(rowStates.id(row) ?? '')})` : String(row);
}
