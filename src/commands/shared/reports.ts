/** The reports of --report: opened before anything is sent, written when the command ends. */

import { collectUsageErrors } from '../../errors.js';
import type { CommandResult } from '../../outcome/error-data.js';
import type { Context } from '../../platform/context.js';
import { assertDistinctFiles, type NamedFile, resolvePath } from '../../platform/files.js';
import type { Report } from '../../report/destination.js';
import type { ReportFlags } from './output-flags.js';

/** Most commands write none. */
const loadReports = () => import('../../report/reports.js');

export type RequestedReports = ReturnType<typeof requestedReports>;

/** Returns the reports that flags request, which are still to be opened. */
export function requestedReports(flags: ReportFlags, context: Context) {
  const { report: requested, results, once } = flags;
  let reports: readonly Report[] = [];
  return {
    /** Opens all reports. Throws UsageError with every problem. */
    async open(): Promise<void> {
      if (!requested) return;
      const { openReports } = await loadReports();
      await collectUsageErrors({
        files: () => assertDistinctFiles(reportFiles(flags, context)),
        // Assigned at once, so that close() closes them if another check fails.
        reports: async () => {
          reports = await openReports(requested, context);
        },
      });
    },

    /** Writes the reports; that of a command which ran nothing is its error, as JSON. Returns why some were not written. */
    async write(result: CommandResult): Promise<readonly unknown[]> {
      if (!requested) return [];
      const { writeErrorReports, writeReports } = await loadReports();
      if (reports.length > 0 && result.runs.length > 0) return writeReports(reports, result);
      if (!result.error) return [];
      const others = [results, once].flatMap((file) => namedFile(file, file, context));
      await writeErrorReports(reportFiles(flags, context), others, result, context);
      return [];
    },

    /** Removes the files of reports that were not written. Never throws. */
    async close(): Promise<void> {
      for (const report of reports) await report.close();
    },
  };
}

/** Returns the files that reports are written to. */
export function reportFiles({ report = [] }: ReportFlags, context: Context): NamedFile[] {
  return [...new Set(report)].flatMap((raw) => {
    const [, path] = /=(.*)$/s.exec(raw) ?? [];
    return namedFile(`--report ${raw}`, path, context);
  });
}

/** Returns a file that a flag names, for the check that no two are the same; none without one, or where `-` is read. */
export function namedFile(
  name = '',
  path: string | undefined,
  context: Context,
  isWritten = true,
): NamedFile[] {
  return path && (isWritten || path !== '-') ? [{ name, path: resolvePath(path, context), isWritten }] : [];
}
