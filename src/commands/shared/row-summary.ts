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

/** What is said about rows, beside their states. */
export interface SummaryFacts {
  /** The number of rows, if known. */
  total: number | undefined;
  notes: readonly string[];
  /** The files that have their outcomes, for the command that shows all of them; none where it is not said. */
  results: readonly string[];
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
  const next = nextSteps(rows, total, facts);
  const hasLook = results.length > 0 && counts.length > 0 && (reasons.length > 0 || next.length === 0);
  return {
    counts,
    reasons,
    notes,
    next: hasLook ? [...next, lookStep(results, reasons.length > 0)] : next,
  };
}

/** Returns how many rows have each word that some have. */
function countWords(rows: RowStates, total: number): BatchSummary['counts'] {
  const counts = new Map([...WORDS.keys()].map((word) => [word, 0]));
  const add = (state: RowState, count: number) => {
    const word = wordOf(shownState(state));
    if (count > 0) counts.set(word, (counts.get(word) ?? 0) + count);
  };
  for (const [state, count] of rows.counts()) add(state, count);
  add('waiting', total - rows.known);
  return [...counts].filter(([, count]) => count > 0);
}

function stateReason({ state, rows: numbers, ...reason }: RowReason, rows: RowStates): StateReason {
  return {
    ...reason,
    state: shownState(state),
    rows: numbers.map((row) => {
      const id = state === 'lost' ? rows.id(row) : undefined;
      return rows.label(row) + (id === undefined ? '' : ` (${id})`);
    }),
  };
}

/** A step that is not yet a sentence. */
interface Step {
  /** Returns the sentence, without its full stop, in which the command has this name. */
  text(command: string): string;
  /** What precedes the command, if that is printed with these flags. */
  goal: string;
  flags: readonly string[];
}

/** Runs the command once more. */
function again(text: Step['text']): Step {
  return { text, goal: text('the same command'), flags: [] };
}

/** Runs the command with flags. */
function add(goal: string, ...flags: string[]): Step {
  return { text: (command) => `${goal}, add ${flags.join(' ')} to ${command}`, goal, flags };
}

function nextSteps(
  rows: RowStates,
  total: number,
  { onceFile, isBatch, isLimited, command }: SummaryFacts,
): NextStep[] {
  const has = (...states: RowState[]) => states.some((state) => rows.count(state) > 0);
  const isOpen = has('running', 'unauthorized', 'unreachable', 'waiting') || total > rows.known;
  const retried = (Object.keys(ROW_STATES) as RowState[])
    .filter((state) => ROW_STATES[state].again === 'retry-failed' && has(state))
    .reverse()
    .map((state) => wordOf(shownState(state)))
    .join(', ')
    .replace(/, ([^,]*)$/, ' and $1');
  const repeat = (name: string) => {
    if (has('invalid'))
      return `${isOpen ? 'To continue, fix' : 'Fix'} the invalid rows, and run ${name} again`;
    return isLimited
      ? `To send the waiting rows, run ${name} without --limit`
      : `To continue, run ${name} again`;
  };
  const steps = [
    ...(has('unknown') ? unknownSteps(rows, onceFile !== undefined) : []),
    ...(has('held') ? [add('To send a new run for each held row', '--send-changed')] : []),
    ...(has('lost') ? ['For each lost row, check the base URL and the service.'] : []),
    ...(has('invalid') || isOpen ? [again(repeat)] : []),
    ...(retried !== ''
      ? [add(`To run ${retried} rows again${has('rejected') ? ', once corrected' : ''}`, '--retry-failed')]
      : []),
  ];
  const first = steps.findIndex((step) => typeof step !== 'string');
  const same = isBatch
    ? 'the same command'
    : `the wfr ${onceFile === undefined ? 'batch' : 'run'} command that wrote these results`;
  return steps.map((step, index) => {
    if (typeof step === 'string') return { text: step };
    // The command is printed in full, or said in full, once.
    if (index > first) return { text: `${step.text('that command')}.` };
    if (command === undefined) return { text: `${step.text(same)}.` };
    return { text: step.goal, command: command(...step.flags) };
  });
}

function unknownSteps(rows: RowStates, isOnce: boolean): (Step | string)[] {
  const unknown = isOnce ? [] : rows.rowsIn('unknown');
  // What is gone has no inputs to be sent again.
  const gone = unknown.filter((row) => rows.isGone(row));
  const sendable = unknown.filter((row) => !rows.isGone(row));
  const which = unknown.length < rows.count('unknown') ? '' : ` ${sendable.join(',')}`;
  const row = isOnce ? '' : `${unknown[0]}=`;
  return [
    'For each unknown row, check in the service whether its run exists.',
    add('To continue with a run that exists', `--adopt ${row}<id>`),
    ...(which === ' ' ? [] : [add('To send rows again that have none', `--resend-unknown${which}`)]),
    ...(gone.length > 0 ? [add('To settle a row that is gone and has none', `--adopt ${gone[0]}=none`)] : []),
  ];
}

/** Files that a command is printed with at most. */
const MAX_FILES = 3;

/** Returns how to see more of the rows of these results files: the outputs, or where there are reasons a page of all rows. */
function lookStep(files: readonly string[], hasReasons: boolean): NextStep {
  const [first = ''] = files;
  const text = hasReasons ? 'To write a page of all rows' : 'To see the outputs';
  const page = `html=${first.replace(/\.jsonl?$/, '')}.html`;
  const flags = hasReasons ? ['--report', page] : ['-o', 'csv'];
  return files.length > MAX_FILES
    ? { text: `${text}, add ${shellCommand(flags)} to the same command.` }
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
