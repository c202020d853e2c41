/** `--report json`: the Runs as the service sent them, with exit codes, durations and errors. */

import { toExitCode } from '../exit-code.js';
import type { CommandResult } from '../outcome/error-data.js';
import { exitOf, type Outcome, wordOf } from '../outcome/outcome.js';
import { compactJson } from '../text/json/format-json.js';
import { sanitizeJson } from '../text/sanitize.js';

/** How every such report begins. */
export const REPORT_START = '{\n  "exitCode": ';

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
    durationMs: Math.round(durationMs ?? 0),
    error: error?.text,
    requestId: error?.response?.requestId,
  };
  yield '    {\n';
  for (const [name, value] of Object.entries(known))
    yield `      "${name}": ${sanitizeJson(value ?? null)},\n`;
  yield '      "run": ';
  if (!run) yield 'null\n';
  else yield* compactJson(run.json);
  yield '    }';
}
