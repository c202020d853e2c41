/** The reports that were asked for, around a command's work: opened before it sends anything, written however it ends. */

import { collectUsageErrors } from '../../config/complaints.js';
import { UsageError } from '../../errors.js';
import { type Exit, exitOfSeveral } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/path.js';
import { assertDistinctFiles, type NamedFile } from '../../platform/same-file.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { errorText } from '../../view/errors/describe-error.js';

export interface ReportFlags {
  report?: string[];
}

/** What is known beforehand of the runs that a command is about. */
type Subject = Partial<Pick<ReportedRun, 'id' | 'workflowId'>>;

/** What the work came to; `exit` where that is more than its runs tell. */
interface Worked {
  runs: readonly ReportedRun[];
  exit?: Exit;
}

/**
 * Does the work, and gives its exit. The work is given what opens the reports, for its place among the
 * checks (it throws UsageError); where it throws anything else, each of the `subjects` is reported to have come to that.
 */
export async function withReports(
  { report: written }: ReportFlags,
  context: Context,
  subjects: () => readonly Subject[],
  work: (openReports: () => Promise<void>) => Promise<Worked>,
): Promise<Exit> {
  if (written === undefined) return exitOf(await work(async () => {}));
  const { Reports } = await import('../../report/reports.js');
  const { printError } = await import('../../view/errors/print-error.js');
  const { clock, stderr } = context;
  const reports = new Reports();
  const startedAt = clock.now();
  const started = clock.monotonic();
  try {
    const openReports = async () => {
      await collectUsageErrors({
        files: () => assertDistinctFiles(reportFiles({ report: written }, context)),
        reports: () => reports.open(written, context),
      });
    };
    const worked = await work(openReports).catch(async (error) => {
      if (error instanceof UsageError) throw error;
      const exit = await printError(error, stderr);
      const duration = clock.monotonic() - started;
      const end = { run: undefined, exit, started: startedAt, duration, error: errorText(error) };
      return { runs: subjects().map(({ id, workflowId }) => ({ id, workflowId, ...end })) };
    });
    const { runs } = worked;
    const exits = [exitOf(worked)];
    // Nothing was run, so there is nothing to report.
    const ended = { runs, exit: exitOf(worked), startedAt, durationMs: clock.monotonic() - started };
    const failures = runs.length === 0 ? [] : await reports.write(ended);
    for (const failure of failures) exits.push(await printError(failure, stderr));
    return exitOfSeveral(exits);
  } finally {
    await reports.discard();
  }
}

/** The files that reports are written to. */
export function reportFiles({ report = [] }: ReportFlags, context: Context): NamedFile[] {
  return [...new Set(report)].flatMap((written) => {
    const path = written.slice(written.indexOf('=') + 1);
    if (!written.includes('=') || path === '') return [];
    return [{ name: `--report ${written}`, path: resolvePath(path, context.cwd, context), isWritten: true }];
  });
}

function exitOf({ runs, exit }: Worked): Exit {
  return exit ?? exitOfSeveral(runs.map((run) => run.exit));
}
