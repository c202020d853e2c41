/** The end of a batch, from the states of its rows: what is said about it, and its exits. */
import { type Exit, exitOfSeveral } from '../../exit-code.js';
import type { RowsEnding, RunData } from '../../outcome/error-data.js';
import { codeOfState, MAX_LISTED_RUNS, STATES, WORDS, wordOf } from '../../outcome/outcome.js';
import { ROW_STATES, type RowState, shownState } from '../../runs/log/reduce.js';
import type { RowReason, RowStates } from '../../runs/log/row-states.js';
import { shellCommand } from '../../text/shell-quote.js';
import {
  type BatchSummary,
  formatBatchSummary,
  type NextStep,
  type StateReason,
} from '../../view/batch-summary.js';
import { PLAIN } from '../../view/presentation.js';

/** Rows that a reason lists at most; more of those that need a decision. */
const MAX_LISTED_ROWS = 3;
const MAX_LISTED_DECISIONS = 20;

/** What is said about rows, beside their states. */
export interface SummaryFacts {
  /** The number of rows, if known. */
  total: number | undefined;
  notes: readonly string[];
  /** The file that has their outcomes, for the command that shows all of them. */
  results?: string | undefined;
  /** The file of `run --once`, if it has them. */
  onceFile?: string | undefined;
  /** Returns the command that continues with these flags, where it can be printed in full. */
  command?: ((...flags: string[]) => string) | undefined;
  /** Whether wfr batch itself says it, so that "the same command" is that one. */
  isBatch: boolean;
  /** Whether rows wait because of --limit. */
  isLimited?: boolean;
}

/** Returns the summary of rows. */
export function summarize(rows: RowStates, facts: SummaryFacts): BatchSummary {
  const { total = 0, notes, results } = facts;
  const counts = countWords(rows, total);
  const reasons = rows.reasons().map((reason) => stateReason(reason, rows));
  return {
    counts: [...WORDS.keys()].flatMap((word) => {
      const count = counts.get(word);
      return count === undefined ? [] : [[word, count] as const];
    }),
    reasons,
    notes,
    next: [
      ...nextSteps(rows, total, facts),
      ...(reasons.length > 0 && results !== undefined ? [reportStep([results])] : []),
    ],
  };
}

/** Returns how many rows have each word. */
function countWords(rows: RowStates, total: number): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (state: RowState, count: number) => {
    const word = wordOf(shownState(state));
    if (count > 0) counts.set(word, (counts.get(word) ?? 0) + count);
  };
  for (const [state, count] of rows.counts()) add(state, count);
  add('waiting', total - rows.known);
  return counts;
}

function stateReason({ state, rows: numbers, ...reason }: RowReason, rows: RowStates): StateReason {
  const needsDecision = state === 'unknown' || state === 'lost';
  const listed = numbers.slice(0, needsDecision ? MAX_LISTED_DECISIONS : MAX_LISTED_ROWS);
  return {
    ...reason,
    state: shownState(state),
    rows: listed.map((row) => {
      const id = state === 'lost' ? rows.id(row) : undefined;
      return rows.label(row) + (id === undefined ? '' : ` (${id})`);
    }),
  };
}

function nextSteps(
  rows: RowStates,
  total: number,
  { onceFile, isBatch, isLimited, command: full }: SummaryFacts,
): NextStep[] {
  const same = isBatch
    ? 'the same command'
    : onceFile === undefined
      ? 'the same wfr batch command'
      : 'the same wfr run command';
  // The command is printed in full once.
  let isPrinted = false;
  const step = (text: string, ...flags: string[]): NextStep => {
    if (full === undefined || isPrinted)
      return flags.length === 0
        ? { text: `${text}.` }
        : { text: `${text}, add to ${same}`, command: flags.join(' ') };
    isPrinted = true;
    return { text, command: full(...flags) };
  };
  const steps: NextStep[] = [];
  const has = (...states: RowState[]) => states.some((state) => rows.count(state) > 0);
  if (has('unknown')) {
    const unknown = onceFile === undefined ? rows.rowsIn('unknown') : [];
    // What is gone has no inputs to be sent again.
    const gone = unknown.filter((row) => rows.isGone(row));
    const sendable = unknown.filter((row) => !rows.isGone(row));
    const which = unknown.length < rows.count('unknown') ? '' : ` ${sendable.join(',')}`;
    const row = onceFile === undefined ? `${unknown[0]}=` : '';
    steps.push(
      { text: 'For each unknown row, check in the service whether its run exists.' },
      step('To continue with a run that exists', `--adopt ${row}<id>`),
      ...(which === ' ' ? [] : [step('To send rows again that have none', `--resend-unknown${which}`)]),
      ...(gone.length > 0
        ? [step('To settle a row that is gone and has none', `--adopt ${gone[0]}=none`)]
        : []),
    );
  }
  if (has('held')) steps.push(step('To send a new run for each held row', '--send-changed'));
  if (has('lost')) steps.push({ text: 'For each lost row, check the base URL and the service.' });
  const isOpen = has('running', 'unauthorized', 'unreachable', 'waiting') || total > rows.known;
  const retried = (Object.keys(ROW_STATES) as RowState[]).filter(
    (state) => ROW_STATES[state].again === 'retry-failed' && has(state),
  );
  if (has('invalid')) steps.push(step(`Fix the invalid rows, and run ${same} again`));
  else if (isOpen)
    steps.push(
      step(
        isLimited
          ? `To send the waiting rows, run ${same} without --limit`
          : `To continue, run ${same} again`,
      ),
    );
  if (retried.length > 0) {
    const again = retried
      .reverse()
      .map((state) => wordOf(shownState(state)))
      .join(', ')
      .replace(/, ([^,]*)$/, ' and $1');
    const text = `To run ${again} rows again${has('rejected') ? ', once corrected' : ''}`;
    steps.push(step(text, '--retry-failed'));
  }
  return steps;
}

/** Returns how to write a page of all rows of these results files. */
export function reportStep(files: readonly string[]): NextStep {
  const [first = ''] = files;
  const report = `html=${first.replace(/\.jsonl?$/, '')}.html`;
  return resultsStep('To write a page of all rows', files, '--report', report);
}

/** Returns how to see the outputs of all rows of these results files. */
export function outputsStep(files: readonly string[]): NextStep {
  return resultsStep('To see the outputs', files, '-o', 'csv');
}

/** Files that a command is printed with at most. */
const MAX_FILES = 3;

function resultsStep(text: string, files: readonly string[], ...flags: string[]): NextStep {
  return files.length > MAX_FILES
    ? { text: `${text}, add to the same command`, command: shellCommand(flags) }
    : { text, command: shellCommand(['wfr', 'results', ...files, ...flags]) };
}

/** Returns how the rows ended, for programs. `total` is the number of rows, if known. */
export function endingOfRows(rows: RowStates, summary: BatchSummary, total: number | undefined): RowsEnding {
  const open = (['running', 'unreachable', 'waiting'] as const).reduce(
    (sum, state) => sum + rows.count(state),
    0,
  );
  const lines = formatBatchSummary({ ...summary, next: [] }, PLAIN, 0);
  return {
    summary: lines,
    hints: formatBatchSummary(summary, PLAIN, 0).slice(lines.length),
    reasons: summary.reasons,
    hasUnknown: rows.count('unknown') > 0,
    hasOpen: total === undefined || rows.known - open < total,
    ...listRows(rows),
  };
}

/** Returns the rows that were sent, or could not be, and have not finished. */
function listRows(rows: RowStates): Pick<RowsEnding, 'runCount' | 'runs'> {
  const runs: RunData[] = [];
  const uncounted: readonly RowState[] = ['finished', 'waiting', 'gone'];
  const runCount = [...rows.counts()].reduce(
    (sum, [state, count]) => sum + (uncounted.includes(state) ? 0 : count),
    0,
  );
  for (const [row, state] of runCount === 0 ? [] : rows.entries()) {
    if (runs.length === MAX_LISTED_RUNS) break;
    const code = rows.code(row) ?? codeOfState(shownState(state));
    if (code === undefined || state === 'gone') continue;
    // The id of a row that was sent again is not that of the request without a response.
    const hasRun = state === 'running' || state === 'failed' || state === 'lost';
    runs.push({ row, label: rows.label(row), id: (hasRun && rows.id(row)) || null, code });
  }
  return { runCount, runs };
}

const WITHOUT_EXIT: readonly RowState[] = ['running', 'waiting', 'gone'];

/** Returns the exit of a batch, from those of this command and of all rows. Rows without any exit are still waiting. */
export function exitOfRows(exits: readonly Exit[], rows: RowStates): Exit {
  const ended = [...rows.counts()].filter(([state, count]) => count > 0 && !WITHOUT_EXIT.includes(state));
  return exitOfSeveral([...exits, ...ended.map(([state]) => STATES[shownState(state)].exit)]);
}
