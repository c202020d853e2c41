/** The end of a batch, from the states of its rows: what is said about it, and its exits. */
import type { RowReason, RowState, RowStates } from '../../batch/row-states.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { shellCommand } from '../../text/shell-quote.js';
import {
  type BatchSummary,
  formatBatchSummary,
  type NextStep,
  type OutcomeReason,
} from '../../view/batch-summary.js';
import type { RowsEnding } from '../../view/error-data/error-data.js';
import { OUTCOMES, type Outcome } from '../../view/outcome.js';
import { PLAIN } from '../../view/style.js';

/** Rows that a reason lists at most; more of those that need a decision. */
const MAX_LISTED_ROWS = 3;
const MAX_LISTED_DECISIONS = 20;

/** Returns the outcome that a state stands for. */
export function outcomeOfState(state: RowState): Outcome {
  return state === 'new' || state === 'intent' ? 'not sent' : state;
}

/** Returns the summary of rows. `total` is the number of rows, if known; `results` the file that has their outcomes. */
export function summarize(
  rowStates: RowStates,
  total: number | undefined,
  notes: readonly string[],
  results?: string,
): BatchSummary {
  const counts = countOutcomes(rowStates, total ?? 0);
  const reasons = rowStates.reasons().map((reason) => outcomeReason(reason, rowStates));
  return {
    counts: OUTCOMES.flatMap((outcome) => {
      const count = counts.get(outcome);
      return count === undefined ? [] : [[outcome, count] as const];
    }),
    reasons,
    notes,
    next: [
      ...nextSteps(counts, rowStates),
      ...(reasons.length > 0 && results !== undefined ? [reportStep(results)] : []),
    ],
  };
}

/** Returns how many rows have each outcome. */
function countOutcomes(rowStates: RowStates, total: number): Map<Outcome, number> {
  const counts = new Map<Outcome, number>();
  const add = (outcome: Outcome, count: number) => {
    if (count > 0) counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  };
  for (const [state, count] of rowStates.counts()) add(outcomeOfState(state), count);
  add('not sent', total - rowStates.known);
  return counts;
}

function outcomeReason({ state, rows, ...reason }: RowReason, rowStates: RowStates): OutcomeReason {
  const needsDecision = state === 'unknown' || state === 'lost';
  const listed = rows.slice(0, needsDecision ? MAX_LISTED_DECISIONS : MAX_LISTED_ROWS);
  return {
    ...reason,
    outcome: outcomeOfState(state),
    rows: listed.map((row) => {
      const id = state === 'lost' ? rowStates.id(row) : undefined;
      return rowStates.label(row) + (id === undefined ? '' : ` (${id})`);
    }),
  };
}

function nextSteps(counts: ReadonlyMap<Outcome, number>, rowStates: RowStates): NextStep[] {
  const has = (...outcomes: Outcome[]) => outcomes.some((outcome) => counts.has(outcome));
  const steps: NextStep[] = [];
  if (has('unknown')) {
    const rows = rowStates.rowsIn('unknown');
    const which = rows.length < rowStates.count('unknown') ? '' : ` ${rows.join(',')}`;
    steps.push(
      { text: 'For each unknown row, look at the service whether its run exists.' },
      { text: 'To continue with a run that exists', command: `wfr batch … --adopt ${rows[0]}=<id>` },
      { text: 'To send rows again that have none', command: `wfr batch … --resend-unknown${which}` },
    );
  }
  if (has('lost')) {
    const text = 'Check the base URL and the service. To run lost rows again';
    steps.push({ text, command: 'wfr batch … --retry-lost' });
  }
  const isOpen = has('running', 'unauthorized', 'unreachable', 'not sent');
  const again = (['failed', 'rejected'] as const).filter((outcome) => counts.has(outcome)).join(' and ');
  if (has('invalid')) steps.push({ text: 'Fix the invalid rows, and run the same command again.' });
  else if (isOpen) steps.push({ text: 'To continue, run the same command again.' });
  if (again !== '') {
    const text = isOpen ? `To continue with ${again} rows, too` : `To run ${again} rows again`;
    steps.push({ text, command: 'wfr batch … --retry-failed' });
  }
  return steps;
}

function reportStep(results: string): NextStep {
  const report = `html=${results.replace(/\.jsonl?$/, '')}.html`;
  return { text: 'To see all rows', command: shellCommand(['wfr', 'results', results, '--report', report]) };
}

/** Returns how the rows ended, for programs. `total` is the number of rows, if known. */
export function endingOfRows(
  rowStates: RowStates,
  summary: BatchSummary,
  total: number | undefined,
): RowsEnding {
  const settled = ['finished', 'failed', 'rejected', 'unauthorized', 'invalid', 'unknown', 'lost'] as const;
  const count = settled.reduce((sum, state) => sum + rowStates.count(state), 0);
  const hasUnknown = rowStates.count('unknown') > 0;
  const lines = formatBatchSummary({ ...summary, next: [] }, PLAIN, 0);
  return {
    summary: lines,
    hints: formatBatchSummary(summary, PLAIN, 0).slice(lines.length),
    reasons: summary.reasons,
    hasUnknown,
    hasOpen: total === undefined || count < total,
  };
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
