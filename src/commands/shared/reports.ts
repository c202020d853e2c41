/** The reports of --report: opened before anything is sent, written when the command ends. */

import { collectUsageErrors } from '../../errors.js';
import type { CommandResult } from '../../outcome/error-data.js';
import type { Context } from '../../platform/context.js';
import { assertDistinctFiles, type NamedFile, resolvePath } from '../../platform/files.js';
import type { Report } from '../../report/destination.js';
import type { ReportFlags } from './output-flags.js';

export class RequestedReports {
  #reports: readonly Report[] | undefined;

  constructor(
    private readonly flags: ReportFlags,
    private readonly context: Context,
  ) {}

  /** Opens all reports. Throws UsageError with every problem. */
  async open(): Promise<void> {
    const { report: requested } = this.flags;
    if (requested === undefined) return;
    const { openReports } = await import('../../report/reports.js');
    const { context } = this;
    await collectUsageErrors({
      files: () => assertDistinctFiles(reportFiles({ report: requested }, context)),
      // Assigned at once, so that close() closes them if another check fails.
      reports: async () => {
        this.#reports = await openReports(requested, context);
      },
    });
  }

  /** Writes the reports; that of a command which ran nothing is its error, as JSON. Returns the errors of those that failed. */
  async write(result: CommandResult): Promise<readonly unknown[]> {
    if (this.flags.report === undefined) return [];
    const { writeErrorReports, writeReports } = await import('../../report/reports.js');
    if (this.#reports !== undefined && result.runs.length > 0) return writeReports(this.#reports, result);
    if (result.error === undefined) return [];
    const { context, flags } = this;
    const written = [flags.results, flags.once].flatMap((file) => file ?? []);
    const others = written.map((file) => ({
      name: file,
      path: resolvePath(file, context.cwd, context),
      isWritten: true,
    }));
    await writeErrorReports(reportFiles(flags, context), others, result, context);
    return [];
  }

  /** Removes the files of reports that were not written. Never throws. */
  async close(): Promise<void> {
    for (const report of this.#reports ?? []) await report.close();
  }
}

/** Returns the files that reports are written to. */
export function reportFiles({ report = [] }: ReportFlags, context: Context): NamedFile[] {
  return [...new Set(report)].flatMap((raw) => {
    const path = raw.includes('=') ? raw.slice(raw.indexOf('=') + 1) : '';
    if (path === '') return [];
    return [{ name: `--report ${raw}`, path: resolvePath(path, context.cwd, context), isWritten: true }];
  });
}
