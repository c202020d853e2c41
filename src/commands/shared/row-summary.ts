/** What a batch came to, in a few lines and as exits. */
import type { RowState, RowStates } from '../../batch/row-states.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';

/** Rows that are named; beyond them, the results file tells. */
const MOST_NAMED = 20;
/** Steps that are named. */
const MOST_STEPS = 10;

const WORDS: readonly (readonly [RowState, string])[] = [
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
export function stateText(state: RowState): string {
  return WORDS.find(([candidate]) => candidate === state)?.[1] ?? 'not begun';
}

/**
 * The counts, the steps at which runs failed, and what is to be looked at; then the notes. `total` is the number of rows,
 * where it is known.
 */
export function summaryLines(
  ledger: RowStates,
  total: number | undefined,
  notes: readonly string[],
): string[] {
  const counts = WORDS.filter(([state]) => ledger.count(state) > 0).map(
    ([state, words]) => `${ledger.count(state)} ${words}`,
  );
  const begun = WORDS.reduce((sum, [state]) => sum + ledger.count(state), 0);
  const rows = Math.max(begun, total ?? 0);
  if (rows > begun) counts.push(`${rows - begun} not begun`);
  const lines = [`${rows} ${rows === 1 ? 'row' : 'rows'}: ${counts.join(', ') || 'the table has none'}`];
  const failedSteps = ledger.failedSteps();
  for (const [step, count] of failedSteps.slice(0, MOST_STEPS)) {
    lines.push(`  Failed at step ${step === '' ? '(the service named none)' : sanitize(step)}: ${count}`);
  }
  if (failedSteps.length > MOST_STEPS)
    lines.push(`  Failed at ${failedSteps.length - MOST_STEPS} more steps: the results file tells which`);
  if (ledger.count('sent') > 0) {
    lines.push(
      `  Unknown, a run may exist: ${named('sent', ledger)}. Look at the service: --adopt <row>=<id> continues with a run that you find; --resend-unknown <rows> sends rows again that have none.`,
    );
  }
  if (ledger.count('lost') > 0) {
    lines.push(
      `  Lost, the service no longer knows the run (404): ${named('lost', ledger)}. Check the base URL and the service; --retry-lost triggers them again.`,
    );
  }
  if (ledger.count('accepted') + ledger.count('intent') > 0)
    lines.push('  The same wfr batch goes on where it stopped.');
  if (ledger.count('bad') > 0) {
    lines.push(`  Bad: ${named('bad', ledger)}. Mend them, and give the same command again.`);
  }
  if (ledger.count('failed') + ledger.count('refused') > 0) {
    lines.push('  --retry-failed triggers what FAILED or was refused anew.');
  }
  return [...lines, ...notes];
}

/** The exits that the rows' states stand for, each once. */
export function exitsOf(ledger: RowStates): Exit[] {
  const exits: [RowState, Exit][] = [
    ['finished', ExitCode.ok],
    ['failed', ExitCode.runFailed],
    ['refused', ExitCode.refused],
    ['sent', ExitCode.unknownOutcome],
    ['lost', ExitCode.unreachable],
    ['bad', ExitCode.usage],
  ];
  return exits.filter(([state]) => ledger.count(state) > 0).map(([, exit]) => exit);
}

function named(state: RowState, ledger: RowStates): string {
  const rows = ledger.rowsIn(state);
  const more = ledger.count(state) - Math.min(rows.length, MOST_NAMED);
  const shown = rows
    .slice(0, MOST_NAMED)
    .map((row) => withRun(row, state, ledger))
    .join(', ');
  return `${rows.length === 1 ? 'row' : 'rows'} ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The number of a row, and where the service has forgotten its run, the id. */
function withRun(row: number, state: RowState, ledger: RowStates): string {
  return state === 'lost' ? `${row} (${sanitize(ledger.id(row) ?? '')})` : String(row);
}
