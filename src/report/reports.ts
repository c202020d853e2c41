/** The reports of one command: opened before anything is sent, written at the end. */

import { collectUsageErrors, UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import { nameOf } from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { errorCode, OutputError } from '../platform/system-error.js';
import { openDestination, type Report, toUsageError } from './destination.js';
import { FILE_FORMATS, REPORT_CHOICES } from './formats.js';
import { githubReports } from './markdown.js';

/** Opens all requested reports, or none; `hasStdout` lets one be on stdout. Throws UsageError with every problem. */
export async function openReports(
  requested: readonly string[],
  hasStdout: boolean,
  context: Context,
): Promise<Report[]> {
  const openers = [...new Set(requested)].flatMap((raw) =>
    raw === 'github' ? githubReports(context) : [() => openReport(raw, hasStdout, context)],
  );
  return Object.values(await collectUsageErrors(Object.fromEntries(openers.entries())));
}

/** Writes all reports and returns the errors: OutputError for a system error, anything else unchanged. */
export async function writeReports(reports: readonly Report[], result: CommandResult): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const { name, write } of reports) {
    await write(result).catch((error) => {
      const isSystemError = errorCode(error) !== undefined;
      failures.push(isSystemError ? new OutputError(error, `${name} of ${describeRuns(result)}`) : error);
    });
  }
  return failures;
}

function describeRuns({ runs }: CommandResult): string {
  const [only] = runs;
  return runs.length === 1 && only !== undefined ? `run ${nameOf(only)}` : `${runs.length} runs`;
}

/** Opens one `--report`, `=-` only if stdout is free. Throws UsageError for one that is invalid, or cannot be written. */
async function openReport(raw: string, hasStdout: boolean, context: Context): Promise<Report> {
  const [, kind = '', path] = /^([^=]*)(?:=(.*))?$/s.exec(raw) ?? [];
  const name = `--report ${raw}`;
  const usageError = (problem: string) => new UsageError([`${name}: ${problem}`]);
  if (kind === 'github') throw usageError('takes no file; use --report github');
  const format = Object.hasOwn(FILE_FORMATS, kind) ? FILE_FORMATS[kind] : undefined;
  if (format === undefined) throw usageError(`unknown report; use ${REPORT_CHOICES}`);
  if (!path) throw usageError(`a file is required, such as --report ${kind}=${format.example}`);
  if (path === '-' && !hasStdout) throw usageError("stdout is reserved for the run's output; use a file");
  const render = await format.load();
  const { write, close } = await openDestination(path, context).catch((error) => {
    throw toUsageError(name, error);
  });
  return { name, write: (result) => write(context.secrets.maskChunks(render(result))), close };
}
