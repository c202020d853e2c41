/** The reports of one command: opened before anything is sent, written at the end. */
import { OutputError, UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import { nameOf } from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import type { Report } from './destination.js';
import { parseReportRequest } from './requests.js';

export class Reports {
  readonly #reports: Report[] = [];

  private constructor() {}

  /** Opens all requested reports, or none; `hasStdout` lets one be on stdout. Throws UsageError with every problem. */
  static async open(requested: readonly string[], hasStdout: boolean, context: Context): Promise<Reports> {
    const reports = new Reports();
    const problems: string[] = [];
    const collect = async (work: () => Promise<void>) => {
      await work().catch((error) => {
        if (!(error instanceof UsageError)) throw error;
        problems.push(...error.problems);
      });
    };
    for (const request of new Set(requested)) {
      await collect(async () => {
        for (const open of parseReportRequest(request, hasStdout, context)) {
          await collect(async () => {
            reports.#reports.push(await open());
          });
        }
      });
    }
    if (problems.length === 0) return reports;
    await reports.discard();
    throw new UsageError(problems);
  }

  /** Writes all reports and returns the errors: OutputError for a system error, anything else unchanged. */
  async write(result: CommandResult): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const report of this.#reports) {
      await report.write(result).catch((error) => {
        const isSystemError = errorCode(error) !== undefined;
        failures.push(
          isSystemError ? new OutputError(error, `${report.name} of ${describeRuns(result)}`) : error,
        );
      });
    }
    return failures;
  }

  /** Removes the temporary files of reports that were not written. */
  async discard(): Promise<void> {
    for (const report of this.#reports) await report.discard();
  }
}

function describeRuns({ runs }: CommandResult): string {
  const [only] = runs;
  return runs.length === 1 && only !== undefined ? `run ${nameOf(only)}` : `${runs.length} runs`;
}
