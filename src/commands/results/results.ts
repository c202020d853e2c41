/** `wfr results`: joins the results files of a batch, and prints the summary. */

import { collectUsageErrors, UsageError } from '../../errors.js';
import { ERROR_CODES, type Exit, ExitCode } from '../../exit-code.js';
import { expandPatterns } from '../../inputs/expand-patterns.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import type { Output } from '../../platform/output.js';
import { assertDistinctFiles } from '../../platform/same-file.js';
import type { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { type JoinedFiles, joinFiles, listOutcomes, type ResultsFile } from '../../runs/join-files.js';
import { formatDuration, formatUtc } from '../../text/duration.js';
import { COMMANDS_WARNING, createCommandFinder } from '../../text/log-commands.js';
import { type BatchSummary, formatBatchSummary } from '../../view/batch-summary.js';
import { openLayout } from '../../view/layout.js';
import type { PresentationFlags } from '../../view/presentation.js';
import { isInCi } from '../../view/presentation.js';
import { type OutputFlags, parseFormat } from '../shared/output-flags.js';
import { hasFreeStdout, isReportOnStdout, type ReportFlags, reportFiles } from '../shared/reports.js';
import { endingOfRows, exitOfRows, summarize } from '../shared/row-summary.js';
import { runCommand } from '../shared/session.js';
import { formatRows, RESULTS_FORMATS, type ResultsFormat, type RowsLayout } from './format-rows.js';

export interface ResultsFlags extends ReportFlags, OutputFlags, PresentationFlags {
  csvSafe?: boolean;
}

/** Prints the results in a format, and writes the reports. Throws UsageError for files that cannot be joined. */
export function results(patterns: readonly string[], flags: ResultsFlags, context: Context): Promise<Exit> {
  const frame = { subjects: [], isStdoutFree: hasFreeStdout('results', flags) };
  return runCommand(flags, frame, context, async ({ reports, interruption }) => {
    const names = await expandPatterns(patterns, context);
    const files = names.map((name) => ({ name, path: resolvePath(name, context.cwd, context) }));
    const { format } = await collectUsageErrors({
      format: () => parseResultsFormat(flags),
      files: () => assertDistinct(files, flags, context),
      reports: () => reports.open({ hasStdout: true }),
    });
    const joined = await joinFiles(files);
    const summary = summaryOf(joined, files);
    const exit = exitOf(joined);
    const isOnStdout = format === 'text' && !isReportOnStdout(flags);
    // With JSON, the counts are in the result or in the error.
    if (isOnStdout || !context.errorsAsData)
      await printSummary(summary, isOnStdout ? context.stdout : context.stderr, flags, context, interruption);
    if (joined.problems.length > 0) throw new UsageError([...joined.problems, ...joined.absent]);
    if (format !== 'text') {
      const pieces = formatRows(format, joined, summary, exit, await rowsLayout(flags, context));
      await printPieces(pieces, context, interruption);
    }
    if (joined.absent.length > 0) throw new UsageError(joined.absent);
    const runs = flags.report === undefined ? [] : await listOutcomes(joined);
    const rows = { ...endingOfRows(joined.rows, summary, undefined), hasOpen: false };
    return { runs, period: joined.period, exit, rows };
  });
}

/** Throws UsageError for an unknown format, or one that cannot be printed. */
function parseResultsFormat(flags: ResultsFlags): ResultsFormat {
  const format = parseFormat(flags, RESULTS_FORMATS);
  if (format !== 'text' && isReportOnStdout(flags))
    throw new UsageError([`--output ${format} and a report to stdout exclude each other`]);
  if (flags.csvSafe === true && format !== 'csv') throw new UsageError(['--csv-safe requires --output csv']);
  return format;
}

async function assertDistinct(files: readonly ResultsFile[], flags: ResultsFlags, context: Context) {
  const names = files.map(({ name }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw new UsageError([`${duplicate}: is listed twice`]);
  const inputs = files.map((file) => ({ ...file, isWritten: false }));
  await assertDistinctFiles([...reportFiles(flags, context), ...inputs]);
}

async function rowsLayout({ color, csvSafe = false }: ResultsFlags, context: Context): Promise<RowsLayout> {
  const { jsonColors } = await openLayout(color, context);
  return { jsonColors, csvSafe };
}

/** Prints what is yielded until stdout is closed. Throws OutputError, and what the iteration throws. */
async function printPieces(
  pieces: AsyncIterable<Buffer>,
  context: Context,
  interruption: Interruption,
): Promise<void> {
  const stdout = openStdoutQueue(context, interruption);
  const hasCommand = createCommandFinder();
  let hasCommands = false;
  for await (const piece of pieces) {
    hasCommands = hasCommand(piece);
    await stdout.write([piece]);
    if (context.stdout.isClosed) return;
  }
  if (hasCommands && isInCi(context.env) && !context.stdout.isFile)
    await context.stderr.write(`wfr: warning: ${COMMANDS_WARNING}\n`);
}

function summaryOf({ rows, total, missing, period, header }: JoinedFiles, [file]: readonly ResultsFile[]) {
  const notes = [
    ...(total === undefined
      ? ['The total number of rows is unknown: wfr batch stopped before the end of the table.']
      : []),
    ...(period === undefined
      ? []
      : [`  Began ${formatUtc(period.startedAt)}, took ${formatDuration(period.durationMs)}.`]),
  ];
  const onceFile = header?.salt === undefined ? undefined : file?.name;
  return summarize(rows, { total: total && total - missing, notes, onceFile, isBatch: false });
}

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
function exitOf({ rows, stoppedBy, absent, total = Number.POSITIVE_INFINITY }: JoinedFiles): Exit {
  if (absent.length > 0) return ExitCode.usage;
  const exits: Exit[] = [];
  if (stoppedBy !== undefined) exits.push(ERROR_CODES[stoppedBy][0] as ExitCode);
  else if (rows.known < total) exits.push(ExitCode.stillRunning);
  if (rows.count('running') > 0) exits.push(ExitCode.stillRunning);
  if (rows.count('waiting') > 0) exits.push(ExitCode.unreachable);
  return exitOfRows(exits, rows);
}
