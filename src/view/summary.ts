/** Runs in `-o text`. */
import type { Run } from '../service/run.js';
import { sanitize } from '../text/sanitize.js';
import { stepsDone, totalSteps } from './progress/run-progress.js';

/** Returns one line: id, status, steps, and the step and message of a failure. */
export function runSummaryLine(run: Run): string {
  const steps = totalSteps(run);
  const parts = [sanitize(run.id), sanitize(run.status ?? 'accepted')];
  if (steps !== undefined) parts.push(`${stepsDone(run)}/${steps}`);
  if (run.error !== undefined) {
    parts.push(
      [run.error.step, run.error.message]
        .filter((text) => text !== undefined)
        .map(sanitize)
        .join(': '),
    );
  }
  return parts.join('  ');
}

/** Returns one line for each known field. */
export function runSummary(run: Run): string {
  const steps = totalSteps(run);
  const rows: [string, string | undefined][] = [
    ['run', run.id],
    ['status', run.status],
    ['steps', steps === undefined ? undefined : `${stepsDone(run)} of ${steps}`],
    ['version', run.versionName],
    ['created', run.createdAt],
    ['failed at', run.error?.step],
    ['message', run.error?.message],
  ];
  return rows
    .flatMap(([label, text]) => (text === undefined ? [] : [`${label.padEnd(10)} ${sanitize(text)}\n`]))
    .join('');
}
