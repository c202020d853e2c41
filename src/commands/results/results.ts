/** `wfr results`: joins the results files of a batch, and prints the summary. */

import { collectUsageErrors, type Facts, UsageError } from '../../errors.js';
import { ERROR_CODES, type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import { expandPatterns } from '../../inputs/folder-files.js';
import { factsOf } from '../../outcome/describe-error.js';
import { exitOfError, type Outcome, type State, wordOf } from '../../outcome/outcome.js';
import type { RowFiles } from '../../output-documents/row-files.js';
import type { Context, Output } from '../../platform/context.js';
import { assertDistinctFiles, resolvePath } from '../../platform/files.js';
import { type Interruption, openStdoutQueue } from '../../platform/signals.js';
import { type JoinedFiles, joinFiles, listOutcomes, readOutcomes } from '../../runs/join-files.js';
import type { ResultsFile } from '../../runs/log/row-lines.js';
import type { Run } from '../../service/run.js';
import { formatUtc } from '../../text/quantity.js';
import { COMMANDS_WARNING, createCommandFinder, sanitize } from '../../text/sanitize.js';
import { type BatchSummary, formatBatchSummary } from '../../view/batch-summary.js';
import { isInCi, openLayout, type PresentationFlags } from '../../view/presentation.js';
import {
  type DocumentFlags,
  type OutputFlags,
  openRowFiles,
  parseDelimiter,
  parseFormat,
  parseValuePointer,
  type ReportFlags,
} from '../shared/output-flags.js';
import { reportFiles } from '../shared/reports.js';
import { endingOfRows, exitOfRows, summarize } from '../shared/row-summary.js';
import { printErrors, runCommand } from '../shared/session.js';
import { formatRows, MAX_CELL, RESULTS_FORMATS, type ResultsFormat, type RowsFound } from './format-rows.js';

export interface ResultsFlags extends ReportFlags, OutputFlags, DocumentFlags, PresentationFlags {
  get?: string[];
  rows?: string;
  excel?: boolean;
  delimiter?: string;
}

/** Prints the results in a format, and writes the reports. Throws UsageError for files that cannot be joined. */
export function results(patterns: readonly string[], flags: ResultsFlags, context: Context): Promise<Exit> {
  return runCommand(flags, [], context, async ({ reports, interruption }) => {
    const names = await expandPatterns(patterns, context);
    const files = names.map((name) => ({ name, path: resolvePath(name, context.cwd, context) }));
    const { format, pointers, delimiter } = await collectUsageErrors({
      format: () => parseResultsFormat(flags),
      pointers: () => (flags.get ?? []).map(parseValuePointer),
      delimiter: () => parseDelimiter(flags.delimiter),
      files: () => assertDistinct(files, flags, context),
      reports: () => reports.open(),
    });
    const joined = await joinFiles(files, context.uid);
    const isOnStdout = format === 'text' && pointers.length === 0;
    const isJoined = joined.problems.length + joined.absent.length === 0;
    const hasLook = isJoined && isOnStdout && flags.report === undefined;
    const summary = summaryOf(joined, hasLook ? names : []);
    // With JSON, the counts are in the result or in the error.
    if (!joined.isMixed && (isOnStdout || !context.errorsAsData))
      await printSummary(summary, isOnStdout ? context.stdout : context.stderr, flags, context, interruption);
    if (joined.problems.length > 0) throw new UsageError([...joined.problems, ...joined.absent]);
    const labels = async () => (await listLabels(joined)).all;
    const rowFiles = await openRowFiles(flags, labels, undefined, context);
    const failure = await saveRows(joined, rowFiles, context, interruption.signal);
    const exit = exitOfSeveral([exitOf(joined), ...(failure === undefined ? [] : [exitOfError(failure)])]);
    if (format !== 'text' || pointers.length > 0) {
      const { jsonColors } = await openLayout(flags.color, context);
      const table = await openWrittenTable(flags, delimiter, context, interruption.signal);
      const csv = { delimiter: delimiter ?? ',', excel: flags.excel === true };
      const outputOf = ({ label, row, run }: Outcome) =>
        run && (rowFiles?.outputOf(labelOf(label, row), row, withOutput(run)) ?? run.output);
      const layout = { jsonColors, pointers, table: table?.table, csv, outputOf };
      const found: RowsFound = { inTable: 0, missing: new Map(), cutRow: undefined };
      const pieces = formatRows(format, joined, summary, exit, layout, found);
      const isWhole = await printPieces(pieces, context, interruption).finally(() => table?.close());
      if (isWhole) await warn(found, joined, flags, context);
    }
    if (joined.absent.length > 0) throw new UsageError(joined.absent);
    const runs = flags.report === undefined ? [] : await listOutcomes(joined);
    const rows = { ...endingOfRows(joined.rows, summary, undefined), hasOpen: false };
    await printErrors(failure === undefined ? [] : [failure], flags, context);
    return { runs, period: joined.period, exit, failure, rows };
  });
}

/** Throws UsageError for an unknown format, or one that cannot be printed. */
function parseResultsFormat(flags: ResultsFlags): ResultsFormat {
  const format = parseFormat(flags, RESULTS_FORMATS);
  const { get, rows, excel, delimiter } = flags;
  const problems = [
    excel === true && format !== 'csv' && '--excel requires --output csv',
    delimiter !== undefined &&
      format !== 'csv' &&
      rows === undefined &&
      `--delimiter ${delimiter}: requires --output csv or --rows`,
    get !== undefined && format === 'id' && '--get and --output id exclude each other',
    rows !== undefined &&
      (format === 'id' || (format === 'text' && get === undefined)) &&
      `--rows ${rows}: requires --output csv, json or jsonl, or --get`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new UsageError(problems);
  return format;
}

async function assertDistinct(files: readonly ResultsFile[], flags: ResultsFlags, context: Context) {
  const names = files.map(({ name }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw new UsageError([`${duplicate}: is listed twice`]);
  const { rows } = flags;
  const inputs = files.map((file) => ({ ...file, isWritten: false }));
  if (rows !== undefined && rows !== '-')
    inputs.push({ name: `--rows ${rows}`, path: resolvePath(rows, context.cwd, context), isWritten: false });
  await assertDistinctFiles([...reportFiles(flags, context), ...inputs]);
}

/** Returns the label of a row, which a row that an older wfr recorded may not have. */
const labelOf = (label: string | undefined, row: number | undefined) => label ?? `:${row}`;

/** Returns the labels of all rows, and of those that are still in the table or folder. */
async function listLabels(joined: JoinedFiles) {
  const all: string[] = [];
  const present = new Set<string>();
  for await (const { label, row, state } of readOutcomes(joined)) {
    all.push(labelOf(label, row));
    if (!isGone(state)) present.add(labelOf(label, row));
  }
  return { all, present };
}

const isGone = (state: State) => wordOf(state) === 'gone';

/** Returns a run of a results file with its output in memory. */
function withOutput(run: Run): Run {
  // Each use of the output, or of the JSON, reads the file.
  const { id, status, versionName, createdAt, steps, stepsCompleted, error, output } = run;
  const facts = { id, status, versionName, createdAt, steps, stepsCompleted, error };
  return { ...facts, output, json: output ?? Buffer.alloc(0) };
}

/** Saves the files of all finished rows; returns why the first one of those was not saved that could not be. */
async function saveRows(
  joined: JoinedFiles,
  files: RowFiles | undefined,
  { stderr }: Context,
  signal: AbortSignal,
): Promise<Facts | undefined> {
  if (files === undefined) return undefined;
  const { present } = await listLabels(joined);
  for await (const outcome of readOutcomes(joined)) {
    signal.throwIfAborted();
    const { state, run } = outcome;
    const label = labelOf(outcome.label, outcome.row);
    // Another row may have taken its place, and then has its name.
    const isReplaced = isGone(state) && present.has(label);
    if (run?.status === 'FINISHED' && !isReplaced) await files.save(label, outcome.row, withOutput(run));
  }
  for (const warning of files.warnings) await stderr.write(`wfr: warning: ${sanitize(warning)}\n`);
  return files.failure === undefined ? undefined : factsOf(files.failure);
}

/** Opens the table of --rows; undefined without that flag. Throws UsageError. */
async function openWrittenTable(
  { rows }: ResultsFlags,
  delimiter: string | undefined,
  context: Context,
  signal: AbortSignal,
) {
  if (rows === undefined) return undefined;
  const { FileError, openRereadable } = await import('../../inputs/files.js');
  const { writtenTable } = await import('../../table/table.js');
  const file = await openRereadable(rows, context, signal).catch((error) => {
    throw error instanceof FileError ? new UsageError([`--rows ${error.message}`]) : error;
  });
  const name = rows === '-' ? 'standard input' : rows;
  const paths = { base: context.cwd, within: undefined };
  try {
    return { table: await writtenTable({ name, paths, open: file.open, delimiter }), close: file.close };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Warns about what the rows do not show. */
async function warn(found: RowsFound, { rows }: JoinedFiles, flags: ResultsFlags, { stderr }: Context) {
  const warnings = [...found.missing].flatMap(([{ text }, error]) =>
    error === undefined ? [] : [`--get ${text}: no row has this value: ${factsOf(error).summary.join('; ')}`],
  );
  const others = rows.known - found.inTable;
  if (flags.rows !== undefined && others > 0)
    warnings.push(
      `${others} ${others === 1 ? 'row' : 'rows'} of the results ${others === 1 ? 'is' : 'are'} not in ${flags.rows}`,
    );
  if (flags.excel === true && found.cutRow !== undefined)
    warnings.push(
      `row ${found.cutRow} has a cell of more than ${MAX_CELL} characters, which a spreadsheet cuts; choose values with --get`,
    );
  for (const warning of warnings) await stderr.write(`wfr: warning: ${sanitize(warning)}\n`);
}

/** Prints what is yielded until stdout is closed; returns whether that was all. Throws OutputError, and what the iteration throws. */
async function printPieces(
  pieces: AsyncIterable<Buffer>,
  context: Context,
  interruption: Interruption,
): Promise<boolean> {
  const stdout = openStdoutQueue(context, interruption);
  const hasCommand = createCommandFinder();
  let hasCommands = false;
  for await (const piece of pieces) {
    hasCommands = hasCommand(piece);
    await stdout.write([piece]);
    if (context.stdout.isClosed) return false;
  }
  if (hasCommands && isInCi(context.env) && !context.stdout.isFile)
    await context.stderr.write(`wfr: warning: ${COMMANDS_WARNING}\n`);
  return true;
}

function summaryOf(
  { rows, total, missing, period, header, isLimited }: JoinedFiles,
  results: readonly string[],
): BatchSummary {
  const notes =
    total === undefined
      ? ['The total number of rows is unknown: wfr batch stopped before the end of the table.']
      : [];
  const isOnce = header?.salt !== undefined;
  const known = total && total - missing;
  const summary = summarize(rows, { total: known, notes, isOnce, isBatch: false, isLimited, results });
  if (period === undefined) return summary;
  const { startedAt, durationMs } = period;
  const [start, end] = [formatUtc(startedAt), formatUtc(startedAt + durationMs)];
  const isSameDay = start.slice(0, DAY) === end.slice(0, DAY);
  const last = isSameDay ? end.slice(DAY + 1) : end;
  if (start === end) return { ...summary, fact: `at ${start}` };
  return { ...summary, fact: `from ${start.replace(' UTC', '')} to ${last}` };
}

/** The length of the day in a time. */
const DAY = '2026-01-02'.length;

async function printSummary(
  summary: BatchSummary,
  output: Output,
  { color }: ResultsFlags,
  { env, secrets }: Context,
  interruption: Interruption,
): Promise<void> {
  const { style, width } = await openLayout(color, { stdout: output, env });
  const lines = formatBatchSummary(summary, style, width);
  await openStdoutQueue({ stdout: output, secrets }, interruption).writeSummary(`${lines.join('\n')}\n`);
}

/** Returns the exit of the batch, as it would be if it ended now. */
function exitOf({
  rows,
  stoppedBy,
  isComplete,
  absent,
  total = Number.POSITIVE_INFINITY,
}: JoinedFiles): Exit {
  if (absent.length > 0) return ExitCode.usage;
  const exits: Exit[] = [];
  if (stoppedBy !== undefined) exits.push(ERROR_CODES[stoppedBy][0] as ExitCode);
  else if (rows.known < total && !isComplete) exits.push(ExitCode.stillRunning);
  if (rows.count('running') > 0) exits.push(ExitCode.stillRunning);
  if (rows.count('waiting') > 0) exits.push(ExitCode.unreachable);
  return exitOfRows(exits, rows);
}
