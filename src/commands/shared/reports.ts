/** The reports of --report: opened before anything is sent, written when the command ends. */

import { collectUsageErrors } from '../../errors.js';
import type { CommandResult } from '../../outcome/error-data.js';
import type { Context } from '../../platform/context.js';
import { assertDistinctFiles, type NamedFile, resolvePath } from '../../platform/files.js';
import type { Report } from '../../report/destination.js';
import type { OutputFlags } from './output-flags.js';

export interface ReportFlags {
  report?: string[];
  /** Other files that a command writes, which may not exist yet. */
  results?: string;
  once?: string;
}

export class RequestedReports {
  #reports: readonly Report[] | undefined;

  /** `isStdoutFree`: whether the error of a command that opened no report may be on stdout. */
  constructor(
    private readonly flags: ReportFlags,
    private readonly isStdoutFree: boolean,
    private readonly context: Context,
  ) {}

  /** Opens all reports; `hasStdout` if one may be on stdout. Throws UsageError with every problem. */
  async open({ hasStdout = false } = {}): Promise<void> {
    const { report: requested } = this.flags;
    if (requested === undefined) return;
    const { openReports } = await import('../../report/reports.js');
    const { context } = this;
    await collectUsageErrors({
      files: () => assertDistinctFiles(reportFiles({ report: requested }, context)),
      // Assigned at once, so that close() closes them if another check fails.
      reports: async () => {
        this.#reports = await openReports(requested, hasStdout, context);
      },
    });
  }

  /** Writes the reports; that of a command which ran nothing is its error, as JSON. Returns the errors of those that failed. */
  async write(result: CommandResult): Promise<readonly unknown[]> {
    const { report, results, once } = this.flags;
    if (report === undefined) return [];
    if (this.#reports !== undefined && result.runs.length > 0) {
      const { writeReports } = await import('../../report/reports.js');
      return writeReports(this.#reports, result);
    }
    if (result.error === undefined) return [];
    const { writeError } = await import('../../report/json.js');
    const other = { taken: [results, once], isStdoutFree: this.isStdoutFree };
    await writeError(report, other, result, this.context);
    return [];
  }

  /** Removes the files of reports that were not written. Never throws. */
  async close(): Promise<void> {
    for (const report of this.#reports ?? []) await report.close();
  }
}

/** Returns whether nothing but a report may be on the stdout of a command. */
export function hasFreeStdout(command: string, flags: ReportFlags & OutputFlags): boolean {
  if (command === 'batch') return flags.results !== '-';
  return command === 'results' && flags.json !== true && (flags.output ?? 'text') === 'text';
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
