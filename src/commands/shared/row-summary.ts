/** What a batch came to, in a few lines and as exits. */
import type { RowState, RowStates } from '../../batch/row-states.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';

/** Rows that are named; beyond them, the results file tells. */
const MAX_LISTED_ROWS = 20;
/** Steps that are named. */
const MAX_LISTED_STEPS = 10;

const STATE_LABELS: readonly (readonly [RowState, string])[] = [
  ['finished', 'FINISHED'],
  ['failed', 'FAILED'],
  ['refused', 'refused'],
  ['accepted', 'still going on'],
  ['bad', 'bad'],
  ['intent', 'not sent'],
  ['sent', 'unknown'],
  ['lost', 'lost'],
];

/** Returns how the state of a row is called in messages. */
export function stateLabel(state: RowState): string {
  return STATE_LABELS.find(([candidate]) => candidate === state)?.[1] ?? 'not begun';
}

/**
 * The counts, the steps at which runs failed, and what is to be looked at; then the notes. `total` is the number of rows,
 * where it is known.
 */
export function summaryLines(
  rowStates: RowStates,
  total: number | undefined,
  notes: readonly string[],
): string[] {
  const counts = STATE_LABELS.filter(([state]) => rowStates.count(state) > 0).map(
    ([state, words]) => `${rowStates.count(state)} ${words}`,
  );
  const begun = STATE_LABELS.reduce((sum, [state]) => sum + rowStates.count(state), 0);
  const rows = Math.max(begun, total ?? 0);
  if (rows > begun) counts.push(`${rows - begun} not begun`);
  const lines = [`${rows} ${rows === 1 ? 'row' : 'rows'}: ${counts.join(', ') || 'the table has none'}`];
  const failedSteps = rowStates.failedSteps();
  for (const [step, count] of failedSteps.slice(0, MAX_LISTED_STEPS)) {
    lines.push(`  Failed at step ${step === '' ? '(the service named none)' : sanitize(step)}: ${count}`);
  }
  if (failedSteps.length > MAX_LISTED_STEPS)
    lines.push(
      `  Failed at ${failedSteps.length - MAX_LISTED_STEPS} more steps: the results file tells which`,
    );
  if (rowStates.count('sent') > 0) {
    lines.push(
      `  Unknown, a run may exist: ${listRows('sent', rowStates)}. Look at the service: --adopt <row>=<id> continues with a run that you find; --resend-unknown <rows> sends rows again that have none.`,
    );
  }
  if (rowStates.count('lost') > 0) {
    lines.push(
      `  Lost, the service no longer knows the run (404): ${listRows('lost', rowStates)}. Check the base URL and the service; --retry-lost triggers them again.`,
    );
  }
  if (rowStates.count('accepted') + rowStates.count('intent') > 0)
    lines.push('  The same wfr batch goes on where it stopped.');
  if (rowStates.count('bad') > 0) {
    lines.push(`  Bad: ${listRows('bad', rowStates)}. Mend them, and give the same command again.`);
  }
  if (rowStates.count('failed') + rowStates.count('refused') > 0) {
    lines.push('  --retry-failed triggers what FAILED or was refused anew.');
  }
  return [...lines, ...notes];
}

/** The exits that the rows' states stand for, each once. */
export function exitsOfRows(rowStates: RowStates): Exit[] {
  const exits: [RowState, Exit][] = [
    ['finished', ExitCode.ok],
    ['failed', ExitCode.runFailed],
    ['refused', ExitCode.refused],
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

/** The number of a row, and where the service has forgotten its run, the id. */
function rowText(row: number, state: RowState, rowStates: RowStates): string {
  return state === 'lost' ? `${row} (${sanitize(rowStates.id(row) ?? '')})` : String(row);
}
