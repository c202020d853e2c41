/** `--report json`: the Runs as the service sent them, with exit codes, durations and errors. */

import { open, stat } from 'node:fs/promises';
import { toExitCode } from '../exit-code.js';
import type { CommandResult } from '../outcome/error-data.js';
import { exitOf, type Outcome, wordOf } from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { assertDistinctFiles, resolvePath } from '../platform/files.js';
import { errorCode } from '../platform/system-error.js';
import { compactJson } from '../text/json/format-json.js';
import { sanitizeJson } from '../text/sanitize.js';
import { openDestination } from './destination.js';

/** How every such report begins. */
const REPORT_START = '{\n  "exitCode": ';

type Names = readonly (string | undefined)[];
type Chunks = Generator<string | Uint8Array, void, void>;

/**
 * Yields `{exitCode, error, runs: [{id, workflowId, outcome, exitCode, durationMs, error, requestId, run}]}`. Batches add
 * `row` and `label`, and a profile with runUrl `page`; unknown values are null. The first `error` is what error-data.ts describes.
 */
export function* renderJson({ runs, exit, error }: CommandResult): Chunks {
  yield `${REPORT_START}${toExitCode(exit)},\n  "error": ${sanitizeJson(error ?? null)},\n  "runs": [`;
  for (const [index, run] of runs.entries()) {
    yield index === 0 ? '\n' : ',\n';
    yield* renderRun(run);
  }
  yield '\n  ]\n}\n';
}

function* renderRun(outcome: Outcome): Chunks {
  const { row, label, id, page, workflowId, state, durationMs, error, run } = outcome;
  const known = {
    ...(row !== undefined && { row, label }),
    id,
    workflowId,
    ...(page !== undefined && { page }),
    outcome: wordOf(state),
    exitCode: toExitCode(exitOf(outcome)),
    durationMs: Math.round(durationMs),
    error: error?.text,
    requestId: error?.response?.requestId,
  };
  yield '    {\n';
  for (const [name, value] of Object.entries(known))
    yield `      "${name}": ${sanitizeJson(value ?? null)},\n`;
  yield '      "run": ';
  if (run === undefined) yield 'null\n';
  else yield* compactJson(run.json);
  yield '    }';
}

/**
 * Writes the JSON reports among the values of `--report`, except where the command writes something else: the files `taken`,
 * and stdout unless it is free. One that cannot be written is left out: the error of the command counts.
 */
export async function writeError(
  requested: readonly string[],
  { taken, isStdoutFree }: { taken: Names; isStdoutFree: boolean },
  result: CommandResult,
  context: Context,
): Promise<void> {
  const requests = new Set(requested);
  const ofStdout = [...requests].filter((request) => request.endsWith('=-'));
  for (const request of requests) {
    const [, name] = /^json=(.+)$/s.exec(request) ?? [];
    if (name === undefined) continue;
    const isUsable =
      name === '-' ? isStdoutFree && ofStdout.length === 1 : await mayReplace(name, taken, context);
    if (isUsable) await writeReport(name, result, context).catch(() => {});
  }
}

async function writeReport(name: string, result: CommandResult, context: Context): Promise<void> {
  const { write, close } = await openDestination(name, context);
  await write(context.secrets.maskChunks(renderJson(result))).finally(close);
}

/** Returns whether nothing is lost: a mistyped command may name one of its inputs as the report. */
async function mayReplace(name: string, taken: Names, context: Context): Promise<boolean> {
  const [path = '', ...others] = [name, ...taken.filter((other) => other !== undefined)].map((file) =>
    resolvePath(file, context.cwd, context),
  );
  try {
    await assertDistinctFiles([path, ...others].map((file) => ({ name: file, path: file, isWritten: true })));
    // Opening a pipe would wait for its writer.
    if (!(await stat(path)).isFile()) return true;
    const handle = await open(path);
    try {
      const { bytesRead, buffer } = await handle.read({ length: REPORT_START.length });
      return bytesRead === 0 || buffer.toString('utf8', 0, bytesRead) === REPORT_START;
    } finally {
      await handle.close();
    }
  } catch (error) {
    return errorCode(error) === 'ENOENT';
  }
}
