/** A run in a few words, for people. */
import type { Run } from '../service/run.js';
import { sanitize } from '../text/sanitize.js';
import { stepsDone, totalSteps } from './progress/run-progress.js';

/** One line: id, status, steps, and of a failed run the step and the message. */
export function summaryLine(run: Run): string {
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

/** Several lines, with a line feed at the end. */
export function summaryOf(run: Run): string {
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
