/** The summary of a batch, as lines and as exits. */
import type { RowState, RowStates } from '../../batch/row-states.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';

/** Rows that are listed at most; the results file has all. */
const MAX_LISTED_ROWS = 20;
/** Failed steps that are listed at most. */
const MAX_LISTED_STEPS = 10;

const STATE_LABELS: readonly (readonly [RowState, string])[] = [
  ['finished', 'FINISHED'],
  ['failed', 'FAILED'],
  ['refused', 'rejected'],
  ['accepted', 'still running'],
  ['bad', 'invalid'],
  ['intent', 'not sent'],
  ['sent', 'unknown'],
  ['lost', 'lost'],
];

/** Returns the name of a state in messages. */
export function stateLabel(state: RowState): string {
  return STATE_LABELS.find(([candidate]) => candidate === state)?.[1] ?? 'not started';
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
  const known = STATE_LABELS.filter(([state]) => rowStates.count(state) > 0);
  const counts = known.map(([state, label]) => `${rowStates.count(state)} ${label}`);
  const started = known.reduce((sum, [state]) => sum + rowStates.count(state), 0);
  const rows = Math.max(started, total);
  if (rows > started) counts.push(`${rows - started} not started`);
  return `${rows} ${rows === 1 ? 'row' : 'rows'}: ${counts.join(', ') || 'the table is empty'}`;
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
  if (has('sent')) {
    lines.push(
      `  Unknown, a run may exist: ${listRows('sent', rowStates)}. Check the service: --adopt <row>=<id> continues with a run that exists; --resend-unknown <rows> sends rows again that have none.`,
    );
  }
  if (has('lost')) {
    lines.push(
      `  Lost, the service no longer knows the run (404): ${listRows('lost', rowStates)}. Check the base URL and the service; --retry-lost runs these rows again.`,
    );
  }
  if (has('accepted', 'intent')) lines.push('  To continue, run the same command again.');
  if (has('bad')) {
    lines.push(`  Invalid: ${listRows('bad', rowStates)}. Fix them and run the same command again.`);
  }
  if (has('failed', 'refused')) {
    lines.push('  To run failed and rejected rows again: wfr batch … --retry-failed');
  }
  return lines;
}

/** Returns the exit of each row state that occurs. */
export function exitsOfRows(rowStates: RowStates): Exit[] {
  const exits: [RowState, Exit][] = [
    ['finished', ExitCode.ok],
    ['failed', ExitCode.runFailed],
    ['refused', ExitCode.rejected],
    ['sent', ExitCode.unknownOutcome],
    ['lost', ExitCode.unreachable],
    ['bad', ExitCode.usage],
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
