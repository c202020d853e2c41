/** The reports of one command: opened before anything is sent, written at the end. */

import { randomUUID } from 'node:crypto';
import { OutputError, UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import { nameOf } from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { errorCode } from '../platform/system-error.js';
import {
  type Destination,
  DestinationError,
  type Opener,
  openAtomicFile,
  type Report,
} from './destination.js';
import { FILE_FORMATS, type FileFormat, REPORT_CHOICES } from './formats.js';
import { githubOpeners } from './markdown.js';

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

/** Returns the openers for one `--report`, `=-` only if stdout is free. Throws UsageError for an invalid value. */
function parseReportRequest(raw: string, hasStdout: boolean, context: Context): Opener[] {
  const [, kind = '', path] = /^([^=]*)(?:=(.*))?$/s.exec(raw) ?? [];
  const usageError = (problem: string) => new UsageError([`--report ${raw}: ${problem}`]);
  if (kind === 'github') {
    if (path !== undefined) throw usageError('takes no file; use --report github');
    return githubOpeners(context);
  }
  const format = Object.hasOwn(FILE_FORMATS, kind) ? FILE_FORMATS[kind] : undefined;
  if (format === undefined) {
    throw usageError(`unknown report; use ${REPORT_CHOICES}`);
  }
  if (!path) throw usageError(`a file is required, such as --report ${kind}=${format.example}`);
  if (path === '-' && !hasStdout) throw usageError("stdout is reserved for the run's output; use a file");
  const open = path === '-' ? stdoutDestination(context) : fileDestination(path, context);
  return [reportOpener(`--report ${raw}`, open, format.load, context)];
}

function stdoutDestination({ stdout }: Context): () => Promise<Destination> {
  const write: Destination['write'] = async (chunks) => {
    for (const chunk of chunks) await stdout.write(chunk);
  };
  return async () => ({ write, discard: async () => {} });
}

function fileDestination(path: string, context: Context): () => Promise<Destination> {
  const resolved = resolvePath(path, context.cwd, context);
  return () => openAtomicFile(resolved, randomUUID(), context);
}

function reportOpener(
  name: string,
  openDestination: () => Promise<Destination>,
  load: FileFormat['load'],
  { secrets }: Context,
): Opener {
  return async () => {
    const render = await load();
    const { write, discard } = await openDestination().catch((error) => {
      throw error instanceof DestinationError ? new UsageError([`${name}: ${error.message}`]) : error;
    });
    return { name, write: (result) => write(secrets.maskChunks(render(result))), discard };
  };
}
