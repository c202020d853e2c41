/** `wfr results`: joins the results files of a batch, and prints the summary. */

import { UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import { expandPatterns } from '../../inputs/expand-patterns.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import type { Output } from '../../platform/output.js';
import { assertDistinctFiles } from '../../platform/same-file.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { formatDuration, formatUtc } from '../../text/duration.js';
import { type BatchSummary, formatBatchSummary } from '../../view/batch-summary.js';
import { PLAIN } from '../../view/style.js';
import { readReportedRuns } from '../shared/reported-rows.js';
import { isReportOnStdout, type ReportFlags, reportFiles } from '../shared/reports.js';
import { endingOfRows, exitsOfRows, summarize } from '../shared/row-summary.js';
import { runCommand } from '../shared/session.js';
import { type JoinedFiles, joinFiles } from './join-files.js';

/** Prints the summary of the results files, and writes the reports. Throws UsageError for files that cannot be joined. */
export function results(patterns: readonly string[], flags: ReportFlags, context: Context): Promise<Exit> {
  return runCommand(flags, { subjects: [] }, context, async ({ reports }) => {
    const names = await expandPatterns(patterns, context);
    const duplicate = names.find((name, index) => names.indexOf(name) !== index);
    if (duplicate !== undefined) throw new UsageError([`${duplicate}: is listed twice`]);
    const files = names.map((name) => ({ name, path: resolvePath(name, context.cwd, context) }));
    const inputs = files.map((file) => ({ ...file, isWritten: false }));
    await assertDistinctFiles([...reportFiles(flags, context), ...inputs]);
    await reports.open({ hasStdout: true });
    const joined = await joinFiles(files);
    const summary = summaryOf(joined);
    await printSummary(summary, isReportOnStdout(flags) ? context.stderr : context.stdout, context);
    if (joined.problems.length > 0) throw new UsageError(joined.problems);
    const reported = flags.report === undefined ? { runs: [] } : await readReportedRuns(files);
    const rows = { ...endingOfRows(joined.rowStates, summary, undefined), hasOpen: false };
    return { ...reported, exit: exitOf(joined), rows };
  });
}

function summaryOf({ rowStates, total, missing, period }: JoinedFiles): BatchSummary {
  const notes = [
    ...(total === undefined
      ? ['The total number of rows is unknown: wfr batch stopped before the end of the table.']
      : []),
    ...(period === undefined
      ? []
      : [`  Began ${formatUtc(period.startedAt)}, took ${formatDuration(period.durationMs)}.`]),
  ];
  return summarize(rowStates, total && total - missing, notes);
}

async function printSummary(summary: BatchSummary, output: Output, context: Context): Promise<void> {
  const lines = formatBatchSummary(summary, PLAIN, 0);
  const interruption = new Interruption(context);
  try {
    await openStdoutQueue({ stdout: output, secrets: context.secrets }, interruption).writeSummary(
      `${lines.join('\n')}\n`,
    );
  } finally {
    interruption.release();
  }
}

function exitOf({ rowStates, total = Number.POSITIVE_INFINITY }: JoinedFiles): Exit {
  const exits = exitsOfRows(rowStates);
  if (rowStates.count('running') > 0 || rowStates.known < total) exits.push(ExitCode.stillRunning);
  if (rowStates.count('intent') > 0) exits.push(ExitCode.unreachable);
  return exitOfSeveral(exits);
}
