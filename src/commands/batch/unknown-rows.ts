/** `--adopt`, `--resend-unknown` and `--retry-failed`: the user's decisions about rows. */

import { throwProblems, UsageError } from '../../errors.js';
import { wordOf } from '../../outcome/outcome.js';
import type { Log } from '../../runs/log/log.js';
import { readEvents } from '../../runs/log/log-file.js';
import { type Again, hasNoRun, isSelected, ROW_STATES, type RowSelection } from '../../runs/log/reduce.js';
import { isUsableId } from '../../service/parse-run.js';
import type { Adoption } from '../shared/record-file.js';

export interface Decisions {
  adoptions: readonly Adoption[];
  resendUnknown: RowSelection;
  retryFailed: RowSelection;
}

/** What `--adopt` says of a row of which no run was created. */
export const NO_RUN = 'none';

/** Problems that are listed at most. */
const MAX_PROBLEMS = 20;

/** Parses each `--adopt <row>=<id>`. Throws UsageError with all problems. */
export function parseAdoptions(raw: readonly string[] = [], results: string | undefined): Adoption[] {
  const problems: string[] = [];
  const adoptions: Adoption[] = [];
  if (raw.length > 0 && results === '-') problems.push('--adopt requires --results <file.jsonl>');
  for (const text of raw) {
    const [, number = '', id = ''] = /^(\d{1,15})=(.*)$/s.exec(text) ?? [];
    const row = Number(number);
    if (row === 0 || !isUsableId(id))
      problems.push(`--adopt ${JSON.stringify(text)}: expected <row>=<id> or <row>=${NO_RUN}`);
    else if (adoptions.some((other) => other.row === row))
      problems.push(`--adopt ${text}: row ${row} is given twice`);
    else if (id !== NO_RUN && adoptions.some((other) => other.id === id))
      problems.push(`--adopt ${text}: run ${id} is given twice`);
    else adoptions.push({ row, id, flag: `--adopt ${text}`, subject: `Row ${row}` });
  }
  throwProblems(problems);
  return adoptions;
}

/** Parses row numbers and ranges, from 1 and separated by commas; the flag alone selects all rows. Throws UsageError. */
export function parseSelection(
  flag: '--resend-unknown' | '--retry-failed',
  raw: string | true | undefined,
): RowSelection {
  if (raw === undefined) return [];
  if (raw === true) return 'all';
  const ranges = raw.split(',').map((part) => {
    const [, first = '', last = first] = /^\s*(\d{1,15})(?:-(\d{1,15}))?\s*$/.exec(part) ?? [];
    return [Number(first), Number(last)] as const;
  });
  if (ranges.every(([first, last]) => first >= 1 && first <= last)) return ranges;
  throw new UsageError(
    `${flag} ${JSON.stringify(raw)}: expected row numbers, such as 3,7-9, or no value for all`,
  );
}

/**
 * Checks the decisions against the row states and the results file. Throws UsageError for the first row of each range
 * that a flag does not concern, or that is gone, and for each run that belongs to another row.
 */
export async function validateDecisions(
  { adoptions, resendUnknown, retryFailed }: Decisions,
  { rows, recorded }: Pick<Log, 'rows' | 'recorded'>,
  results: { path: string; name: string } | undefined,
): Promise<void> {
  const problems: string[] = [];
  const reject = (flag: string, row: number, expected: string) => {
    const word = rows.isGone(row) ? 'gone' : wordOf(rows.state(row));
    const isRow = recorded.keys.get(row) !== undefined;
    // The number of its line.
    const [now] = [...rows.entries()].find(([other]) => other !== row && rows.line(other) === row) ?? [];
    const meant = now === undefined ? '' : `; line ${row} is row ${now}`;
    problems.push(
      `${flag}: ${isRow ? `row ${row} is ${word}, not ${expected}` : `no row ${row} is recorded`}${meant}`,
    );
  };
  const checkRows = (again: Again, selection: RowSelection, expected: string) => {
    for (const [first, last] of selection === 'all' ? [] : selection) {
      let row = first;
      while (row <= last && !rows.isGone(row) && ROW_STATES[rows.recordedState(row)] === again) row++;
      if (row <= last && problems.length < MAX_PROBLEMS) reject(`--${again}`, row, expected);
    }
  };
  for (const { row, id, flag } of adoptions) {
    const state = rows.recordedState(row);
    // What is settled stays as it is.
    const isSettled = id === NO_RUN ? !rows.isNew(row) : !hasNoRun(state);
    if (state !== 'unknown' && !isSettled) reject(flag, row, 'unknown');
    if (resendUnknown !== 'all' && isSelected(row, resendUnknown))
      problems.push(`row ${row}: --adopt and --resend-unknown exclude each other`);
  }
  checkRows('resend-unknown', resendUnknown, 'unknown');
  checkRows('retry-failed', retryFailed, 'failed, rejected or lost');
  if (adoptions.length > 0 && results) problems.push(...(await runsOfOtherRows(adoptions, results)));
  throwProblems(problems);
}

/** Returns a problem for each adopted run that the results file already has for a row. */
async function runsOfOtherRows(
  adoptions: readonly Adoption[],
  { path, name }: { path: string; name: string },
): Promise<string[]> {
  const problems: string[] = [];
  await readEvents(path, name, (event) => {
    if (event.event !== 'accepted') return;
    const adoption = adoptions.find(({ id }) => id !== NO_RUN && id === event.id);
    if (adoption && adoption.row !== event.row)
      problems.push(`${adoption.flag}: this run belongs to row ${event.row}`);
  });
  return [...new Set(problems)];
}
