/** The end of a batch, from the states of its rows: what is said about it, and its exits. */
import { basename } from 'node:path';
import { type Exit, exitOfSeveral } from '../../exit-code.js';
import type { RowsEnding, RunData } from '../../outcome/error-data.js';
import { countWords, MAX_LISTED_RUNS, STATES, type State, tableOf, wordOf } from '../../outcome/outcome.js';
import { hasNoRun, haveNoRuns, ROW_STATES, type RowState } from '../../runs/log/reduce.js';
import type { RowStates } from '../../runs/log/row-states.js';
import { listFirst } from '../../text/quantity.js';
import { shellCommand } from '../../text/shell-quote.js';
import { type BatchSummary, formatBatchSummary } from '../../view/batch-summary.js';
import { type NextStep, PLAIN, stepLines } from '../../view/presentation.js';

/** Stands for the value of an input in a command: no shell runs it until this is replaced. */
export const AS_BEFORE = '<as-before>';

/** What is said about rows, beside their states. */
export interface SummaryFacts {
  /** The number of rows, if known. */
  total: number | undefined;
  notes: readonly string[];
  /** The arguments of the command that prints their outputs; none where it is not said. */
  results: readonly string[];
  /** Whether it is the run of `run --once`. */
  isOnce?: boolean;
  /** Returns the command that continues with these flags, where it can be printed in full. */
  command?: ((...flags: string[]) => string | undefined) | undefined;
  /** What continues with the rows, in words, such as "the same command", and what to change in it to run it again. */
  same: string;
  change?: string;
  /** Whether rows wait because of --limit. */
  isLimited?: boolean;
  /** Whether what is sent once it is corrected may be a row that is gone, so that it is held. */
  isUndecided?: boolean;
  /** The arguments of the command that lists the rows: none where they are listed; undefined where more rows are to come. */
  list?: readonly string[] | undefined;
  /** The table that was sent, if it is known. */
  table?: string | undefined;
  /** The outcomes of the rows that are listed and saved; undefined for all. */
  only?: readonly string[] | undefined;
}

/** Returns the summary of rows. */
export function summarize(rows: RowStates, facts: SummaryFacts): BatchSummary {
  const { total = 0 } = facts;
  const notes = [...facts.notes];
  const unseen = ['waiting', Math.max(0, total - rows.known)] as const;
  const counts = countWords([...rows.counts(), unseen].map(([state, count]) => [wordOf(state), count]));
  const reasons = rows.reasons().map((reason) => ({
    ...reason,
    rows: reason.rows.map((row, index) => {
      const { state, differences } = reason;
      const label = rows.label(row);
      const id = state === 'lost' ? rows.id(row) : undefined;
      return describeRow(label, facts.isOnce ? 0 : row, state, [
        ...(id === undefined ? [] : [id]),
        // Such as the path of a file that is missing.
        ...[...(differences[index] ?? [])].filter((difference) => difference !== label),
      ]);
    }),
  }));
  const isRead = facts.total !== undefined;
  // Once a run exists, the inputs of all rows must stay as they are.
  const mayAdd = !facts.isOnce && haveNoRuns(rows.counts());
  const lacksInput = ({ state, message }: (typeof reasons)[number]) =>
    state === 'rejected' && /^4(00|22): (?!.*unknown).*(missing|required)/is.test(message);
  if (mayAdd && reasons.some(lacksInput))
    notes.push('For an input of all rows, add -i name=text or -i name@file.');
  const next = nextSteps(rows, facts);
  if (next.some(({ command }) => command?.includes(AS_BEFORE)))
    notes.push(`For ${AS_BEFORE}, write the values, which are not recorded.`);
  return { counts, isRead, reasons, notes, next };
}

/** Copies that are listed by their names at most. */
const MAX_LISTED_COPIES = 20;

/** Returns a line about the files that are copies of others, by their labels; none if there are none. */
export function copiesNotes(labels: readonly string[]): string[] {
  return labels.length === 0
    ? []
    : [`Not sent, as copies of other files: ${listFirst(labels, MAX_LISTED_COPIES)}.`];
}

/**
 * Returns a label with more in parentheses: the number of the row (0 without one) where a flag takes it and the label does not
 * show it, as a file has none and a line may have moved; then the details.
 */
export function describeRow(label: string, row: number, state: State, details: readonly string[] = []) {
  const table = tableOf(label);
  const [shown] = label.slice(table.length).replace('row ', '').split(' (');
  const again = ROW_STATES[state as RowState];
  // Failed files are usually all retried.
  const isTaken = again === 'resend-unknown' || (again === 'retry-failed' && table !== '');
  const number = row > 0 && isTaken && shown !== String(row) ? [`row ${row}`] : [];
  const more = [...number, ...details].join(', ');
  if (more === '') return label;
  return `${label.endsWith(')') ? `${label.slice(0, -1)}, ` : `${label} (`}${more})`;
}

/** Returns how to reach a goal: with the command and a flag, or in words where it cannot be printed. */
type DescribeStep = (goal: string, flag: string) => NextStep;

function nextSteps(rows: RowStates, facts: SummaryFacts): NextStep[] {
  const { same, command, isLimited, isUndecided } = facts;
  const { total = Number.POSITIVE_INFINITY, isOnce = false, change = '' } = facts;
  const has = (...states: RowState[]) => states.some((state) => rows.count(state) > 0);
  const isOpen = has('running', 'unauthorized', 'unreachable', 'waiting') || total > rows.known;
  const isContinued = isOpen && !isLimited && command;
  const again = `run ${same} ${isLimited ? 'without --limit' : `again${change}`}`;
  /** Returns the words of some of the states that rows have. */
  const words = (isIncluded: (state: RowState) => boolean) =>
    new Intl.ListFormat('en-GB').format(
      (Object.keys(ROW_STATES) as RowState[])
        .filter((state) => isIncluded(state) && has(state))
        .map(wordOf)
        .reverse(),
    );
  // No row can be corrected for a workflow that the service does not know.
  const isUnknownWorkflow =
    !isOnce &&
    !has('invalid') &&
    words((state) => !hasNoRun(state)) === '' &&
    rows
      .reasons()
      .some(
        ({ state, message }) => state === 'rejected' && /^404: |^the service does not know /.test(message),
      );
  // Corrected, these are new rows; a failed one is held.
  const corrected = words((state) => state === 'rejected' || state === 'invalid');
  const mayBeHeld = isUndecided || (has('failed') && !isOnce);
  // The command of --once sends a rejected one again without the flag.
  const retried = words((state) => ROW_STATES[state] === 'retry-failed' && !(isOnce && state === 'rejected'));
  const token = has('unauthorized') ? ' with a valid token' : '';
  const continuing = isLimited ? 'To send the waiting rows' : `To continue${token}`;
  const also = corrected && !isLimited ? `, also with corrected ${corrected} rows` : '';
  const wrong = words(
    (state) => state === 'rejected' || state === 'invalid' || (state === 'failed' && !isOnce),
  );
  const once = wrong && `Once ${wrong} rows are corrected`;
  const base = isOpen ? continuing + also : !mayBeHeld && !has('held') && once;
  /** What is reached with each flag. */
  const goals = {
    '': base,
    '--send-changed': has('held')
      ? `To send held${corrected && ' and corrected'} rows`
      : !isOpen && mayBeHeld && once,
    // Rows that are open may still fail: all of them are for the command after that.
    '--retry-failed':
      (!isContinued || has('rejected')) && retried && `To run ${retried} rows again as they are`,
  };
  const step: DescribeStep = (goal, flag) => {
    const text = `${goal}, ${flag === '' ? again : `add ${flag} to ${same}`}.`;
    const shown = command?.(...(flag === '' ? [] : [flag]));
    return shown === undefined ? { text } : { text: goal, command: shown };
  };
  const reached = Object.entries(goals).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const steps = reached.map(([flag, goal], index) => {
    // Below a command, flags suffice; but held rows and failed ones are decided on by themselves.
    if (index === 0 || (!base && has('held'))) return step(goal, flag);
    return { text: base ? `${goal}, add ${flag}.` : `${goal}, use ${flag} instead.` };
  });
  const next = isUnknownWorkflow
    ? [step('Once the service knows the workflow', '--retry-failed')]
    : [
        ...(has('unknown') ? unknownSteps(rows, isOnce, step) : []),
        ...(has('lost') ? [{ text: 'For each lost row, check the base URL and the service.' }] : []),
        ...steps,
      ];
  const hasOutputs = has('finished') && !facts.only;
  const rest = hasOutputs && reached.length > 0 ? [REST] : [];
  return has('finished', 'failed', 'running', 'lost') && (!isContinued || facts.list)
    ? [...next, ...lookSteps(hasOutputs ? 'outputs' : 'rows', rest, facts)]
    : next;
}

function unknownSteps(rows: RowStates, isOnce: boolean, step: DescribeStep): NextStep[] {
  const ofUnknown = rows.reasons().filter(({ state }) => !isOnce && state === 'unknown');
  const unknown = ofUnknown.flatMap((reason) => reason.rows).sort((one, other) => one - other);
  // What is gone has no inputs to be sent again.
  const gone = unknown.filter((row) => rows.isGone(row));
  const sendable = unknown.filter((row) => !rows.isGone(row));
  const isListed = unknown.length === rows.count('unknown');
  const resend = `--resend-unknown${isListed ? ` ${sendable.join(',')}` : ''}`;
  return [
    { text: 'For each unknown row, check in the service whether its run exists.' },
    step('To continue with a run that exists', `--adopt ${isOnce ? '' : `${unknown[0]}=`}<id>`),
    ...(sendable.length > 0 || !isListed ? [step('To send rows again that have none', resend)] : []),
    ...(gone.length > 0
      ? [step('To settle a row that is gone and has none', `--adopt ${gone[0]}=none`)]
      : []),
  ];
}

/** Files and flags that a command is printed with at most. */
const MAX_WORDS = 60;

/** Below the command that lists all rows. */
const REST: NextStep = { text: 'To list the rest alone, add --only unfinished.' };

/** Returns how to list and to save what results files have. */
function lookSteps(
  what: string,
  rest: readonly NextStep[],
  { results: words, list, only = [], table = '' }: SummaryFacts,
): NextStep[] {
  const [first] = words;
  if (first === undefined || words.length > MAX_WORDS) return [];
  // Those of all shards are saved in one file.
  const all = first.replace(/\.jsonl?$/, '').replace(/\.\d+-of-\d+(?=\.results)/, '');
  const name = [all, ...only].join('.');
  // Not one of the files that are read, wherever they are.
  const isRead = (file: string) => [...words, table].some((word) => basename(word) === basename(file));
  const file = `${name}${all.endsWith('results') ? '' : '.results'}.csv`;
  const target = shellCommand([isRead(file) ? `${name}.outputs.csv` : file]);
  const commandOf = (words: readonly string[]) => shellCommand(['wfr', 'results', ...words]);
  return [
    ...(list?.length ? [{ text: `To list the ${what}`, command: commandOf(list) }, ...rest] : []),
    {
      text: `To save the ${what}`,
      command: `${commandOf([...words, '-o', 'csv', '--excel'])} > ${target}`,
    },
  ];
}

/** Returns how the rows ended, for programs. */
export function endingOfRows(rows: RowStates, summary: BatchSummary): RowsEnding {
  const open: readonly string[] = ['running', 'unreachable', 'waiting'];
  return {
    summary: formatBatchSummary({ ...summary, next: [] }, PLAIN, 0).filter(Boolean),
    hints: stepLines(summary.next, PLAIN, 0),
    reasons: summary.reasons,
    hasUnknown: rows.count('unknown') > 0,
    hasOpen: !summary.isRead || summary.counts.some(([word]) => open.includes(word)),
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
    const code = rows.code(row) ?? STATES[state].code;
    if (!code || state === 'gone') continue;
    // The id of a row that was sent again is not that of the request without a response.
    const hasRun = state === 'running' || state === 'failed' || state === 'lost';
    runs.push({ row, label: rows.label(row), id: (hasRun && rows.id(row)) || null, code });
  }
  return { runCount, runs };
}

/** Returns the exit of a batch, from `exits` and those of its rows' states, but for `ignored` states and gone rows. */
export function exitOfRows(exits: readonly Exit[], rows: RowStates, ignored: readonly RowState[] = []): Exit {
  const counted = [...rows.counts()].filter(
    ([state, count]) => count > 0 && state !== 'gone' && !ignored.includes(state),
  );
  return exitOfSeveral([...exits, ...counted.map(([state]) => STATES[state].exit)]);
}
