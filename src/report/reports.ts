/** The reports of one command: opened before anything is sent, written at the end. */

import { createReadStream } from 'node:fs';
import { text } from 'node:stream/consumers';
import { collectUsageErrors, UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import { nameOf } from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { assertDistinctFiles, type NamedFile, statOf } from '../platform/files.js';
import { errorCode, OutputError, throwAsUsageError } from '../platform/system-error.js';
import { openDestination, type Report } from './destination.js';
import { FILE_FORMATS, REPORT_CHOICES } from './formats.js';
import { renderPage } from './html/page.js';
import { REPORT_START, renderJson } from './json.js';
import { renderJunit } from './junit.js';
import { githubReports, renderMarkdown } from './markdown.js';

type Renderer = (result: CommandResult) => Iterable<string | Uint8Array>;

const RENDERERS: Readonly<Record<(typeof FILE_FORMATS)[number], Renderer>> = {
  junit: renderJunit,
  markdown: renderMarkdown,
  json: renderJson,
  html: renderPage,
};

/** Opens all requested reports, or none. Throws UsageError with every problem. */
export async function openReports(requested: readonly string[], context: Context): Promise<Report[]> {
  const openers = [...new Set(requested)].flatMap((raw) =>
    raw === 'github' ? githubReports(context) : [() => openReport(raw, context)],
  );
  return Object.values(await collectUsageErrors(Object.fromEntries(openers.entries())));
}

/** Writes all reports and returns the errors: OutputError for a system error, anything else unchanged. */
export async function writeReports(reports: readonly Report[], result: CommandResult): Promise<unknown[]> {
  const [first, ...others] = result.runs;
  const runs = first && others.length === 0 ? `run ${nameOf(first)}` : `${result.runs.length} runs`;
  const failures: unknown[] = [];
  for (const { name, write } of reports) {
    await write(result).catch((error) => {
      const isSystemError = errorCode(error) !== undefined;
      failures.push(isSystemError ? new OutputError(error, `${name} of ${runs}`) : error);
    });
  }
  return failures;
}

/** Opens one `--report`. Throws UsageError for one that is invalid, or cannot be written. */
async function openReport(raw: string, context: Context): Promise<Report> {
  const [, kind = '', path] = /^([^=]*)(?:=(.*))?$/s.exec(raw) ?? [];
  const name = `--report ${raw}`;
  const usageError = (problem: string) => new UsageError(`${name}: ${problem}`);
  const format = FILE_FORMATS.find((one) => one === kind);
  if (!format || !path) throw usageError(`use ${REPORT_CHOICES}`);
  if (path === '-') throw usageError('use a file: stdout has the result');
  const { write, close } = await openDestination(path, context).catch(throwAsUsageError(name));
  return { name, write: (result) => write(context.secrets.maskChunks(RENDERERS[format](result))), close };
}

/**
 * Writes the error of a command that ran nothing to its JSON reports, except to a file that it writes otherwise, or that has
 * something else: a mistyped command may name one of its inputs. Never throws.
 */
export async function writeErrorReports(
  reports: readonly NamedFile[],
  others: readonly NamedFile[],
  result: CommandResult,
  context: Context,
): Promise<void> {
  for (const file of reports) {
    const raw = file.name.replace('--report ', '');
    if (!raw.startsWith('json=')) continue;
    try {
      await assertDistinctFiles([file, ...others]);
      if (!(await mayReplace(file.path))) continue;
      const report = await openReport(raw, context);
      await report.write(result).finally(report.close);
    } catch {
      // The error of the command counts.
    }
  }
}

/** Returns whether nothing is lost but an earlier report. */
async function mayReplace(path: string): Promise<boolean> {
  // Opening a pipe would wait for its writer.
  if (!(await statOf(path))?.isFile()) return true;
  const start = await text(createReadStream(path, { end: REPORT_START.length - 1 }));
  return start === '' || start === REPORT_START;
}
