/** The reports of --report: opened before anything is sent, written when the command ends. */

import { collectUsageErrors } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import { assertDistinctFiles, type NamedFile } from '../../platform/same-file.js';
import type { CommandResult, ReportedRun } from '../../report/reported-run.js';
import type { Reports } from '../../report/reports.js';

export interface ReportFlags {
  report?: string[];
  /** Other files that a command writes, which may not exist yet. */
  results?: string;
  once?: string;
}

/** What is known of a run before the service has responded. */
export type ReportSubject = Pick<ReportedRun, 'id' | 'workflowId'>;

export class RequestedReports {
  #reports: Reports | undefined;
  #isStdoutFree = false;

  constructor(
    private readonly flags: ReportFlags,
    private readonly context: Context,
  ) {}

  /**
   * Opens all reports; `hasStdout` if one may be on stdout, `isStdoutFree` unless other flags claim it. Throws UsageError
   * with every problem.
   */
  async open({ hasStdout = false, isStdoutFree = true } = {}): Promise<void> {
    const { report: requested } = this.flags;
    this.#isStdoutFree = hasStdout && isStdoutFree;
    if (requested === undefined) return;
    const { Reports } = await import('../../report/reports.js');
    const { context } = this;
    await collectUsageErrors({
      files: () => assertDistinctFiles(reportFiles({ report: requested }, context)),
      // Assigned at once, so that close() discards them if another check fails.
      reports: async () => {
        this.#reports = await Reports.open(requested, hasStdout, context);
      },
    });
  }

  /** Writes the reports if anything was run; that of a usage error is JSON alone. Returns the errors of those that failed. */
  async write(result: CommandResult): Promise<readonly unknown[]> {
    const { report, results, once } = this.flags;
    if (report === undefined) return [];
    if (result.runs.length > 0) return (await this.#reports?.write(result)) ?? [];
    if (result.exit !== ExitCode.usage) return [];
    const { writeUsageError } = await import('../../report/usage-error.js');
    await writeUsageError(
      report,
      { taken: [results, once], isStdoutFree: this.#isStdoutFree },
      result,
      this.context,
    );
    return [];
  }

  /** Removes the files of reports that were not written. Never throws. */
  async close(): Promise<void> {
    await this.#reports?.discard();
  }
}

/** Returns whether a report is written to stdout. */
export function isReportOnStdout({ report = [] }: ReportFlags): boolean {
  return report.some((raw) => pathOf(raw) === '-');
}

/** Returns the files that reports are written to. */
export function reportFiles({ report = [] }: ReportFlags, context: Context): NamedFile[] {
  return [...new Set(report)].flatMap((raw) => {
    const path = pathOf(raw);
    if (path === '') return [];
    // Stdout has no path, but two reports must not share it.
    const resolved = path === '-' ? path : resolvePath(path, context.cwd, context);
    return [{ name: `--report ${raw}`, path: resolved, isWritten: true }];
  });
}

/** Returns the file of a --report; empty if it has none. */
function pathOf(raw: string): string {
  return raw.includes('=') ? raw.slice(raw.indexOf('=') + 1) : '';
}
